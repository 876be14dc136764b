/** Reads the history at any moment: states on every line, records, checkpoints, branches and labels. Writes nothing. */
import {
	type AnyProjection,
	kindsOf,
	type Path,
	restore,
	type SeqRange,
	type Sources,
	type View,
} from "@reyn/snapshot";
import { type Scope, type Seq, scopeKey, type Wal, type WalRecord, within } from "@reyn/wal";
import { pathIn, withRanges } from "./branch-index.ts";
import { assertCoverage } from "./coverage.ts";
import { diffViews, type StateDiff } from "./diff.ts";
import { TimetravelError } from "./errors.ts";
import { type HypotheticalHistory, hypothetical } from "./hypothetical.ts";
import { Lineage, type Reset } from "./lineage.ts";
import { overlap } from "./live.ts";
import { recordAt } from "./record-at.ts";
import { type RecordCount, RecordCounts } from "./record-counts.ts";
import { checkpoint, isMeta, isOutside, reset } from "./records.ts";
import type { Retained } from "./retained.ts";
import type { TimelineIndex } from "./timeline-index.ts";
import { type Coverage, covers } from "./undo.ts";

/** A checkpoint that one can go back to. */
export interface Checkpoint {
	readonly seq: Seq;
	readonly ts: number;
	readonly scope: Scope;
	/** What ended: 1 to 64 letters a to z, digits and `_`. */
	readonly kind: string;
	/** What happened there, in a few words. */
	readonly title: string;
	/** Is it on the line of history that leads to the tip? */
	readonly active: boolean;
}

/** A part of what there is: the newest so many before a seq. Default: all. */
export interface Window {
	readonly before?: Seq | undefined;
	readonly limit?: number | undefined;
}

/** A name that a person gave a seq. */
export interface Label {
	readonly name: string;
	readonly seq: Seq;
}

/** With more new records than this the index is brought up to date first; fewer are simply read with the path. */
const UNSEEN = 1024;

export class Reading {
	readonly wal: Wal;
	readonly retained: Retained;
	readonly timelineIndex: TimelineIndex;
	/** The kinds of record that states are folded from. */
	readonly folded: readonly string[];
	readonly #from: Sources;
	readonly #foldsFacts: boolean;
	readonly #counts: RecordCounts;
	#lineage: Lineage;

	constructor(from: Sources, retained: Retained, timelineIndex: TimelineIndex) {
		const projections = from.projections.filter(({ follows }) => follows === "line");
		this.wal = from.wal;
		this.retained = retained;
		this.timelineIndex = timelineIndex;
		this.folded = kindsOf(projections);
		this.#from = { ...from, projections };
		this.#counts = new RecordCounts(from.wal);
		this.#foldsFacts = this.folded.some(isOutside);
		const resets = timelineIndex.retained.flatMap((record) => (reset.is(record) ? [resetOf(record)] : []));
		this.#lineage = new Lineage(resets, from.wal.tip, { isMeta });
	}

	get lineage(): Lineage {
		if (this.#lineage.tip !== this.wal.tip) this.#lineage = this.#lineage.advance(this.wal.tip);
		return this.#lineage;
	}

	/** Updates the lineage with a reset that was just appended. */
	moved(record: WalRecord): void {
		if (reset.is(record)) this.#lineage = this.lineage.with(resetOf(record));
	}

	/** Follows the resets among records that another process wrote, in the step in which the tip of the log moves past them. */
	took(records: readonly WalRecord[]): void {
		for (const record of records)
			if (reset.is(record)) this.#lineage = this.#lineage.advance(record.seq - 1).with(resetOf(record));
	}

	/** The seq of the newest reset, or 0. */
	get newest(): Seq {
		return this.#lineage.newest;
	}

	/** The newest reset after `bound` that covers a record's class. */
	movedSince(bound: Seq, record: Pick<WalRecord, "scope" | "kind">): Seq | undefined {
		if (isMeta(record.kind) || bound >= this.newest) return undefined;
		return this.#lineage.resetsAfter(bound).findLast((each) => covers(each, record))?.seq;
	}

	/** Has a reset after a seq changed what the state of a scope is? */
	hasMoved(scope: Scope, { after }: { readonly after: Seq }): boolean {
		return this.#lineage.resetsAfter(after).some((each) => overlap(each.scope, scope));
	}

	async at(seq: Seq, scope: Scope): Promise<View> {
		this.retained.assertHas(seq);
		return this.#restore(this.lineage.path(seq, scope));
	}

	async diff(a: Seq, b: Seq, scope: Scope, projections?: readonly AnyProjection[]): Promise<StateDiff> {
		return diffViews(await this.at(a, scope), await this.at(b, scope), projections);
	}

	hypothetical(target: Seq, { drop, scope = {} }: Partial<Coverage>): HypotheticalHistory {
		assertCoverage({ scope, ...(drop ? { drop } : {}) });
		this.retained.assertHas(target);
		const gone = this.retained.retainedFrom - 1;
		return hypothetical(this.lineage, target, { scope, ...(drop ? { drop } : {}) }, gone, (path) =>
			this.#restore(path),
		);
	}

	async *history(after: Seq, scope: Scope, through: Seq = this.wal.tip): AsyncIterable<WalRecord> {
		const path = this.lineage.path(through, {});
		const from = Math.max(after, this.retained.retainedFrom - 1);
		for await (const record of this.wal.read({ after: from, through, scope })) if (path.has(record)) yield record;
	}

	/** The records that `history` gives, counted. */
	count(after: Seq, scope: Scope, through: Seq = this.wal.tip): Promise<readonly RecordCount[]> {
		const gone = this.retained.retainedFrom - 1;
		return this.#counts.count(this.lineage.path(through, {}), Math.max(after, gone), scope, gone);
	}

	lacks(after: Seq, scope: Scope, through: Seq = this.wal.tip): boolean {
		const gone = this.retained.retainedFrom - 1;
		return after < gone && (this.lineage.path(through, scope).rangesAfter(after)[0]?.after ?? gone) < gone;
	}

	async records(): Promise<readonly WalRecord[]> {
		await this.timelineIndex.catchUp();
		return this.timelineIndex.retained;
	}

	async record(seq: Seq): Promise<WalRecord | undefined> {
		this.retained.assertHas(seq);
		if (seq === 0) return undefined;
		return this.retained.index.records.find((record) => record.seq === seq) ?? recordAt(this.wal, seq);
	}

	async assertKnown(scope: Scope): Promise<void> {
		assertCoverage({ scope });
		if (await this.#isKnown(scope)) return;
		throw new TimetravelError(
			"TIMETRAVEL_COVERAGE",
			`nobody has a record in ${scopeKey(scope)}, so nothing would move; nothing was written. Give the scope of an agent, a session or a run that there is`,
			{ scope },
		);
	}

	/** Has anybody a record in this scope, on whatever line, or had one before the cut? */
	async #isKnown(scope: Scope): Promise<boolean> {
		const { had, records, retainedFrom } = this.retained.index;
		const isIn = (each: Scope): boolean => within(each, scope);
		if (isIn({}) || had.some(isIn) || records.some((record) => isIn(record.scope))) return true;
		await this.timelineIndex.catchUp();
		const left = [{ after: retainedFrom - 1, through: this.wal.tip }];
		for (const range of this.timelineIndex.sessionRanges.within(scope, left))
			for await (const _ of this.wal.read({ ...range, scope, dataOf: [] })) return true;
		return false;
	}

	checkpoints(
		scope: Scope,
		{ before = Number.POSITIVE_INFINITY, limit = Number.POSITIVE_INFINITY }: Window,
	): readonly Checkpoint[] {
		const { lineage, timelineIndex } = this;
		const marks = timelineIndex.checkpoints;
		const found: Checkpoint[] = [];
		for (let at = marks.countBelow(before) - 1; at >= 0 && found.length < limit; at--) {
			const mark = marks.at(at);
			if (within(mark.scope, scope))
				found.push({ ...mark, active: lineage.isActive({ ...mark, kind: checkpoint.kind }) });
		}
		return found.reverse();
	}

	async labels(): Promise<readonly Label[]> {
		await this.timelineIndex.catchUp();
		return [...this.timelineIndex.labels].map(([name, seq]) => ({ name, seq })).sort((a, b) => a.seq - b.seq);
	}

	/** The sources that states are restored from. */
	get sources(): Sources {
		return this.retained.sources(this.#from);
	}

	async #restore(path: Path): Promise<View> {
		const { timelineIndex } = this;
		const { index } = this.retained;
		if (path.tip - timelineIndex.seen > UNSEEN) await timelineIndex.catchUp();
		const there = pathIn(index, path);
		const read = withRanges(there, (seq) => timelineIndex.sessionRanges.within(path.scope, there.rangesAfter(seq)));
		try {
			return await restore(this.sources, this.#foldsFacts ? withFacts(read, timelineIndex) : read);
		} catch (error) {
			// A truncation came in between: a kept state now stands for the records that were being read.
			if (index !== this.retained.index) return this.#restore(path);
			throw error;
		}
	}
}

/** The path with facts at hand. Records that were not looked through yet are all read, since a fact may lie anywhere among them. */
function withFacts(path: Path, timelineIndex: TimelineIndex): Path {
	const { seen } = timelineIndex;
	const atHand = (after: Seq) => timelineIndex.factsAfter(after);
	if (seen >= path.tip) return { ...path, atHand };
	const rangesAfter = (seq: Seq): readonly SeqRange[] => {
		const known = path
			.rangesAfter(seq)
			.filter(({ after }) => after < seen)
			.map(({ after, through }) => ({ after, through: Math.min(through, seen) }));
		return seq < path.tip ? [...known, { after: Math.max(seq, seen), through: path.tip }] : known;
	};
	return { ...path, rangesAfter, atHand };
}

function resetOf({ seq, scope, data }: WalRecord<{ target: Seq; drop?: string[] | undefined }>): Reset {
	return { seq, scope, target: data.target, ...(data.drop ? { drop: data.drop } : {}) };
}
