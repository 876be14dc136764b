/** The index of a timeline: resets, checkpoints, facts and session ranges. It goes on as the log grows, from what is stored of it. */

import { hash } from "node:crypto";
import type { SnapshotStore } from "@reyn/snapshot";
import type { Seq, Wal, WalRecord } from "@reyn/wal";
import { type Unparsed, unparsed } from "@reyn/wal/internal";
import type { BranchIndex } from "./branch-index.ts";
import { GrowingPart, type IndexPart } from "./index-part.ts";
import { type Mark, Marks } from "./marks.ts";
import { type CheckpointData, checkpoint, isOutside, label, reset, resetSettled } from "./records.ts";
import { SessionRanges } from "./session-ranges.ts";
import { StoredIndex } from "./stored-index.ts";
import { doStep, follow, type MoveStep, type Moves, moveKinds, type Stacks, stacksOf, type UndoRules } from "./undo.ts";

const markOf = ({ seq, ts, scope, data: { kind, title } }: WalRecord<CheckpointData>): Mark => ({
	seq,
	ts,
	scope,
	kind,
	title,
});

export interface TimelineIndexOptions {
	readonly wal: Wal;
	/** What outlives the records that were taken away. */
	readonly branches: BranchIndex;
	readonly undoRules: UndoRules;
	/** The kinds whose records outlive `gc`, besides resets, labels and facts. */
	readonly keptKinds: readonly string[];
	/** Where the index is stored, as a cache. */
	readonly snapshots: SnapshotStore;
	/** Store nothing. Default: false. */
	readonly readOnly?: boolean | undefined;
	/** After how many records more a part is stored. Default: as `usualPart` says. */
	readonly partAfter?: ((stored: number) => number) | undefined;
}

export class TimelineIndex {
	/** The last record that was read. */
	seen: Seq;
	readonly sessionRanges: SessionRanges;
	/** The records that outlive `gc`, in order. */
	readonly retained: WalRecord[];
	/** The facts among those records. */
	readonly #facts: WalRecord[];
	checkpoints = new Marks();
	/** The seq of the newest settled reset. */
	settled: Seq;
	readonly labels = new Map<string, Seq>();
	readonly #options: TimelineIndexOptions;
	readonly #wal: Wal;
	/** Absent: the log is not of `openWal`, and nothing of the index is stored. */
	readonly #unparsed: Unparsed | undefined;
	readonly #keptKinds: ReadonlySet<string>;
	readonly #moves: Stacks;
	/** Absent where nothing is stored. */
	#stored: StoredIndex | undefined;
	/** What is not stored yet; absent where nothing is stored. */
	#next: GrowingPart | undefined;
	#reading: Promise<void> | undefined;
	/** The put of a part that is under way. */
	#storing: Promise<void> | undefined;

	private constructor(options: TimelineIndexOptions) {
		const { records, retainedFrom, settled, moves } = options.branches;
		this.#options = options;
		this.#wal = options.wal;
		this.#unparsed = unparsed(options.wal);
		this.#keptKinds = new Set([reset.kind, label.kind, ...options.keptKinds]);
		this.seen = retainedFrom - 1;
		this.sessionRanges = new SessionRanges(this.seen);
		this.retained = records.filter(({ kind }) => this.keeps(kind));
		this.#facts = this.retained.filter(({ kind }) => isOutside(kind));
		this.settled = settled;
		this.#moves = stacksOf(moves);
		for (const record of records) this.#takeNamed(record);
	}

	/** Takes what is stored, if the log bears it out, and reads the records after that. @throws WalError `WAL_UNSAFE` */
	static async open(options: TimelineIndexOptions): Promise<TimelineIndex> {
		const index = new TimelineIndex(options);
		if (index.#unparsed) await index.#takeStored(index.#unparsed);
		await index.catchUp();
		return index;
	}

	async #takeStored({ parsed }: Unparsed): Promise<void> {
		const { wal, snapshots, partAfter, readOnly = false } = this.#options;
		const stored = new StoredIndex(snapshots, { wal, from: this.seen, rules: rulesOf(this.#options), partAfter });
		for (const part of await stored.load(parsed)) this.#takePart(part);
		if (readOnly) return;
		this.#stored = stored;
		this.#next = new GrowingPart(stored.end, stacksOf(this.#moves));
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
		if (this.#read === this.#wal.durableTip) return Promise.resolve();
		this.#reading ??= this.#readOn().finally(() => {
			this.#reading = undefined;
		});
		return this.#reading;
	}

	/** Takes records that another process wrote, all that are new. For a reader, which has read all that there was. */
	took(records: readonly WalRecord[]): void {
		for (const record of records) {
			this.seen = record.seq;
			this.sessionRanges.add(record.seq, record.scope);
			this.#take(record);
		}
	}

	/** Forgets the checkpoints that were taken away. */
	forget(has: (seq: Seq) => boolean): void {
		const left = this.checkpoints;
		this.checkpoints = new Marks();
		for (const mark of left) if (has(mark.seq)) this.checkpoints.push(mark);
	}

	/** Adds a checkpoint before it is durable, since its writer may ask for it at once. */
	wrote(record: WalRecord<CheckpointData>): void {
		this.checkpoints.push(markOf(record));
	}

	/**
	 * Stores the next part of the index, if there is enough for one. While one is being stored, another call does nothing.
	 *
	 * @throws SnapshotError `SNAPSHOT_NOT_STORED`, `SNAPSHOT_OTHER_LOG`; WalError `WAL_UNSAFE`
	 */
	async store(): Promise<void> {
		if (this.#storing || !this.#stored?.isDue) return;
		this.#storing = this.#put(this.#stored).finally(() => {
			this.#storing = undefined;
		});
		await this.#storing;
	}

	/** Begins the stored index anew, since records were taken away: what is stored goes back to before the cut. @throws as `store` does */
	async renew({ retainedFrom, moves }: BranchIndex): Promise<void> {
		if (!this.#stored) return;
		await this.#storing?.catch(() => {});
		await this.#reading;
		this.#stored = await this.#stored.anew(retainedFrom - 1);
		this.#next = new GrowingPart(this.#stored.end, stacksOf(moves));
		await this.store();
	}

	async #put(stored: StoredIndex): Promise<void> {
		await this.catchUp();
		const part = this.#next as GrowingPart;
		const next = new GrowingPart(part.end, part.stacks);
		this.#next = next;
		try {
			await stored.put(part);
		} catch (error) {
			part.append(next);
			this.#next = part;
			throw error;
		}
	}

	/** How far both this and the next part have come. */
	get #read(): Seq {
		return Math.min(this.seen, this.#next?.through ?? this.seen);
	}

	async #readOn(): Promise<void> {
		const { durableTip: through } = this.#wal;
		const { read, parsed } = this.#unparsed ?? asParsed(this.#wal);
		const named = new Set([
			...this.#keptKinds,
			...moveKinds(this.#options.undoRules),
			checkpoint.kind,
			resetSettled.kind,
		]);
		const dataOf = (kind: string): boolean => named.has(kind) || isOutside(kind);
		for await (const found of read({ after: this.#read, through, dataOf })) {
			const record = dataOf(found.kind) ? parsed(found) : undefined;
			if (found.seq > this.seen) {
				this.seen = found.seq;
				this.sessionRanges.add(found.seq, found.scope);
				if (record) this.#take(record);
			}
			if (found.seq - 1 === this.#next?.through) this.#grow(this.#next, found, record);
		}
	}

	#take(record: WalRecord): void {
		this.#retain(record);
		if (resetSettled.is(record)) this.settled = Math.max(this.settled, record.data.reset);
		follow(this.#moves, record, this.#options.undoRules);
		this.#takeNamed(record);
	}

	#retain(record: WalRecord): void {
		if (this.keeps(record.kind)) this.retained.push(record);
		if (isOutside(record.kind)) this.#facts.push(record);
	}

	#takeNamed(record: WalRecord): void {
		if (checkpoint.is(record) && record.seq > this.checkpoints.newest) this.checkpoints.push(markOf(record));
		this.#takeLabel(record);
	}

	#takeLabel(record: WalRecord): void {
		if (!label.is(record)) return;
		if (record.data.gone) this.labels.delete(record.data.name);
		else this.labels.set(record.data.name, record.data.target);
	}

	/** Takes all records of a stored part, as if each had been read. */
	#takePart({ through, records, checkpoints, spans, settled, steps }: IndexPart): void {
		this.seen = through;
		this.sessionRanges.addAll(through, spans);
		this.checkpoints.append(checkpoints);
		this.settled = Math.max(this.settled, settled);
		let next = 0;
		const stepOn = (before: Seq): void => {
			for (let step = steps[next]; step && seqOf(step) < before; step = steps[++next]) doStep(this.#moves, step);
		};
		for (const record of records) {
			stepOn(record.seq);
			this.#retain(record);
			follow(this.#moves, record, {});
			this.#takeLabel(record);
		}
		stepOn(through + 1);
	}

	/** Adds a record to the next part to be stored. @param record parsed; undefined for one that only the ranges are of */
	#grow(part: GrowingPart, found: WalRecord, record: WalRecord | undefined): void {
		part.add(found);
		if (!record) return;
		const { undoRules } = this.#options;
		if (this.keeps(record.kind)) part.records.push(found);
		if (checkpoint.is(record)) part.checkpoints.push(markOf(record));
		if (resetSettled.is(record)) part.settled = Math.max(part.settled, record.data.reset);
		const step = follow(part.stacks, record, undoRules);
		// Those of the kinds that every timeline has are in the records.
		if (step && Object.hasOwn(undoRules, record.kind)) part.steps.push(step);
	}
}

const seqOf = (step: MoveStep): Seq => (step.kind === "made" ? step.move.seq : step.seq);

/** A log that is not of `openWal`. */
const asParsed = (wal: Wal): Unparsed => ({ read: (range) => wal.read(range), parsed: (record) => record });

/**
 * What the index depends on besides the log. A rule is known by its text: what it is given decides what it says, and what it stands
 * in does not change.
 */
export function rulesOf({ undoRules, keptKinds }: Pick<TimelineIndexOptions, "undoRules" | "keptKinds">): string {
	const rules = Object.entries(undoRules).map(([kind, rule]) => [kind, String(rule)]);
	return hash("sha256", JSON.stringify([[...new Set(keptKinds)].sort(), rules.sort()]));
}
