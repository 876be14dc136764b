/** Which records count for who follows a log, and the states just before them: also behind what the timeline of a reader knows. */
import { kindsOf, View } from "@reyn/snapshot";
import { type Lineage, reset, type Timeline } from "@reyn/timetravel";
import { type Scope, type Seq, scopeKey, type Wal, type WalRecord } from "@reyn/wal";
import { sessionOf } from "./sessions.ts";

export interface StatesPorts {
	readonly wal: Wal;
	readonly timeline: Timeline;
}

export class StatesBefore {
	readonly #ports: StatesPorts;
	/** As it was when somebody began to listen: what was abandoned by then does not count. */
	readonly #known: Lineage;
	/** As of the last record that has passed. */
	#lineage: Lineage;
	/** Made by following, since the timeline does not know these records; they go along with each that passes. */
	#states = new Map<string, View>();

	constructor(ports: StatesPorts, known: Lineage) {
		this.#ports = ports;
		this.#known = known;
		this.#lineage = known;
	}

	/** What comes later counts when it is told: that it is abandoned then is told as the move that does it. */
	counts(record: WalRecord): boolean {
		return record.seq > this.#known.tip || this.#known.isActive(record);
	}

	/** The state of the record's session just before it, on its own line of history. The record has not passed yet. */
	async before({ seq, scope }: WalRecord): Promise<View> {
		const { timeline } = this.#ports;
		const session = sessionOf(scope);
		if (seq - 1 <= timeline.lineage.tip) return timeline.at(seq - 1, session);
		const key = scopeKey(session);
		const state = this.#states.get(key) ?? (await this.#followed(seq, session));
		this.#states.set(key, state);
		return state;
	}

	/** To be called of each record that was followed, in their order. */
	pass(record: WalRecord): void {
		const { seq, scope } = record;
		if (seq <= this.#known.tip) return;
		if (reset.is(record)) {
			const { target, drop } = record.data;
			this.#lineage = this.#lineage.with({ seq, target, scope, ...(drop ? { drop } : {}) });
			this.#states = new Map();
			return;
		}
		this.#lineage = this.#lineage.advance(seq);
		for (const [key, state] of this.#states) this.#states.set(key, state.apply(record));
	}

	/** From the newest state that the timeline has of this line, or from the first record. */
	async #followed(seq: Seq, session: Scope): Promise<View> {
		const { wal, timeline } = this.#ports;
		const { tip } = timeline.lineage;
		const { projections } = await timeline.at(tip, session);
		const path = this.#lineage.path(seq - 1, session);
		const kinds = kindsOf(projections);
		const targets = this.#lineage.resets.map(({ target }) => target).filter((target) => target <= tip);
		const base = Math.max(0, ...[tip, ...targets].filter((each) => path.isBase(each, kinds)));
		let state = base === 0 ? View.empty(session, projections) : await timeline.at(base, session);
		for await (const record of wal.follow({ after: Math.max(base, wal.first - 1) })) {
			if (record.seq >= seq) break;
			if (path.has(record)) state = state.apply(record);
		}
		return state;
	}
}
