/** Garbage collection: cuts the front of a log off as far as policy and live work allow, and removes snapshots that nothing needs. */
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
	/** The first record that counts. Before it, only states with a label can be reached. */
	readonly retainedFrom: Seq;
	/** The same before this collection. */
	readonly was: Seq;
	/** The first record that is still on disk: the log is cut in whole segments. */
	readonly first: Seq;
	/** Why less was cut than the policy allows: work that is not over, now or at a label, needs older records, or a record or a state is of an unknown kind. */
	readonly heldBy?: Held;
	/** Labels of seqs before the cut; their states are kept. */
	readonly labels: readonly Label[];
	/** The seqs whose states outlive their records, newest first: the one before the cut, labels, and rewinds that mix two lines. */
	readonly kept: readonly Seq[];
	/** Stored states, and parts of them, that nothing needs any more. */
	readonly snapshots: number;
	readonly chunks: number;
}

interface LabelledFloor {
	readonly at: Seq;
	readonly floor: Floor;
}

type Held = Floor | Unknown | Unfolded;

export class Collecting {
	readonly #reading: Reading;
	readonly #whole: WholeLog;
	readonly #options: Pick<TimelineOptions, "keptScopes" | "known" | "undoRules" | "snapshots" | "projections">;
	readonly #snapped: (seq: Seq) => Promise<Seq>;

	/** @param snapped gives the seq that a checkout of a seq goes to */
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

	/** Collects. The caller makes sure that no move is under way. */
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
	async #retention(policy: RetentionPolicy): Promise<{ before: Seq; heldBy?: Held }> {
		const was = this.#reading.retained.retainedFrom;
		const { known, projections } = this.#options;
		// A further cut would lose the kept state of a projection that is not registered now.
		const unfolded = known && (await this.#reading.retained.unfolded(projections.map(({ name }) => name)));
		if (unfolded) return { before: was, heldBy: unfolded };
		const checkpoints = [...this.#reading.timelineIndex.checkpoints].filter(({ seq }) => seq >= was);
		const scopes = await this.#scopes();
		const labelled = await this.#labelledFloors(scopes);
		let last = firstToKeep(checkpoints, policy);
		const unknown = last === undefined ? undefined : await this.#firstUnknown(was, last);
		let heldBy: Held | undefined = unknown;
		if (unknown) last = checkpoints.findLast(({ seq }) => seq < unknown.seq)?.seq;
		while (last !== undefined && last >= was) {
			const before = last + 1;
			const lowest = await this.#lowestFloor(before, scopes, labelled);
			if (lowest === undefined || lowest.seq >= before) return { before, ...(heldBy ? { heldBy } : {}) };
			heldBy = lowest;
			last = checkpoints.findLast(({ seq }) => seq < lowest.seq)?.seq;
		}
		return { before: was, ...(heldBy ? { heldBy } : {}) };
	}

	/** The first record of an unknown kind: a program that knows the kind may want to fold it. */
	async #firstUnknown(from: Seq, through: Seq): Promise<Unknown | undefined> {
		const { known } = this.#options;
		if (!known) return undefined;
		const kinds = new Set(known);
		for await (const { seq, kind, scope } of this.#reading.wal.read({ after: from - 1, through, dataOf: [] }))
			if (!kinds.has(kind) && !isMeta(kind) && !isOutside(kind)) return { seq, kind, scope };
		return undefined;
	}

	/**
	 * The oldest record that work needs which is not over: at the tip, at the cut, at labels, and in the states that resets behind the
	 * cut went back to.
	 */
	async #lowestFloor(
		before: Seq,
		scopes: readonly Scope[],
		labelled: readonly LabelledFloor[],
	): Promise<Floor | undefined> {
		const back = this.#reading.lineage.resets.filter(({ seq, target }) => seq >= before && target < before);
		const { tip } = this.#reading.wal;
		let lowest: Floor | undefined;
		const take = (floor: Floor | undefined): void => {
			if (floor && floor.seq < (lowest?.seq ?? Number.POSITIVE_INFINITY)) lowest = floor;
		};
		const look = (view: View): void => take(floorOf(view));
		for (const scope of scopes)
			for (const seq of [tip, before - 1, ...back.map((each) => each.seq)]) look(await this.#reading.at(seq, scope));
		for (const scope of this.#whole.scopes(scopes)) look(await this.#whole.at(tip, scope));
		for (const { at, floor } of labelled) if (at < before) take(floor);
		return lowest;
	}

	/** What the work needs that is not over at the labels. What is before the last cut is gone already. */
	async #labelledFloors(scopes: readonly Scope[]): Promise<readonly LabelledFloor[]> {
		const floors: LabelledFloor[] = [];
		for (const { name: label, seq: at } of await this.#reading.labels()) {
			if (!this.#reading.retained.has(at)) continue;
			const snapped = await this.#snapped(at);
			for (const scope of scopes) {
				const floor = floorOf(await this.#reading.at(snapped, scope));
				if (floor) floors.push({ at, floor: { ...floor, label } });
			}
		}
		return floors;
	}

	/** The index that stands for all records before a seq, once they are gone. Its states are stored, unless `dryRun`. */
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
		this.#reading.timelineIndex.forget((seq) => this.#reading.retained.has(seq));
		await this.#reading.timelineIndex.renew(index);
	}

	async #scopes(): Promise<readonly Scope[]> {
		const scopes = this.#options.keptScopes?.(await this.#reading.records()) ?? [{}];
		assertKeepable(this.#reading.retained.index, scopes);
		return scopes;
	}
}
