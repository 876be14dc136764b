/** Reads a log file from its first line and says what it holds: a sound prefix, and perhaps a tail that does not check out. */
import type { FileHandle } from "node:fs/promises";
import { type Decoded, decodeLine, type LogHeader, type StoredRecord } from "../codec.ts";
import { WalError } from "../errors.ts";
import type { Seq } from "../record.ts";
import { type Line, readLines } from "./lines.ts";

/** Where some records start: one entry for each `INDEX_STEP` of them. */
export type SparseIndex = { readonly seq: Seq; readonly offset: number }[];

export const INDEX_STEP = 256;

export interface Scan {
	readonly header: LogHeader;
	readonly index: SparseIndex;
	/** The seq after the last sound record. */
	readonly next: Seq;
	/** Where the sound prefix ends. */
	readonly end: number;
	/** Whether the last sound line still lacks its newline. */
	readonly unended: boolean;
	/** The first line that does not check out: none of the lines from here on was ever acknowledged. */
	readonly torn?: { readonly offset: number; readonly why: string };
}

/**
 * @throws WalError `WAL_NEWER_FORMAT`; `WAL_CORRUPT` when a record that a later line proves durable does not check out
 */
export async function scan(file: FileHandle, path: string, seen: (record: StoredRecord) => void): Promise<Scan> {
	const lines = readLines(file, 0);
	const header = await readHeader(lines, path);
	const index: SparseIndex = [];
	let next = header.value.first;
	let prev = header.value.salt;
	let end = header.end;
	let unended = !header.complete;
	for await (const line of lines) {
		const decoded = decodeLine(line.bytes);
		const why = problem(decoded, next, prev);
		if (why !== undefined || decoded.type !== "record") {
			if (decoded.type === "newer") throw newer(path, decoded.version);
			const torn = { offset: line.offset, why: why ?? "it is a second header" };
			await assertNotAcknowledged(lines, { next, torn, path, good: next - 1 });
			return { header: header.value, index, next, end, unended, torn };
		}
		seen(decoded.record);
		if ((next - header.value.first) % INDEX_STEP === 0) index.push({ seq: next, offset: line.offset });
		next++;
		prev = decoded.record.crc;
		end = line.offset + line.bytes.length + (line.complete ? 1 : 0);
		unended = !line.complete;
	}
	return { header: header.value, index, next, end, unended };
}

/** Reads records that a scan found sound, from the record `from` on, which starts at `offset`. */
export async function* readRecords(
	file: FileHandle,
	path: string,
	from: { seq: Seq; offset: number },
): AsyncGenerator<StoredRecord> {
	let next = from.seq;
	let prev: string | undefined;
	for await (const line of readLines(file, from.offset)) {
		const decoded = decodeLine(line.bytes);
		const why = problem(decoded, next, prev);
		if (why !== undefined || decoded.type !== "record") {
			// A line that is still being written ends the log for this reader.
			if (!line.complete) return;
			throw corrupt(path, line.offset, next, why ?? "it is a second header");
		}
		yield decoded.record;
		next++;
		prev = decoded.record.crc;
	}
}

function problem(decoded: Decoded, next: Seq, prev: string | undefined): string | undefined {
	if (decoded.type === "bad") return decoded.why;
	if (decoded.type !== "record") return `it is a ${decoded.type} line`;
	if (decoded.record.seq !== next) return `it is seq ${decoded.record.seq}`;
	if (prev !== undefined && decoded.record.prev !== prev)
		return `it does not follow the record before it (prev ${decoded.record.prev}, expected ${prev})`;
	return undefined;
}

async function readHeader(
	lines: AsyncGenerator<Line>,
	path: string,
): Promise<{ value: LogHeader; end: number; complete: boolean }> {
	const first = await lines.next();
	if (first.done)
		throw new WalError(
			"WAL_CORRUPT",
			`${path} is empty; a log starts with a header line. Restore the file, or move it away to start a new log`,
			{ path },
		);
	const { bytes, complete } = first.value;
	const decoded = decodeLine(bytes);
	if (decoded.type === "newer") throw newer(path, decoded.version);
	if (decoded.type !== "header")
		throw corrupt(path, 0, 0, decoded.type === "bad" ? decoded.why : "it is not a header line");
	return { value: decoded.header, end: bytes.length + (complete ? 1 : 0), complete };
}

/** Later lines are only asked what they prove: each carries the highest seq that was durable when it was written. */
async function assertNotAcknowledged(
	rest: AsyncGenerator<Line>,
	{ next, torn, path, good }: { next: Seq; torn: { offset: number; why: string }; path: string; good: Seq },
): Promise<void> {
	for await (const line of rest) {
		const decoded = decodeLine(line.bytes);
		if (decoded.type === "record" && decoded.record.dur >= next) throw corrupt(path, torn.offset, next, torn.why, good);
	}
}

function corrupt(path: string, offset: number, seq: Seq, why: string, good?: Seq): WalError {
	const kept = good === undefined ? "" : ` Records up to seq ${good} are sound.`;
	return new WalError(
		"WAL_CORRUPT",
		`${path}, byte ${offset}: seq ${seq} was acknowledged as durable, but its line does not check out: ${why}.${kept} Nothing was changed. Restore the file from a copy`,
		{ path, offset, seq, lastSound: good },
	);
}

function newer(path: string, version: number): WalError {
	return new WalError(
		"WAL_NEWER_FORMAT",
		`${path} is in format ${version}; this version of Reyn reads format 1. It was written by a newer Reyn: upgrade to open it`,
		{ path, version },
	);
}
