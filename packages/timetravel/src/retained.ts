/** What outlives a truncation: the index of branches and the kept states, and how they are replaced at the next one. */
import { collect, SnapshotStore, type Sources } from "@reyn/snapshot";
import { projectionsIn } from "@reyn/snapshot/internal";
import { type BlobStore, type Scope, type Seq, scopeKey, type Wal } from "@reyn/wal";
import {
	type BranchIndex,
	branchIndexOf,
	isKept,
	pathIn,
	storedBranchIndex,
	writeBranchIndex,
} from "./branch-index.ts";
import { TimetravelError } from "./errors.ts";
import { Lineage, type Reset } from "./lineage.ts";
import { isMeta, isOutside } from "./records.ts";
import type { Unfolded } from "./retention.ts";
import { goesOnFromOne } from "./truncation.ts";

interface Place {
	/** The store that holds the index and the states. */
	readonly blobs: BlobStore;
	/** The kept states of lines of history. */
	readonly bases: SnapshotStore;
	/** The kept states of the whole log. */
	readonly whole: SnapshotStore;
}

/** The part of a store that states of the whole log lie below. */
export const WHOLE = "whole";

export class Retained {
	readonly #place: Place | undefined;
	readonly #wal: Wal;
	#index: BranchIndex;
	/** The index as it was read. */
	#stored: Uint8Array | undefined;
	/** Has a truncation begun, in this process or an earlier one, that may not be finished? */
	#truncating: boolean;

	private constructor(blobs: BlobStore | undefined, wal: Wal, index: BranchIndex, stored: Uint8Array | undefined) {
		const bases = blobs && new SnapshotStore(blobs);
		this.#place = bases && { blobs, bases, whole: bases.below(WHOLE) };
		this.#wal = wal;
		this.#index = index;
		this.#stored = stored;
		this.#truncating = index.retainedFrom > 1;
	}

	/** @throws TimetravelError `TIMETRAVEL_INDEX` */
	static async open(blobs: BlobStore | undefined, wal: Wal): Promise<Retained> {
		const stored = blobs && (await storedBranchIndex(blobs));
		return new Retained(blobs, wal, await branchIndexOf(stored, wal), stored);
	}

	/**
	 * Looks at what another process may have taken away since.
	 *
	 * @param catchUp moves the tip of the log to what is durable by now; what the index speaks of is durable when it is written
	 * @returns has it?
	 * @throws as `open` does
	 */
	async refresh(catchUp: () => Promise<unknown>): Promise<boolean> {
		for (let looks = 1; ; looks++) {
			const stored = this.#place && (await storedBranchIndex(this.#place.blobs));
			await catchUp();
			if (isSame(stored, this.#stored) && this.#wal.first <= this.retainedFrom) return false;
			try {
				this.#index = await branchIndexOf(stored, this.#wal);
				this.#stored = stored;
				return true;
			} catch (error) {
				// The log may have been truncated once more meanwhile: then there is a newer one.
				if (looks === 3) throw error;
			}
		}
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

	/** The sources of states, with the kept states added. */
	sources(from: Sources): Sources {
		if (!this.#place) return from;
		const { bases, kinds } = this.#index;
		const crcs = new Map(bases.map(({ seq, crc }) => [seq, crc]));
		return {
			...from,
			bases: { snapshots: this.#place.bases, crcs, kinds: new Set(kinds.filter((kind) => !isOutside(kind))) },
		};
	}

	/** A kept state at the cut whose projection is not among these; undefined: there is none. */
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

	/** The sources of states of the whole log. Such a state is kept at the cut, if there was one at the time. */
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

	/** Can one go to this seq? True if it is not before the cut, or has a kept state. */
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
	 * Checks that the state after a partial reset can be made. Such a reset mixes two lines of history, and before the cut no kept
	 * state has that mixture.
	 *
	 * @param folded the kinds of record that states are folded from
	 * @throws TimetravelError `TIMETRAVEL_PRUNED`
	 */
	assertCanGo(moved: Omit<Reset, "seq">, lineage: Lineage, folded: readonly string[]): void {
		const { scopes, retainedFrom } = this.#index;
		if (retainedFrom === 1) return;
		if (scopes.every(({ scope }) => goesOnFromOne(moved, scope, retainedFrom))) return;
		// Anew, since the lineage itself goes on from its own end.
		const seq = lineage.tip + 1;
		const after = new Lineage([...lineage.resets, { ...moved, seq }], seq, { isMeta });
		for (const { scope } of scopes) {
			if (goesOnFromOne(moved, scope, retainedFrom)) continue;
			if (isKept(this.#index, pathIn(this.#index, after.path(after.tip, scope)), folded)) continue;
			// On the branch of the tip the part and the rest go on from one state.
			const from = Math.max(lineage.newest, retainedFrom - 1);
			throw new TimetravelError(
				"TIMETRAVEL_PRUNED",
				`to go back to seq ${moved.target} in a part only would mix two lines of history from before seq ${retainedFrom}, where records were taken away. Go back with all of it, or in the part to seq ${from} or later`,
				{ target: moved.target, retainedFrom, from },
			);
		}
	}

	/** Writes the index, from which moment the records before `index.retainedFrom` do not count; then removes whole segments of them. */
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
		// Written again: the index has to be durable before records go, and one that can be read need not be durable (`BlobStore.get`).
		if (this.#place && this.#truncating) await this.truncate(this.#index);
	}

	/** Removes kept states that the index does not name: replaced ones, and those of a truncation that was cut short. */
	async collect(): Promise<void> {
		const needed = new Set(this.#index.bases.map(({ seq }) => seq));
		if (!this.#place) return;
		await collect(this.#place.bases, { keep: (_, seq) => needed.has(seq) });
		await collect(this.#place.whole, { keep: (_, seq) => seq === this.retainedFrom - 1 });
	}
}

const isSame = (a: Uint8Array | undefined, b: Uint8Array | undefined): boolean =>
	a === b || (a !== undefined && b !== undefined && Buffer.compare(a, b) === 0);
