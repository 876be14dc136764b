/** What outlives the records that were taken away: how far it reaches, and how it is replaced. */
import { collect, SnapshotStore, type Sources } from "@reyn/snapshot";
import { projectionsIn } from "@reyn/snapshot/internal";
import { type BlobStore, type Scope, type Seq, scopeKey, type Wal } from "@reyn/wal";
import { type BranchIndex, isKept, pathIn, readBranchIndex, writeBranchIndex } from "./branch-index.ts";
import { TimetravelError } from "./errors.ts";
import type { Lineage, Reset } from "./lineage.ts";
import { isOutside } from "./records.ts";
import type { Unfolded } from "./retention.ts";
import { goesOnFromOne } from "./truncation.ts";

interface Place {
	/** The index, and the states. */
	readonly blobs: BlobStore;
	/** The states that stand for records. */
	readonly bases: SnapshotStore;
	/** Those of the whole log. */
	readonly whole: SnapshotStore;
}

/** The part of a store that states of the whole log lie below. */
export const WHOLE = "whole";

export class Retained {
	readonly #place: Place | undefined;
	readonly #wal: Wal;
	#index: BranchIndex;
	/** Has a truncation begun that may not have come to its end, in this process or the one before? */
	#truncating: boolean;

	private constructor(blobs: BlobStore | undefined, wal: Wal, index: BranchIndex) {
		const bases = blobs && new SnapshotStore(blobs);
		this.#place = bases && { blobs, bases, whole: bases.below(WHOLE) };
		this.#wal = wal;
		this.#index = index;
		this.#truncating = index.retainedFrom > 1;
	}

	/** @throws TimetravelError `TIMETRAVEL_INDEX` */
	static async open(blobs: BlobStore | undefined, wal: Wal): Promise<Retained> {
		return new Retained(blobs, wal, await readBranchIndex(blobs, wal));
	}

	/** @throws TimetravelError `TIMETRAVEL_NOT_KEPT` */
	get place(): Place {
		if (this.#place) return this.#place;
		throw new TimetravelError(
			"TIMETRAVEL_NOT_KEPT",
			"this timeline has nowhere to keep what outlives the log, so nothing was taken away. Open it with `kept`",
		);
	}

	get index(): BranchIndex {
		return this.#index;
	}

	get retainedFrom(): Seq {
		return this.#index.retainedFrom;
	}

	/** What states are made from, with what is kept here. */
	sources(from: Sources): Sources {
		if (!this.#place) return from;
		const { bases, kinds } = this.#index;
		const crcs = new Map(bases.map(({ seq, crc }) => [seq, crc]));
		return {
			...from,
			bases: { snapshots: this.#place.bases, crcs, kinds: new Set(kinds.filter((kind) => !isOutside(kind))) },
		};
	}

	/** A state at the cut of a projection that is none of these. */
	async unfolded(known: readonly string[]): Promise<Unfolded | undefined> {
		const { retainedFrom, scopes, whole = [] } = this.#index;
		if (!this.#place || retainedFrom === 1) return undefined;
		const { bases, whole: wholeBases } = this.#place;
		const seq = retainedFrom - 1;
		for (const [store, all] of [
			[bases, scopes.map(({ scope }) => scope)],
			[wholeBases, whole],
		] as const)
			for (const scope of all) {
				const unknown = projectionsIn((await store.root(scope, seq)) ?? "").find((name) => !known.includes(name));
				if (unknown !== undefined) return { seq, unknown, scope };
			}
		return undefined;
	}

	/** What states of the whole log are made from. One is kept at the cut, if there was any then. */
	wholeSources(scope: Scope, from: Sources): Sources {
		const { bases, kinds, retainedFrom, whole = [] } = this.#index;
		if (!this.#place || retainedFrom === 1) return from;
		const cut = retainedFrom - 1;
		const isKept = whole.some((each) => scopeKey(each) === scopeKey(scope));
		const crcs = new Map(bases.filter(({ seq }) => isKept && seq === cut).map(({ seq, crc }) => [seq, crc]));
		return {
			...from,
			bases: { snapshots: this.#place.whole, crcs, kinds: new Set(kinds), ...(isKept ? {} : { begins: cut }) },
		};
	}

	/** Can it be gone back to, if it was ever there? */
	has(seq: Seq): boolean {
		return seq === 0 || seq >= this.retainedFrom || this.#index.bases.some((base) => base.seq === seq);
	}

	/** @throws TimetravelError `TIMETRAVEL_OUT_OF_RANGE`, `TIMETRAVEL_PRUNED` */
	assertHas(seq: Seq): void {
		const { retainedFrom } = this;
		const { tip } = this.#wal;
		const isSeq = Number.isSafeInteger(seq) && seq >= 0 && seq <= tip;
		if (isSeq && this.has(seq)) return;
		const kept = this.#index.bases.map((base) => base.seq).filter((base) => base < retainedFrom);
		const seqs = `0 (genesis)${kept.length > 0 ? `, ${kept.toReversed().join(", ")} (kept)` : ""}${retainedFrom > 1 ? `, and ${retainedFrom}` : ""} to ${tip} (the tip)`;
		const detail = { seq, first: 0, retainedFrom, last: tip };
		if (isSeq)
			throw new TimetravelError("TIMETRAVEL_PRUNED", `seq ${seq} was taken away by gc; this log has ${seqs}`, detail);
		throw new TimetravelError("TIMETRAVEL_OUT_OF_RANGE", `there is no seq ${seq}; this log has ${seqs}`, detail);
	}

	/**
	 * A reset of a part, beside what was taken away, may mix what no kept state has.
	 *
	 * @param folded the kinds of record that states are folded from
	 * @throws TimetravelError `TIMETRAVEL_PRUNED`
	 */
	assertCanGo(moved: Omit<Reset, "seq">, lineage: Lineage, folded: readonly string[]): void {
		const { scopes, retainedFrom } = this.#index;
		if (retainedFrom === 1) return;
		const after = lineage.with({ ...moved, seq: lineage.tip + 1 });
		for (const { scope } of scopes) {
			if (goesOnFromOne(moved, scope, retainedFrom)) continue;
			if (isKept(this.#index, pathIn(this.#index, after.path(after.tip, scope)), folded)) continue;
			throw new TimetravelError(
				"TIMETRAVEL_PRUNED",
				`to go back to seq ${moved.target} in a part only needs records before seq ${retainedFrom}, which were taken away. Go back with all of it, or to seq ${retainedFrom} or later`,
				{ target: moved.target, retainedFrom },
			);
		}
	}

	/** From now on the records before `index.retainedFrom` do not count; whole segments of them go. */
	async truncate(index: BranchIndex): Promise<void> {
		const { blobs } = this.place;
		this.#truncating = true;
		await writeBranchIndex(blobs, index);
		this.#index = index;
		await this.#wal.truncate({ before: index.retainedFrom });
		this.#truncating = false;
	}

	/** Finishes a truncation that was cut short. */
	async finish(): Promise<void> {
		// The index has to be durable before anything goes, and what was read need not be yet: see `BlobStore.get`.
		if (this.#place && this.#truncating) await this.truncate(this.#index);
	}

	/** Takes away what stood for records that nobody asks for any more, or what a truncation has stored that was cut short. */
	async collect(): Promise<void> {
		const needed = new Set(this.#index.bases.map(({ seq }) => seq));
		if (!this.#place) return;
		await collect(this.#place.bases, { keep: (_, seq) => needed.has(seq) });
		await collect(this.#place.whole, { keep: (_, seq) => seq === this.retainedFrom - 1 });
	}
}
