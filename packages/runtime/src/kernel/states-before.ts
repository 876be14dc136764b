/** For a subscriber of events: which records count, and the state just before each, also for records that its timeline has not read. */
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
	/** The lineage when the subscription began: records that were abandoned by then do not count. */
	readonly #known: Lineage;
	/** The lineage as of the last record that has passed. */
	#lineage: Lineage;
	/** States that follow each record that passes, since the timeline of a reader does not know these records. */
	#states = new Map<string, View>();

	constructor(ports: StatesPorts, known: Lineage) {
		this.#ports = ports;
		this.#known = known;
		this.#lineage = known;
	}

	/** Does a record count? A new record always does: if it is abandoned later, the move that does so is an event itself. */
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

	/** Call it for each followed record, in order. */
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

	/** Makes a state by folding from the newest state that the timeline has on this line, or from the first record. */
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
