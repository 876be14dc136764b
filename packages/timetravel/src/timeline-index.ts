/** The index of a timeline: resets, checkpoints, facts and session ranges, collected in one reading that goes on as the log grows. */
import type { Scope, Seq, Wal, WalRecord } from "@reyn/wal";
import type { BranchIndex } from "./branch-index.ts";
import { type CheckpointData, checkpoint, isOutside, label, reset, resetSettled } from "./records.ts";
import { SessionRanges } from "./session-ranges.ts";
import { follow, type Move, type Moves, moveKinds, type UndoRules } from "./undo.ts";

/** A checkpoint in as few objects as possible: a long log has many, and the garbage collector visits each. */
export interface Mark {
	readonly seq: Seq;
	readonly ts: number;
	readonly scope: Scope;
	readonly kind: CheckpointData["kind"];
	readonly title: string;
}

const markOf = ({ seq, ts, scope, data: { kind, title } }: WalRecord<CheckpointData>): Mark => ({
	seq,
	ts,
	scope,
	kind,
	title,
});

export class TimelineIndex {
	/** The last record that was read. */
	seen: Seq;
	readonly sessionRanges: SessionRanges;
	/** The records that outlive `gc`, in order. */
	readonly retained: WalRecord[];
	/** The facts among those records. */
	readonly #facts: WalRecord[];
	checkpoints: Mark[] = [];
	/** The seq of the newest settled reset. */
	settled: Seq;
	readonly labels = new Map<string, Seq>();
	readonly #wal: Wal;
	readonly #undoRules: UndoRules;
	readonly #keptKinds: ReadonlySet<string>;
	readonly #moves: { readonly past: Move[]; readonly future: Move[] };
	#reading: Promise<void> | undefined;

	/** @param keptKinds the kinds whose records outlive `gc`, besides resets, labels and facts */
	constructor(
		wal: Wal,
		{ records, retainedFrom, settled, moves }: BranchIndex,
		undoRules: UndoRules,
		keptKinds: readonly string[],
	) {
		this.#wal = wal;
		this.#undoRules = undoRules;
		this.#keptKinds = new Set([reset.kind, label.kind, ...keptKinds]);
		this.seen = retainedFrom - 1;
		this.sessionRanges = new SessionRanges(this.seen);
		this.retained = records.filter(({ kind }) => this.keeps(kind));
		this.#facts = this.retained.filter(({ kind }) => isOutside(kind));
		this.settled = settled;
		this.#moves = { past: [...moves.past], future: [...moves.future] };
		for (const record of records) this.#takeNamed(record);
	}

	/** Do records of this kind outlive `gc`? */
	keeps(kind: string): boolean {
		return this.#keptKinds.has(kind) || isOutside(kind);
	}

	/** The facts after a seq, of all scopes and lines, in order. */
	*factsAfter(after: Seq): Generator<WalRecord> {
		const from = this.#facts.findLastIndex(({ seq }) => seq <= after) + 1;
		for (let i = from; i < this.#facts.length; i++) yield this.#facts[i] as WalRecord;
	}

	get moves(): Moves {
		return this.#moves;
	}

	/** Reads the records that became durable since. Callers during a reading share it. */
	catchUp(): Promise<void> {
		if (this.seen === this.#wal.durableTip) return Promise.resolve();
		this.#reading ??= this.#read().finally(() => {
			this.#reading = undefined;
		});
		return this.#reading;
	}

	/** Adds a checkpoint before it is durable, since its writer may ask for it at once. */
	wrote(record: WalRecord<CheckpointData>): void {
		this.checkpoints.push(markOf(record));
	}

	async #read(): Promise<void> {
		const { durableTip: through } = this.#wal;
		const named = new Set([...this.#keptKinds, ...moveKinds(this.#undoRules), checkpoint.kind, resetSettled.kind]);
		const dataOf = (kind: string): boolean => named.has(kind) || isOutside(kind);
		for await (const record of this.#wal.read({ after: this.seen, through, dataOf })) {
			this.seen = record.seq;
			this.sessionRanges.add(record.seq, record.scope);
			if (dataOf(record.kind)) this.#take(record);
		}
	}

	#take(record: WalRecord): void {
		if (this.keeps(record.kind)) this.retained.push(record);
		if (isOutside(record.kind)) this.#facts.push(record);
		if (resetSettled.is(record)) this.settled = Math.max(this.settled, record.data.reset);
		follow(this.#moves, record, this.#undoRules);
		this.#takeNamed(record);
	}

	#takeNamed(record: WalRecord): void {
		if (checkpoint.is(record) && record.seq > (this.checkpoints.at(-1)?.seq ?? 0))
			this.checkpoints.push(markOf(record));
		if (!label.is(record)) return;
		if (record.data.gone) this.labels.delete(record.data.name);
		else this.labels.set(record.data.name, record.data.target);
	}
}
