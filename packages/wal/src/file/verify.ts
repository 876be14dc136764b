/** Checks every line of every segment, and says what is wrong where. Changes nothing and needs no lock. */
import { crc32 } from "node:zlib";
import { type Disk, type DiskFile, readAt } from "../disk/disk.ts";
import { nodeDisk } from "../disk/node-disk.ts";
import type { SegmentHeader } from "../record/codec.ts";
import type { Seq } from "../record/record.ts";
import { misfit } from "./decide.ts";
import { type Inspection, inspect } from "./inspect.ts";
import { refusal } from "./messages.ts";
import { activePath, sealedPath } from "./names.ts";
import { checkedLines, withFile } from "./records.ts";
import { type Scan, scan } from "./scan.ts";
import type { Sealed } from "./survey.ts";

export interface VerifyOptions {
	/** Default: the real one. */
	readonly disk?: Disk;
	/** A seq that something outside the log proves to have been durable, such as its newest snapshot. Default: 0, nothing. */
	readonly proven?: Seq;
}

/** What a log is worth. Only `damaged` and `missing` need somebody: a torn tail is set aside by the next writer. */
export type LogState = "sound" | "torn" | "damaged" | "missing";

export interface LogVerdict {
	readonly directory: string;
	readonly state: LogState;
	/** The log's id; undefined when nothing says it any more. */
	readonly log: string | undefined;
	/** The first seq that the log still has. */
	readonly first: Seq;
	/** How far the log is known to have been acknowledged. */
	readonly acknowledged: Seq;
	readonly head: { readonly segment: Seq; readonly seq: Seq; readonly offset: number } | undefined;
	readonly segments: readonly SegmentVerdict[];
	readonly problems: readonly LogProblem[];
	/** How many problems more there are than `problems` has room for. */
	readonly omitted: number;
	readonly torn: TornNote | undefined;
}

export interface SegmentVerdict {
	readonly path: string;
	readonly sealed: boolean;
	readonly first: Seq;
	/** The last one that is sound; `first - 1` when there is none. */
	readonly last: Seq;
	/** Records that are sound in themselves. */
	readonly records: number;
	readonly bytes: number;
	readonly state: LogState;
}

export interface LogProblem {
	readonly path: string;
	/** Counted from 1; 0 when it is no line that is wrong. */
	readonly line: number;
	readonly offset: number;
	/** The seq that was expected there. */
	readonly seq: Seq;
	readonly why: string;
	/** The checksum of the line as it is, where the line has one to compare with. */
	readonly expectedCrc?: string;
	/** The checksum that the line says it has. */
	readonly actualCrc?: string;
	/** Was it promised to be durable? */
	readonly acknowledged: boolean;
}

/** Bytes at the end that nothing was promised of: of a write that a crash has cut, or of one that is under way. */
export interface TornNote {
	readonly path: string;
	readonly offset: number;
	readonly bytes: number;
	readonly seq: Seq;
	readonly why: string;
}

/** More are counted, not listed. */
const MAX_PROBLEMS = 200;

/**
 * Judges a log as it lies there; beside a live writer only as far as it is known to be durable.
 *
 * @throws WalError `WAL_IO` when there is no log, `WAL_NEWER_FORMAT`
 */
export async function verifyLog(directory: string, options: VerifyOptions = {}): Promise<LogVerdict> {
	const { disk = nodeDisk, proven = 0 } = options;
	const inspected = await inspect(disk, directory, proven);
	const { found, decision, log, acknowledged } = inspected;
	const segments: SegmentVerdict[] = [];
	const problems: LogProblem[] = [];
	const torn = tornNote(inspected, directory);

	let before: Sealed | Seq | undefined = typeof found.base === "object" ? found.base.first : 1;
	for (const sealed of found.sealed) {
		const mine = checkSealed(disk, directory, sealed);
		const gap = sealed.header.log === "" ? undefined : unfit(before, sealed, log);
		problems.push(...(gap ? [gap] : []), ...mine.problems);
		if (gap && isGap(gap)) segments.push(missing(directory, gap.seq));
		segments.push({ ...mine.verdict, state: gap && !isGap(gap) ? "damaged" : mine.verdict.state });
		before = mine.end;
	}

	const path = activePath(directory);
	const { active } = found;
	if (active) {
		const end = active.header && asSealed(path, active.header, active);
		const gap = end && unfit(before, end, log);
		const mine = active.bad && !torn ? badLines(disk, path, active, acknowledged) : [];
		const short =
			!active.bad && active.next <= acknowledged
				? [problem(path, active.next, `the log ends at seq ${active.next - 1}; seq ${acknowledged} was acknowledged`)]
				: [];
		problems.push(...(gap ? [gap] : []), ...mine, ...short);
		if (gap && isGap(gap)) segments.push(missing(directory, gap.seq));
		segments.push({
			// A torn tail is no part of it, and may be another by now.
			...summed(disk, path, torn ? { ...active, bad: undefined } : active),
			sealed: false,
			state:
				mine.length > 0 || (gap && !isGap(gap)) ? "damaged" : short.length > 0 ? "missing" : torn ? "torn" : "sound",
		});
	} else if (decision.kind === "refuse" && lastOf(before) < acknowledged) {
		problems.push(problem(path, lastOf(before) + 1, "wal.jsonl is gone"));
		segments.push({ path, sealed: false, first: 0, last: 0, records: 0, bytes: 0, state: "missing" });
	}
	// Whatever stops a writer is a problem, even one that no line of ours has a name for.
	if (decision.kind === "refuse" && problems.length === 0)
		problems.push({ ...problem(decision.path ?? path, decision.seq, decision.why), offset: decision.offset });

	const state = stateOf(segments, problems, torn);
	return {
		directory,
		state,
		log,
		first: segments[0]?.first ?? 0,
		acknowledged,
		head: found.head && { segment: found.head.segment, seq: found.head.seq, offset: found.head.offset },
		segments,
		problems: problems.slice(0, MAX_PROBLEMS),
		omitted: Math.max(0, problems.length - MAX_PROBLEMS),
		torn,
	};
}

function stateOf(
	segments: readonly SegmentVerdict[],
	problems: readonly LogProblem[],
	torn: TornNote | undefined,
): LogState {
	const states = segments.map(({ state }) => state);
	if (states.includes("damaged")) return "damaged";
	if (states.includes("missing")) return "missing";
	if (problems.length > 0) return "damaged";
	return torn ? "torn" : "sound";
}

function tornNote({ found: { active }, acknowledged }: Inspection, directory: string): TornNote | undefined {
	if (!active?.header || !active.bad || active.footer || active.next <= acknowledged) return undefined;
	const { offset, end, why } = active.bad;
	return { path: activePath(directory), offset, bytes: end - offset, seq: active.next, why };
}

/** Where a sealed segment ends, for the one after it, and what is wrong in it. */
function checkSealed(
	disk: Disk,
	directory: string,
	sealed: Sealed,
): { verdict: SegmentVerdict; problems: readonly LogProblem[]; end: Sealed | undefined } {
	const { path, header, broken } = sealed;
	const scanned = withFile(disk, path, scan);
	if (scanned.bad?.version !== undefined)
		throw refusal(
			{ ...scanned.bad, code: "WAL_NEWER_FORMAT", kind: "refuse", path, seq: scanned.next, acknowledged: 0 },
			directory,
		);
	const problems = scanned.bad ? [...badLines(disk, path, scanned, Number.POSITIVE_INFINITY)] : [];
	if (scanned.header && sealedPath(directory, header.first) !== path)
		problems.push(problem(path, header.first, `it begins at seq ${header.first}, which is not what its name says`));
	if (broken !== undefined && problems.length === 0)
		problems.push({ ...problem(path, scanned.next, broken), offset: scanned.end });
	return {
		verdict: { ...summed(disk, path, scanned), sealed: true, state: problems.length > 0 ? "damaged" : "sound" },
		problems,
		end: broken === undefined ? sealed : undefined,
	};
}

/** The last seq before a segment: of the one before it, or, where the log begins, the one before that. */
const lastOf = (before: Sealed | Seq | undefined): Seq =>
	typeof before === "object" ? before.footer.last : (before ?? 1) - 1;

/** Why a segment cannot stand behind the one before it, or as the first, as a writer would see it. What is unknown is not judged. */
function unfit(before: Sealed | Seq | undefined, segment: Sealed, log: string | undefined): LogProblem | undefined {
	const { header, path } = segment;
	if (log !== undefined && header.log !== log)
		return problem(path, header.first, `it belongs to another log, ${header.log}; this one is ${log}`);
	if (before === undefined || (typeof before === "object" && before.header.log !== log)) return undefined;
	const expected = lastOf(before) + 1;
	const why = misfit(
		typeof before === "number" ? before : { log: before.header.log, first: expected, prev: before.footer.prev },
		header,
	);
	if (why === undefined) return undefined;
	return header.first > expected
		? problem(path, expected, `${range(expected, header.first - 1)} ${MISSING}: ${why}`)
		: problem(path, expected, why);
}

const MISSING = "of the segments before it are missing";
const isGap = ({ why }: LogProblem): boolean => why.includes(MISSING);

const range = (from: Seq, to: Seq): string => (from === to ? `seq ${from}` : `seqs ${from} to ${to}`);

function missing(directory: string, first: Seq): SegmentVerdict {
	const path = sealedPath(directory, first);
	return { path, sealed: true, first, last: first - 1, records: 0, bytes: 0, state: "missing" };
}

function problem(path: string, seq: Seq, why: string): LogProblem {
	return { path, line: 0, offset: 0, seq, why, acknowledged: true };
}

const asSealed = (path: string, header: SegmentHeader, { next, prev, epoch }: Scan): Sealed => ({
	path,
	broken: undefined,
	version: undefined,
	header,
	footer: { first: header.first, last: next - 1, prev, epoch },
});

/** The figures of a segment; where a line is bad, the sound ones after it count as well. */
function summed(disk: Disk, path: string, { header, next, bad, size }: Scan): Omit<SegmentVerdict, "sealed" | "state"> {
	if (header && !bad) return { path, first: header.first, last: next - 1, records: next - header.first, bytes: size };
	let first = header?.first ?? 0;
	let last = first - 1;
	let records = 0;
	withFile(disk, path, (file) => {
		for (const { decoded } of checkedLines(file)) {
			if (decoded.type !== "record") continue;
			first ||= decoded.record.seq;
			last = decoded.record.seq;
			records++;
		}
	});
	return { path, first, last: Math.max(last, first - 1), records, bytes: size };
}

/**
 * Each line of a segment that does not check out. `scan` stops at the first; here each sound line is a new start, so that
 * one bad line is one problem and not all that follow.
 */
function badLines(disk: Disk, path: string, { header }: Scan, acknowledged: Seq): readonly LogProblem[] {
	return withFile(disk, path, (file) => {
		const problems: LogProblem[] = [];
		const lines = new LineCounter(file);
		let next = header?.first ?? 0;
		let prev = header?.prev;
		let end = 0;
		let ended = false;
		for (const { bytes, offset, end: lineEnd, decoded } of checkedLines(file)) {
			const why = (): string | undefined => {
				if (decoded.type === "bad") return decoded.why;
				if (decoded.type === "newer") return `it says that it is in format ${decoded.version}`;
				if (offset === 0) return decoded.type === "header" ? undefined : "it is not a header";
				if (ended) return "it stands after the footer";
				if (offset !== end) return "a blank line stands before it";
				if (decoded.type === "footer")
					return decoded.footer.last === next - 1 && decoded.footer.prev === (prev ?? decoded.footer.prev)
						? undefined
						: `it is a footer for seq ${decoded.footer.last}`;
				if (decoded.type !== "record") return `it is a ${decoded.type} line`;
				// After a line without a seq of its own anything may come; the chain tells whether it belongs.
				if (next > 0 && decoded.record.seq !== next) return `it is seq ${decoded.record.seq}, expected ${next}`;
				return decoded.record.prev === (prev ?? decoded.record.prev)
					? undefined
					: `it does not follow the record before it: its prev is ${decoded.record.prev}, expected ${prev}`;
			};
			const wrong = why();
			if (wrong !== undefined)
				problems.push({
					path,
					line: lines.at(offset),
					offset,
					seq: next,
					why: wrong,
					...(decoded.type === "bad" || decoded.type === "newer" ? checksums(bytes) : {}),
					acknowledged: next <= acknowledged,
				});
			if (decoded.type === "record") {
				next = decoded.record.seq + 1;
				prev = decoded.record.crc;
			} else if ((decoded.type === "bad" || decoded.type === "newer") && offset > 0) {
				next++;
				prev = undefined;
			}
			ended ||= decoded.type === "footer";
			end = lineEnd;
		}
		return problems;
	});
}

/** What a line says its checksum is, and what it would have to be. */
function checksums(bytes: Buffer): { expectedCrc?: string; actualCrc?: string } {
	const [, said] = /,"crc":"([^"]{8})"\}$/.exec(bytes.toString("latin1", Math.max(0, bytes.length - 18))) ?? [];
	if (said === undefined) return {};
	const expected = crc32(bytes.subarray(0, -18)).toString(16).padStart(8, "0");
	return { expectedCrc: expected, actualCrc: said };
}

const COUNT_BYTES = 1024 * 1024;

/** Counts newlines up to ever later places. */
class LineCounter {
	readonly #file: DiskFile;
	#offset = 0;
	#line = 1;

	constructor(file: DiskFile) {
		this.#file = file;
	}

	/** The number of the line that starts at an offset. */
	at(offset: number): number {
		while (this.#offset < offset) {
			const bytes = readAt(this.#file, this.#offset, Math.min(COUNT_BYTES, offset - this.#offset));
			if (bytes.length === 0) break;
			for (const byte of bytes) if (byte === 0x0a) this.#line++;
			this.#offset += bytes.length;
		}
		return this.#line;
	}
}
