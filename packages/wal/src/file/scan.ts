/** Reads one segment, and says what it holds. Judges nothing: that is `decide`'s. */
import { crc32 } from "node:zlib";
import { type DiskFile, readAt } from "../disk/disk.ts";
import {
	type Decoded,
	FORMAT_VERSION,
	type Head,
	hex,
	type SegmentFooter,
	type SegmentHeader,
} from "../record/codec.ts";
import type { Seq } from "../record/record.ts";
import { RecordLine } from "../record/record-line.ts";
import { epochOf, keptBy } from "../record/wal-records.ts";
import { CHUNK_BYTES, LineReader } from "./lines.ts";

export interface Scan {
	/** Undefined when the first line is no header, which `bad` then says. */
	readonly header: SegmentHeader | undefined;
	/** Stands after the last record of a segment that is sealed, or was about to be. */
	readonly footer: SegmentFooter | undefined;
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
	/** The highest seq that any line that was read, sound in itself, says was durable when it was written. */
	readonly durable: Seq;
	/** The epoch of the last writer. */
	readonly epoch: number;
	/** The names of the files in which records that were read say that torn tails are kept. */
	readonly kept: readonly string[];
	/** The seqs at which writers began, of the records that were read. */
	readonly openings: readonly Seq[];
	/** Up to where the head vouched for the bytes, and their CRC-32; from there on lines were read. 0 when it did not. */
	readonly vouched: { readonly offset: number; readonly sum: number };
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
}

/** @param head of the log that is there; what it vouches for is not read line by line */
export function scan(file: DiskFile, head?: Head): Scan {
	const size = file.size();
	const lines = new LineReader(file, 0);
	if (!toNext(lines)) return { ...nothing, size, bad: { offset: 0, why: "the file is empty", end: 0 } };
	const first = lines.decode();
	if (first.type !== "header") {
		const { end } = lines;
		const rest = readRest(lines);
		const bad = { offset: 0, ...reason(first, "it is not a header", rest.sound), end: Math.max(rest.end, end) };
		return { ...nothing, size, durable: rest.durable, bad };
	}
	const { header } = first;
	const prev = head && vouchedPrev(file, size, header, head);
	if (!head || prev === undefined)
		return scanRecords(lines, header, size, {
			next: header.first,
			prev: header.prev,
			epoch: header.epoch,
			end: lines.after,
			unended: !lines.complete,
			vouched: nothing.vouched,
		});
	const { seq, epoch, offset, sum } = head;
	return scanRecords(new LineReader(file, offset), header, size, {
		next: seq + 1,
		prev,
		epoch: Math.max(header.epoch, epoch),
		end: offset,
		unended: false,
		vouched: { offset, sum: Number.parseInt(sum, 16) },
	});
}

/** What the record after the head's has to follow; undefined when the bytes before it are not those that the head speaks of. */
function vouchedPrev(file: DiskFile, size: number, header: SegmentHeader, head: Head): string | undefined {
	if (head.log !== header.log || head.segment !== header.first || head.offset > size) return undefined;
	if (hex(sumOf(file, 0, head.offset)) !== head.sum) return undefined;
	if (head.seq < header.first) return header.prev;
	const last = lastRecord(file, head.offset);
	return last?.seq === head.seq ? hex(last.crc) : undefined;
}

/** The record whose line ends before an offset, if it is no longer than a chunk. */
function lastRecord(file: DiskFile, end: number): RecordLine | undefined {
	const from = Math.max(0, end - CHUNK_BYTES);
	const bytes = readAt(file, from, end - from);
	const start = bytes.lastIndexOf("\n", bytes.length - 2) + 1;
	const line = new RecordLine();
	return line.read(bytes, start, bytes.length - 1) ? line : undefined;
}

const SUM_BYTES = 256 * 1024;

/** The CRC-32 of the bytes from `from` to `to`, after that of those before. */
export function sumOf(file: DiskFile, from: number, to: number, before = 0): number {
	const chunk = Buffer.allocUnsafe(Math.min(SUM_BYTES, to - from));
	let sum = before;
	for (let position = from; position < to; ) {
		const read = file.read(chunk.subarray(0, Math.min(chunk.length, to - position)), position);
		if (read === 0) return -1;
		sum = crc32(chunk.subarray(0, read), sum);
		position += read;
	}
	return sum;
}

const nothing = {
	header: undefined,
	footer: undefined,
	next: 0,
	prev: "",
	end: 0,
	unended: false,
	durable: 0,
	epoch: 0,
	kept: [],
	openings: [],
	vouched: { offset: 0, sum: 0 },
};

/** Goes to the next line, and reads on where it has to; false after the last one. */
function toNext(lines: LineReader): boolean {
	while (!lines.next()) if (!lines.fill()) return false;
	return true;
}

function scanRecords(
	lines: LineReader,
	header: SegmentHeader,
	size: number,
	start: Pick<Scan, "next" | "prev" | "epoch" | "end" | "unended" | "vouched">,
): Scan {
	const kept: string[] = [];
	const openings: Seq[] = [];
	let { next, prev, epoch, end, unended } = start;
	let durable = 0;
	let footer: SegmentFooter | undefined;
	let padding: number | undefined;
	const found = (bad?: BadLine): Scan => ({
		header,
		footer,
		next,
		prev,
		end,
		unended,
		size,
		durable,
		epoch,
		kept,
		openings,
		vouched: start.vouched,
		bad,
	});

	while (toNext(lines)) {
		if (lines.isPadding) {
			padding ??= lines.offset;
			continue;
		}
		// Parsed whole: a checksum that fits does not say that `data` can be read. What the head vouches for is not read here.
		const decoded = lines.decode();
		const why =
			padding !== undefined
				? "a blank line stands before it"
				: footer
					? "it stands after the footer"
					: problem(decoded, next, prev);
		if (decoded.type === "record") durable = Math.max(durable, decoded.record.dur);
		if (why !== undefined) {
			const { offset, end: lineEnd } = lines;
			const rest = readRest(lines);
			durable = Math.max(durable, rest.durable);
			return found({
				offset: padding ?? offset,
				...reason(decoded, why, rest.sound),
				end: Math.max(rest.end, lineEnd),
			});
		}
		if (decoded.type === "footer") footer = decoded.footer;
		if (decoded.type === "record") {
			const { record } = decoded;
			if (epochOf(record) > 0) {
				epoch = epochOf(record);
				openings.push(record.seq);
			}
			const name = keptBy(record);
			if (name !== undefined) kept.push(name);
			next = record.seq + 1;
			prev = record.crc;
		}
		end = lines.after;
		unended = !lines.complete;
	}
	return found();
}

/** Why a line cannot stand here; undefined when it can. */
function problem(decoded: Decoded, next: Seq, prev: string): string | undefined {
	if (decoded.type === "footer") {
		const { last, prev: crc } = decoded.footer;
		return last === next - 1 && crc === prev ? undefined : `it is a footer for seq ${last}`;
	}
	if (decoded.type !== "record") return `it is a ${decoded.type} line`;
	if (decoded.record.seq !== next) return `it is seq ${decoded.record.seq}`;
	if (decoded.record.prev !== prev)
		return `it does not follow the record before it: its prev is ${decoded.record.prev}, expected ${prev}`;
	return undefined;
}

/**
 * What is wrong with a line. Nothing of ours is ever written behind a line of a newer format: where it is, the version is
 * damaged, unless the line's own checksum says that it was written so.
 *
 * @param follow how many sound lines of ours come after it
 */
function reason(decoded: Decoded, otherwise: string, follow: number): Pick<BadLine, "why" | "version"> {
	if (decoded.type === "newer") {
		const { version, isSound } = decoded;
		return isSound || follow === 0
			? { why: `it is in format ${version}`, version }
			: { why: `it says that it is in format ${version}, and lines of format ${FORMAT_VERSION} follow` };
	}
	return { why: decoded.type === "bad" ? decoded.why : otherwise };
}

/** Lines after a bad one are only asked what they prove: each carries the highest seq that was durable when it was written. */
function readRest(lines: LineReader): { durable: Seq; end: number; sound: number } {
	let durable = 0;
	let end = 0;
	let sound = 0;
	while (toNext(lines)) {
		if (lines.isPadding) continue;
		end = lines.end;
		const decoded = lines.decode();
		if (decoded.type === "record" || decoded.type === "footer") sound++;
		if (decoded.type === "record") durable = Math.max(durable, decoded.record.dur);
	}
	return { durable, end, sound };
}
