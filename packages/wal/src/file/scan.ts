/** Reads one segment from its first line and says what it holds. Judges nothing: that is `decide`'s. */
import { type Decoded, decodeLine, type SegmentFooter, type SegmentHeader } from "../codec.ts";
import type { DiskFile } from "../disk.ts";
import type { Seq } from "../record.ts";
import { epochOf } from "../wal-records.ts";
import { type Line, readLines } from "./lines.ts";

/** Where some records start: one entry for each `INDEX_STEP` of them. */
export type SparseIndex = { readonly seq: Seq; readonly offset: number }[];

export const INDEX_STEP = 256;

export interface Scan {
	/** Undefined when the first line is no header, which `bad` then says. */
	readonly header: SegmentHeader | undefined;
	/** Stands after the last record of a segment that is sealed, or was about to be. */
	readonly footer: SegmentFooter | undefined;
	readonly index: SparseIndex;
	/** The seq after the last sound record. */
	readonly next: Seq;
	/** What the next record's `prev` has to be. */
	readonly prev: string;
	/** Where the sound part ends, the newline of its last line included. */
	readonly end: number;
	/** Does the last sound line lack its newline? It is then not counted in `end`. */
	readonly unended: boolean;
	/** How many bytes the file has; after `end` there may be padding. */
	readonly size: number;
	/** The highest seq that any line, sound in itself, says was durable when it was written. */
	readonly durable: Seq;
	/** The epoch of the last writer. */
	readonly epoch: number;
	/** The first line that does not check out. */
	readonly bad: BadLine | undefined;
}

export interface BadLine {
	readonly offset: number;
	readonly why: string;
	/** The version that a newer Reyn wrote there, if that is what it is. */
	readonly version?: number;
	/** Where what is no padding ends, here or after it. */
	readonly end: number;
	/** How many lines from here on are sound in themselves. */
	readonly sound: number;
}

export function scan(file: DiskFile): Scan {
	const lines = readLines(file, 0);
	const size = file.size();
	const first = lines.next();
	if (first.done) return { ...nothing, size, bad: { offset: 0, why: "the file is empty", end: 0, sound: 0 } };
	const decoded = decodeLine(first.value.bytes);
	if (decoded.type !== "header") {
		const rest = readRest(lines);
		const bad = {
			offset: 0,
			...reason(decoded, "it is not a header"),
			end: Math.max(rest.end, first.value.bytes.length),
			sound: rest.sound,
		};
		return { ...nothing, size, durable: rest.durable, bad };
	}
	return scanRecords(lines, decoded.header, first.value.bytes.length, first.value.complete, size);
}

const nothing = {
	header: undefined,
	footer: undefined,
	index: [],
	next: 0,
	prev: "",
	end: 0,
	unended: false,
	durable: 0,
	epoch: 0,
};

function scanRecords(
	lines: Iterable<Line>,
	header: SegmentHeader,
	headerEnd: number,
	complete: boolean,
	size: number,
): Scan {
	const index: SparseIndex = [];
	let { first: next, prev, epoch } = header;
	let end = complete ? headerEnd + 1 : headerEnd;
	let unended = !complete;
	let durable = 0;
	let footer: SegmentFooter | undefined;
	let padding: number | undefined;
	const found = (bad?: BadLine): Scan => ({
		header,
		footer,
		index,
		next,
		prev,
		end,
		unended,
		size,
		durable,
		epoch,
		bad,
	});

	for (const line of lines) {
		if (isPadding(line.bytes)) {
			padding ??= line.offset;
			continue;
		}
		const decoded = decodeLine(line.bytes);
		const why =
			padding !== undefined
				? { why: "a blank line stands before it" }
				: footer
					? { why: "it stands after the footer" }
					: problem(decoded, next, prev);
		if (why) {
			if (decoded.type === "record") durable = Math.max(durable, decoded.record.dur);
			const rest = readRest(lines);
			durable = Math.max(durable, rest.durable);
			const sound = rest.sound + (decoded.type === "record" ? 1 : 0);
			return found({
				offset: padding ?? line.offset,
				...why,
				end: Math.max(rest.end, line.offset + line.bytes.length),
				sound,
			});
		}
		if (decoded.type === "footer") footer = decoded.footer;
		if (decoded.type === "record") {
			const { record } = decoded;
			if ((next - header.first) % INDEX_STEP === 0) index.push({ seq: next, offset: line.offset });
			if (record.dur > durable) durable = record.dur;
			epoch = epochOf(record) || epoch;
			next++;
			prev = record.crc;
		}
		end = line.offset + line.bytes.length + (line.complete ? 1 : 0);
		unended = !line.complete;
	}
	return found();
}

/** Why a line cannot stand here; undefined when it can. */
function problem(decoded: Decoded, next: Seq, prev: string): { why: string; version?: number } | undefined {
	if (decoded.type === "footer") {
		const { last, prev: crc } = decoded.footer;
		return last === next - 1 && crc === prev ? undefined : { why: `it is a footer for seq ${last}` };
	}
	if (decoded.type !== "record") return reason(decoded, `it is a ${decoded.type} line`);
	if (decoded.record.seq !== next) return { why: `it is seq ${decoded.record.seq}` };
	if (decoded.record.prev !== prev)
		return { why: `it does not follow the record before it: its prev is ${decoded.record.prev}, expected ${prev}` };
	return undefined;
}

function reason(decoded: Decoded, otherwise: string): { why: string; version?: number } {
	if (decoded.type === "bad") return { why: decoded.why };
	return decoded.type === "newer"
		? { why: `it is in format ${decoded.version}`, version: decoded.version }
		: { why: otherwise };
}

/** Lines after a bad one are only asked what they prove: each carries the highest seq that was durable when it was written. */
function readRest(lines: Iterable<Line>): { durable: Seq; end: number; sound: number } {
	let durable = 0;
	let end = 0;
	let sound = 0;
	for (const line of lines) {
		if (isPadding(line.bytes)) continue;
		end = line.offset + line.bytes.length;
		const decoded = decodeLine(line.bytes);
		if (decoded.type !== "record") continue;
		sound++;
		durable = Math.max(durable, decoded.record.dur);
	}
	return { durable, end, sound };
}

/** Blank lines are space that was allocated ahead; a crash while it was may have left NULs there. */
export function isPadding(bytes: Uint8Array): boolean {
	for (const byte of bytes) if (byte !== 0) return false;
	return true;
}
