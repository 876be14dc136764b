/** Writes checkpoints where work ends, and finds where to go back to when a seq lies inside a tool cycle. */
import { capture, type SnapshotError, type View } from "@reyn/snapshot";
import { codeOf, type Scope, type Seq, type WalRecord, within } from "@reyn/wal";
import { TimetravelError } from "./errors.ts";
import type { TimelineOptions } from "./options.ts";
import type { Present } from "./present.ts";
import type { Reading } from "./reading.ts";
import { recordAt } from "./record-at.ts";
import { type CheckpointData, checkpoint } from "./records.ts";
import type { WholeLog } from "./whole-log.ts";

export class Checkpoints {
	readonly #reading: Reading;
	readonly #present: Present;
	readonly #whole: WholeLog;
	readonly #options: Pick<TimelineOptions, "projections" | "snapshotDue" | "snapshotFailed">;

	constructor(
		reading: Reading,
		present: Present,
		whole: WholeLog,
		options: Pick<TimelineOptions, "projections" | "snapshotDue" | "snapshotFailed">,
	) {
		this.#reading = reading;
		this.#whole = whole;
		this.#present = present;
		this.#options = options;
	}

	async checkpoint(kind: string, title: string, scope: Scope, view: View): Promise<Seq> {
		if (!this.#reading.lineage.path(this.#reading.wal.tip, view.scope).isBase(view.seq, this.#reading.folded))
			throw new TimetravelError(
				"STALE_LINEAGE",
				`this checkpoint is of a line of history that was left after seq ${view.seq}; its state may not be stored on the new one`,
				{ seq: view.seq },
			);
		const { seq, record, durable } = this.#present.append(checkpoint({ kind, title }), scope);
		const state = view.at(seq);
		const whole = this.#whole.holding(scope);
		this.#reading.timelineIndex.wrote(record as WalRecord<CheckpointData>);
		const isBehind = this.#reading.hasMoved(view.scope, { after: view.restored });
		await durable;
		// A move is written before the live states are made anew. Work that it does not cover goes on meanwhile, over a state of before it.
		if (!isBehind) await this.#store(state, (due) => capture(this.#reading.sources, due));
		for (const each of whole) await this.#store(each, (due) => this.#whole.store(due));
		await this.#unlessFailed(() => this.#reading.timelineIndex.store());
		return seq;
	}

	/** Stores a snapshot if one is due. */
	async #store(state: View, store: (state: View) => Promise<void>): Promise<void> {
		if (this.#options.snapshotDue?.(state) ?? state.isDue) await this.#unlessFailed(() => store(state));
	}

	/** Stores something that is only a shortcut: the checkpoint is valid without it. */
	async #unlessFailed(store: () => Promise<void>): Promise<void> {
		try {
			await store();
		} catch (error) {
			if (!isOfSnapshots(error) || !this.#options.snapshotFailed) throw error;
			this.#options.snapshotFailed(error);
		}
	}

	/**
	 * The seq that a checkout goes to: inside a tool cycle it would leave calls without results, so it is the newest one on the same
	 * path at which the session of the record has no open cycle. Where `gc` took that away it stays the seq itself, as for `undo`.
	 */
	async snapped(seq: Seq): Promise<Seq> {
		if (seq === 0 || !this.#options.projections.some((each) => each.inCycle)) return seq;
		const { retainedFrom, index } = this.#reading.retained;
		// Before the cut the records are gone; the index says what was found out before they went.
		if (seq < retainedFrom) return index.bases.find((base) => base.seq === seq)?.snapsTo ?? seq;
		const owner = await this.#scopeAt(seq);
		if (!owner || !inCycle(await this.#reading.at(seq, owner))) return seq;
		return (await this.#newestOutside(seq, owner)) ?? seq;
	}

	/** The newest seq before another, on its path, at which a session has no open cycle. Undefined: `gc` took it away. */
	async #newestOutside(seq: Seq, owner: Scope): Promise<Seq | undefined> {
		const { lineage } = this.#reading;
		let view = await this.#startBefore(seq, owner);
		let newest = inCycle(view) ? undefined : view.seq;
		for await (const record of this.#reading.history(view.seq, owner, seq)) {
			const [before] = lineage.nearestAncestors(record.seq - 1, owner, seq);
			if (before >= view.seq && !inCycle(view)) newest = before;
			view = view.apply(record);
		}
		return newest;
	}

	/** A state before a seq, on its path, after which all records are left: with no open cycle, where there is one. */
	async #startBefore(seq: Seq, owner: Scope): Promise<View> {
		const { lineage, timelineIndex, retained } = this.#reading;
		const [, first] = lineage.nearestAncestors(retained.retainedFrom - 1, owner, seq);
		const path = lineage.path(seq, owner);
		const { checkpoints } = timelineIndex;
		for (let place = checkpoints.countBelow(seq) - 1; place >= 0; place--) {
			const mark = checkpoints.at(place);
			if (mark.seq < first) break;
			if (!within(mark.scope, owner) || !path.has({ ...mark, kind: checkpoint.kind })) continue;
			// A rewind of a part may have gone past it.
			if (lineage.nearestAncestors(mark.seq, owner, seq)[0] !== mark.seq) continue;
			// A background plan may have written this checkpoint inside the same cycle.
			const view = await this.#reading.at(mark.seq, owner);
			if (!inCycle(view)) return view;
		}
		return this.#reading.at(first, owner);
	}

	/** The session that a record belongs to, if it belongs to one. */
	async #scopeAt(seq: Seq): Promise<Scope | undefined> {
		const { agent, session } = (await recordAt(this.#reading.wal, seq))?.scope ?? {};
		return agent !== undefined && session !== undefined ? { agent, session } : undefined;
	}
}

const inCycle = (view: View): boolean => view.projections.some((each) => each.inCycle?.(view.get(each)));

const isOfSnapshots = (error: unknown): error is SnapshotError => String(codeOf(error)).startsWith("SNAPSHOT_");
