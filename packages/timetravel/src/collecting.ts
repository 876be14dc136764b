/** Takes the front of a log away: how far policy and live work allow, what stands for it, and what nothing needs any more. */
import { capture, collect, type View } from "@reyn/snapshot";
import { type Scope, type Seq, scopeKey } from "@reyn/wal";
import type { BranchIndex } from "./branch-index.ts";
import type { TimelineOptions } from "./options.ts";
import type { Label, Reading } from "./reading.ts";
import { isMeta, isOutside } from "./records.ts";
import { type Floor, firstToKeep, floorOf, type RetentionPolicy, type Unfolded, type Unknown } from "./retention.ts";
import { assertKeepable, keepBefore } from "./truncation.ts";
import type { WholeLog } from "./whole-log.ts";

/** What `gc` has done, or would do. */
export interface Collection {
	/** The first record that stays. What is before it can be reached by a label only. */
	readonly retainedFrom: Seq;
	/** The one that was the first before. */
	readonly was: Seq;
	/** The first record that is still on disk: the log goes in whole segments. */
	readonly first: Seq;
	/** Live work that needs older records than the policy keeps, or a record of a kind that is not known here. */
	readonly heldBy?: Floor | Unknown | Unfolded;
	/** Labels of what was before; their states are kept. */
	readonly labels: readonly Label[];
	/** The seqs whose states outlive their records, newest first: that before the cut, labels, and rewinds that mix lines. */
	readonly kept: readonly Seq[];
	/** Stored states, and parts of them, that nothing needs any more. */
	readonly snapshots: number;
	readonly chunks: number;
}

export class Collecting {
	readonly #reading: Reading;
	readonly #whole: WholeLog;
	readonly #options: Pick<TimelineOptions, "keptScopes" | "known" | "undoRules" | "snapshots" | "projections">;
	readonly #snapped: (seq: Seq) => Promise<Seq>;

	/** @param snapped the seq that a checkout of one goes to */
	constructor(
		reading: Reading,
		whole: WholeLog,
		options: Pick<TimelineOptions, "keptScopes" | "known" | "undoRules" | "snapshots" | "projections">,
		snapped: (seq: Seq) => Promise<Seq>,
	) {
		this.#reading = reading;
		this.#whole = whole;
		this.#options = options;
		this.#snapped = snapped;
	}

	/** No move may be under way. */
	async gc({ dryRun = false, ...policy }: RetentionPolicy & { readonly dryRun?: boolean }): Promise<Collection> {
		const was = this.#reading.retained.retainedFrom;
		const { before, heldBy } = await this.#retention(policy);
		const labels = (await this.#reading.labels()).filter(({ seq }) => seq > 0 && seq < before - 1);
		const index = before > was ? await this.#indexBefore(before, dryRun) : this.#reading.retained.index;
		if (!dryRun) {
			await (before > was ? this.#truncate(index) : this.#reading.retained.finish());
			await this.#reading.retained.collect();
		}
		const keep = (_: Scope, seq: Seq): boolean => seq >= before - 1;
		const gone = await collect(this.#options.snapshots, { keep, dryRun });
		const goneOfWhole = await collect(this.#whole.snapshots, { keep, dryRun });
		return {
			retainedFrom: before,
			was,
			first: this.#reading.wal.first,
			...(heldBy ? { heldBy } : {}),
			labels,
			kept: index.bases.map(({ seq }) => seq),
			snapshots: gone.roots.length + goneOfWhole.roots.length,
			chunks: gone.chunks + goneOfWhole.chunks,
		};
	}

	/** Where the log may be cut: behind a checkpoint, as far as policy and live work allow. */
	async #retention(policy: RetentionPolicy): Promise<{ before: Seq; heldBy?: Floor | Unknown | Unfolded }> {
		const was = this.#reading.retained.retainedFrom;
		const { known, projections } = this.#options;
		// Behind another cut nothing would stand for it any more.
		const unfolded = known && (await this.#reading.retained.unfolded(projections.map(({ name }) => name)));
		if (unfolded) return { before: was, heldBy: unfolded };
		const checkpoints = this.#reading.timelineIndex.checkpoints.filter(({ seq }) => seq >= was);
		const scopes = await this.#scopes();
		let last = firstToKeep(checkpoints, policy);
		const unknown = last === undefined ? undefined : await this.#firstUnknown(was, last);
		let heldBy: Floor | Unknown | undefined = unknown;
		if (unknown) last = checkpoints.findLast(({ seq }) => seq < unknown.seq)?.seq;
		while (last !== undefined && last >= was) {
			const before = last + 1;
			const lowest = await this.#lowestFloor(before, scopes);
			if (lowest === undefined || lowest.seq >= before) return { before, ...(heldBy ? { heldBy } : {}) };
			heldBy = lowest;
			last = checkpoints.findLast(({ seq }) => seq < lowest.seq)?.seq;
		}
		return { before: was, ...(heldBy ? { heldBy } : {}) };
	}

	/** The first record that whoever knows its kind may want to fold. */
	async #firstUnknown(from: Seq, through: Seq): Promise<Unknown | undefined> {
		const { known } = this.#options;
		if (!known) return undefined;
		const kinds = new Set(known);
		for await (const { seq, kind, scope } of this.#reading.wal.read({ after: from - 1, through, dataOf: [] }))
			if (!kinds.has(kind) && !isMeta(kind) && !isOutside(kind)) return { seq, kind, scope };
		return undefined;
	}

	/** Work may be live at the tip, at the cut, or in what a reset behind the cut went back to. */
	async #lowestFloor(before: Seq, scopes: readonly Scope[]): Promise<Floor | undefined> {
		const back = this.#reading.lineage.resets.filter(({ seq, target }) => seq >= before && target < before);
		const { tip } = this.#reading.wal;
		let lowest: Floor | undefined;
		const look = (view: View): void => {
			const floor = floorOf(view);
			if (floor && floor.seq < (lowest?.seq ?? Number.POSITIVE_INFINITY)) lowest = floor;
		};
		for (const scope of scopes)
			for (const seq of [tip, before - 1, ...back.map((each) => each.seq)]) look(await this.#reading.at(seq, scope));
		for (const scope of this.#whole.scopes(scopes)) look(await this.#whole.at(tip, scope));
		return lowest;
	}

	/** What stands for all before a seq, once it is gone; the states are stored, unless it is only to be said. */
	async #indexBefore(before: Seq, dryRun: boolean): Promise<BranchIndex> {
		const labelled = new Map<Seq, Seq>();
		for (const { seq } of await this.#reading.labels()) labelled.set(seq, await this.#snapped(seq));
		const scopes = await this.#scopes();
		const whole = this.#whole.scopes(scopes);
		const keys = new Set(whole.map(scopeKey));
		const index = await keepBefore({
			before,
			wal: this.#reading.wal,
			index: this.#reading.retained.index,
			lineage: this.#reading.lineage,
			labelled,
			scopes,
			folded: this.#reading.folded,
			isUnkept: (record) => this.#whole.isUnkept(record, keys),
			keeps: (kind) => this.#reading.timelineIndex.keeps(kind),
			undoRules: this.#options.undoRules ?? {},
			store: async (seq, scope) => {
				if (dryRun) return;
				const { bases } = this.#reading.retained.place;
				await capture({ ...this.#reading.sources, snapshots: bases }, await this.#reading.at(seq, scope));
			},
		});
		if (!dryRun) for (const scope of whole) await this.#whole.keep(before - 1, scope);
		const { whole: _, ...lines } = index;
		return whole.length > 0 ? { ...lines, v: 2, whole: [...whole] } : { ...lines, v: 1 };
	}

	async #truncate(index: BranchIndex): Promise<void> {
		await this.#reading.retained.truncate(index);
		this.#reading.timelineIndex.checkpoints = this.#reading.timelineIndex.checkpoints.filter(({ seq }) =>
			this.#reading.retained.has(seq),
		);
	}

	async #scopes(): Promise<readonly Scope[]> {
		const scopes = this.#options.keptScopes?.(await this.#reading.records()) ?? [{}];
		assertKeepable(this.#reading.retained.index, scopes);
		return scopes;
	}
}
