/** The index that outlives a truncation: resets and labels, the undo stacks, and which snapshots stand for removed records. */
import { type Path, type SeqRange, sealed } from "@reyn/snapshot";
import { unsealed } from "@reyn/snapshot/internal";
import { type BlobStore, type Scope, type Seq, scopeKey, type Wal, type WalRecord, within } from "@reyn/wal";
import { z } from "zod";
import { TimetravelError } from "./errors.ts";
import { recordAt } from "./record-at.ts";
import type { Move } from "./undo.ts";

/** Version 2 added states of the whole log; an index without any is written as version 1, which older programs can read. */
const VERSION = 2;
const NAME = "branches";

export const seq = z.int().nonnegative();
const scope: z.ZodType<Scope> = z.strictObject({
	agent: z.string().optional(),
	session: z.string().optional(),
	run: z.string().optional(),
}) as z.ZodType<Scope>;

export const record: z.ZodType<WalRecord> = z.strictObject({
	seq,
	ts: z.number(),
	kind: z.string(),
	scope,
	data: z.unknown(),
	crc: z.string(),
});

export const move: z.ZodType<Move> = z.strictObject({
	seq,
	inverse: z.discriminatedUnion("kind", [
		z.strictObject({ kind: z.literal("reset"), scope, drop: z.array(z.string()).optional() }),
		z.strictObject({ kind: z.literal("label"), name: z.string(), target: seq, back: seq.nullable().optional() }),
	]),
}) as z.ZodType<Move>;

const branchIndex = z.strictObject({
	v: z.literal([1, VERSION]),
	/** The id of the log. */
	log: z.string(),
	/** The first record that counts. Some before it may still be on disk, since a truncation removes whole segments. */
	retainedFrom: z.int().positive(),
	/** The records before `retainedFrom` that outlive it, in log order: those of a kept kind, and those at which a state is kept. */
	records: z.array(record),
	/** The newest reset before `retainedFrom` that was settled. */
	settled: seq,
	/** The undo stacks just before `retainedFrom`. */
	moves: z.strictObject({ past: z.array(move), future: z.array(move) }),
	/** The scopes whose states are kept, with the first record of each. */
	scopes: z.array(z.strictObject({ scope, first: seq })),
	/** The scopes that had folded records before `retainedFrom`; all other scopes lost nothing. */
	had: z.array(scope),
	/** The kinds of record up to the newest kept state. A projection that folds none of them lost nothing. */
	kinds: z.array(z.string()),
	/** The seqs whose states are kept as snapshots, newest first, each with its record's crc. */
	bases: z.array(z.strictObject({ seq, crc: z.string(), snapsTo: seq.optional() })),
	/** The scopes whose states of the whole log are kept, as of the record before `retainedFrom`. Since version 2. */
	whole: z.array(scope).optional(),
});

export type BranchIndex = z.infer<typeof branchIndex>;

/** The index of a log that was never truncated. */
const wholeLog = (log: string): BranchIndex => ({
	v: 1,
	log,
	retainedFrom: 1,
	records: [],
	settled: 0,
	moves: { past: [], future: [] },
	scopes: [],
	had: [],
	kinds: [],
	bases: [],
});

/** The index of a log as it is stored; undefined: there is none. */
export const storedBranchIndex = (kept: BlobStore): Promise<Uint8Array | undefined> => kept.get(NAME);

/**
 * Checks the index of a log as it was stored.
 *
 * @throws TimetravelError `TIMETRAVEL_INDEX` when the log was truncated and it is missing, damaged or of another log, or of
 * another time of this one
 */
export async function branchIndexOf(bytes: Uint8Array | undefined, wal: Wal): Promise<BranchIndex> {
	const { id: log, first, tip } = wal;
	if (!bytes) {
		if (first === 1) return wholeLog(log);
		throw unusable(`is missing, and the log begins at seq ${first}`);
	}
	const text = unsealed(Buffer.from(bytes).toString());
	if (text === undefined) throw unusable("is damaged: its checksum does not fit");
	const value = parsed(text);
	const version = (value as { v?: unknown } | null)?.v;
	if (typeof version === "number" && version > VERSION)
		throw unusable(`is of version ${version}, which this version of Reyn does not know: upgrade to open it`);
	const { data, error } = branchIndex.safeParse(value);
	if (!data) throw unusable(`is not what it should be: ${z.prettifyError(error)}`);
	if (data.log !== log) throw unusable(`is of the log ${data.log}, and the log here is ${log}`);
	if (data.retainedFrom < first)
		throw unusable(`keeps what was before seq ${data.retainedFrom}, and the log begins only at seq ${first}`);
	if (data.retainedFrom > tip + 1)
		throw unusable(`keeps what was before seq ${data.retainedFrom}, and the log ends at seq ${tip} already`);
	// A log restored from an older copy has other records at these seqs.
	for (const { seq, crc } of data.bases)
		if (seq >= first && seq <= tip && (await recordAt(wal, seq))?.crc !== crc)
			throw unusable(`is of another life of this log: its record at seq ${seq} is another one`);
	return data;
}

/** The parsed JSON; undefined when it is none, which a checksum cannot rule out. */
export function parsed(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		return undefined;
	}
}

/** Writes the index; it is durable when the promise resolves. A crash leaves the old index or this one, whole. */
export function writeBranchIndex(kept: BlobStore, index: BranchIndex): Promise<void> {
	return kept.put(NAME, Buffer.from(sealed(JSON.stringify(index))));
}

/**
 * Writes the index of a log that begins behind another one: of what was before nothing was taken away, since it is not of this log.
 *
 * @param first the seq that it begins with
 */
export const writeBeginning = (kept: BlobStore, log: string, first: Seq): Promise<void> =>
	writeBranchIndex(kept, { ...wholeLog(log), retainedFrom: first });

/** The path without the ranges in which its scope has no records, so that they are not missed when they were removed. */
export function pathIn(index: BranchIndex, path: Path): Path {
	const first = firstOf(index, path.scope);
	if (first <= 1) return path;
	return withRanges(path, (seq) => path.rangesAfter(Math.max(seq, first - 1)));
}

/** The same path with fewer ranges to read. */
export const withRanges = (path: Path, rangesAfter: (seq: Seq) => readonly SeqRange[]): Path => ({
	tip: path.tip,
	scope: path.scope,
	rangesAfter,
	has: (record) => path.has(record),
	isBase: (seq, kinds) => path.isBase(seq, kinds),
});

/** Can the state at the end of a path be made from kept states and the records that are left? */
export function isKept({ bases, retainedFrom }: BranchIndex, path: Path, kinds: readonly string[]): boolean {
	const base = bases.find(({ seq }) => seq <= path.tip && path.isBase(seq, kinds))?.seq ?? 0;
	return path.rangesAfter(base).every(({ after }) => after >= retainedFrom - 1);
}

/** The first seq that may have a record of the scope; 0 when records of it were removed and no state of it is kept. */
export function firstOf({ scopes, had, retainedFrom }: BranchIndex, scope: Scope): Seq {
	const key = scopeKey(scope);
	const known = scopes.find((each) => scopeKey(each.scope) === key);
	if (known) return known.first;
	return had.some((each) => within(each, scope)) ? 0 : retainedFrom;
}

const unusable = (why: string): TimetravelError =>
	new TimetravelError(
		"TIMETRAVEL_INDEX",
		`the branch index ${why}. Without it abandoned records would count again: bring it back from a backup, with the kept snapshots beside it`,
	);
