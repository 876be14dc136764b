/** A record as one checksummed line of JSON, and back. The format is v1: envelope first, integrity fields last. */
import { crc32 } from "node:zlib";
import type { Scope, Seq, WalRecord } from "./record.ts";

const FORMAT_VERSION = 1;

/** The longest line that is written, and so the longest that is read. */
export const MAX_LINE_BYTES = 8 * 1024 * 1024;

/** The first line of a log file. */
export interface LogHeader {
	/** The log's id: 32 hex digits, made when the log is. */
	readonly id: string;
	/** What the first record's `prev` holds, so that a line of another log never fits. */
	readonly salt: string;
	/** The first seq of this log: 1, or the old tip + 1 after an archive. */
	readonly first: Seq;
	readonly created: number;
}

/** A record with what the line says of its neighbours. */
export interface StoredRecord extends WalRecord {
	/** The highest seq known durable when the line was written. */
	readonly dur: Seq;
	/** The crc of the record before. */
	readonly prev: string;
}

/** Everything of a line but its checksum; `data` is JSON already. */
export interface LineParts {
	readonly seq: Seq;
	readonly ts: number;
	readonly kind: string;
	readonly scope: Scope;
	readonly data: string;
	readonly dur: Seq;
	readonly prev: string;
}

export type Decoded =
	| { readonly type: "record"; readonly record: StoredRecord }
	| { readonly type: "header"; readonly header: LogHeader }
	| { readonly type: "newer"; readonly version: number }
	| { readonly type: "bad"; readonly why: string };

// `,"crc":"1a2b3c4d"}` stands at a fixed place, so the checksum is over raw bytes and nothing is ever serialised again.
const TRAILER_BYTES = 18;

export function encodeRecord(parts: LineParts): { readonly line: string; readonly crc: string } {
	const { seq, ts, kind, scope, data, dur, prev } = parts;
	return sealed(
		`{"v":${FORMAT_VERSION},"seq":${seq},"ts":${ts},"kind":${JSON.stringify(kind)},"scope":${scopeJson(scope)},"data":${data},"dur":${dur},"prev":"${prev}"`,
	);
}

export function encodeHeader({ id, salt, first, created }: LogHeader): string {
	return sealed(`{"v":${FORMAT_VERSION},"log":"${id}","salt":"${salt}","first":${first},"created":${created}`).line;
}

/** Reads one line, its newline left out. Never throws: what does not check out is `bad`, and says why. */
export function decodeLine(line: Uint8Array): Decoded {
	const bytes = Buffer.from(line.buffer, line.byteOffset, line.byteLength);
	const body = bytes.subarray(0, Math.max(0, bytes.length - TRAILER_BYTES));
	const expected = hex(crc32(body));
	if (bytes.toString("latin1", body.length) !== `,"crc":"${expected}"}`) {
		return newerVersion(bytes) ?? { type: "bad", why: `its checksum is not ${expected}` };
	}
	let value: Partial<Record<string, unknown>>;
	try {
		value = JSON.parse(bytes.toString("utf8"));
	} catch {
		return { type: "bad", why: "it is not JSON" };
	}
	if (value.v !== FORMAT_VERSION) {
		return typeof value.v === "number"
			? { type: "newer", version: value.v }
			: { type: "bad", why: "it has no version" };
	}
	if (isRecord(value)) return { type: "record", record: recordOf(value, expected) };
	if (isHeader(value))
		return { type: "header", header: { id: value.log, salt: value.salt, first: value.first, created: value.created } };
	return { type: "bad", why: "it is neither a header nor a record" };
}

function sealed(body: string): { line: string; crc: string } {
	const crc = hex(crc32(body));
	return { line: `${body},"crc":"${crc}"}\n`, crc };
}

const hex = (crc: number): string => crc.toString(16).padStart(8, "0");

/** The keys in one order whatever the caller's, so that equal scopes are equal bytes. */
function scopeJson({ agent, session, run }: Scope): string {
	return JSON.stringify({ agent, session, run });
}

/** A newer format may seal its lines in another way; its version is then all that can be said. */
function newerVersion(bytes: Buffer): Decoded | undefined {
	const version = /^\{"v":(\d{1,6}),/.exec(bytes.toString("latin1", 0, 16))?.[1];
	return version !== undefined && Number(version) > FORMAT_VERSION
		? { type: "newer", version: Number(version) }
		: undefined;
}

type Envelope = StoredRecord & { readonly v: number };

function isRecord(value: Partial<Record<string, unknown>>): value is Partial<Record<string, unknown>> & Envelope {
	return (
		isSeq(value.seq) &&
		value.seq > 0 &&
		typeof value.ts === "number" &&
		typeof value.kind === "string" &&
		isScope(value.scope) &&
		"data" in value &&
		isSeq(value.dur) &&
		typeof value.prev === "string"
	);
}

function recordOf({ seq, ts, kind, scope, data, dur, prev }: Envelope, crc: string): StoredRecord {
	return { seq, ts, kind, scope, data, dur, prev, crc };
}

function isHeader(
	value: Partial<Record<string, unknown>>,
): value is { log: string; salt: string; first: Seq; created: number } {
	return (
		typeof value.log === "string" &&
		typeof value.salt === "string" &&
		isSeq(value.first) &&
		typeof value.created === "number"
	);
}

function isScope(value: unknown): value is Scope {
	return (
		typeof value === "object" &&
		value !== null &&
		!Array.isArray(value) &&
		Object.entries(value).every(
			([key, part]) => (key === "agent" || key === "session" || key === "run") && typeof part === "string",
		)
	);
}

export const isSeq = (value: unknown): value is Seq => Number.isSafeInteger(value) && (value as number) >= 0;
