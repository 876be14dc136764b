/**
 * Everything of the log as checksummed lines of JSON, and back. The format is v1 (docs/formats/wal-v1.md): envelope
 * first, integrity fields last, the checksum at a fixed place.
 */
import { isUtf8 } from "node:buffer";
import { crc32 } from "node:zlib";
import type { Scope, Seq, WalRecord } from "./record.ts";

export const FORMAT_VERSION = 1;

/** The longest line that is written, its newline included, and so the longest that is read. */
export const MAX_LINE_BYTES = 8 * 1024 * 1024;

/** How deep the data of a record may be nested. */
export const MAX_DEPTH = 64;

/** The first line of a segment. */
export interface SegmentHeader {
	/** The log's id: 32 hex digits, the same in all its segments. */
	readonly log: string;
	/** The seq of the first record. */
	readonly first: Seq;
	/** What the first record's `prev` is: the crc of the last one before, or in a new log a random salt. */
	readonly prev: string;
	/** The writer's epoch when the segment was made. */
	readonly epoch: number;
	readonly created: number;
	/** 32 hex digits that nobody else knows: given to a log that came from elsewhere, when its new owner takes it over. */
	readonly adopted?: string;
}

/** The last line of a sealed segment. */
export interface SegmentFooter {
	readonly first: Seq;
	readonly last: Seq;
	/** The crc of the last record. */
	readonly prev: string;
	/** The epoch of the last writer. */
	readonly epoch: number;
}

/** What `wal.head` says: how far the log was durable when it was written, at least. */
export interface Head {
	readonly log: string;
	/** The first seq of the segment that was active. */
	readonly segment: Seq;
	readonly seq: Seq;
	/** Where in that segment the record ends. */
	readonly offset: number;
	/** CRC-32 of the segment up to there: bytes that have it are those that were acknowledged, and need not be read line by line. */
	readonly sum: string;
	/** The epoch of the last writer up to there. */
	readonly epoch: number;
}

/** What `wal.base` says: retention took away what is before a segment. */
export interface Base {
	readonly log: string;
	/** The first seq of the oldest segment that is kept. */
	readonly first: Seq;
	/** As in the newest header. */
	readonly adopted?: string;
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
	| { readonly type: "header"; readonly header: SegmentHeader }
	| { readonly type: "footer"; readonly footer: SegmentFooter }
	| { readonly type: "head"; readonly head: Head }
	| { readonly type: "base"; readonly base: Base }
	/** `isSound`: its checksum fits. One that does not fit may have been ours, and be damaged. */
	| { readonly type: "newer"; readonly version: number; readonly isSound: boolean }
	| { readonly type: "bad"; readonly why: string };

// `,"crc":"1a2b3c4d"}` stands at a fixed place, so the checksum is over raw bytes and nothing is ever serialised again.
export const TRAILER_BYTES = 18;

export function encodeRecord(parts: LineParts): { readonly line: string; readonly crc: string } {
	const { seq, ts, kind, scope, data, dur, prev } = parts;
	return sealed(
		`{"v":${FORMAT_VERSION},"seq":${seq},"ts":${ts},"kind":${nameJson(kind)},"scope":${scopeJson(scope)},"data":${data},"dur":${dur},"prev":"${prev}"`,
	);
}

export function encodeHeader({ log, first, prev, epoch, created, adopted }: SegmentHeader): string {
	const more = adopted === undefined ? "" : `,"adopted":"${adopted}"`;
	return sealed(
		`{"v":${FORMAT_VERSION},"log":"${log}","first":${first},"prev":"${prev}","epoch":${epoch},"created":${created}${more}`,
	).line;
}

export function encodeFooter({ first, last, prev, epoch }: SegmentFooter): string {
	return sealed(`{"v":${FORMAT_VERSION},"sealed":{"first":${first},"last":${last},"prev":"${prev}","epoch":${epoch}}`)
		.line;
}

/** The size of `wal.head`: less than a sector, so that overwriting it is as good as atomic. */
export const HEAD_BYTES = 256;

/** One line, padded with spaces to the same length whatever it says. */
export function encodeHead({ log, segment, seq, offset, sum, epoch }: Head): string {
	const { line } = sealed(
		`{"v":${FORMAT_VERSION},"head":{"log":"${log}","segment":${segment},"seq":${seq},"offset":${offset},"sum":"${sum}","epoch":${epoch}}`,
	);
	return `${line.trimEnd().padEnd(HEAD_BYTES - 1)}\n`;
}

export function encodeBase({ log, first, adopted }: Base): string {
	const more = adopted === undefined ? "" : `,"adopted":"${adopted}"`;
	return sealed(`{"v":${FORMAT_VERSION},"base":{"log":"${log}","first":${first}${more}}`).line;
}

/** Reads the line between two places of a buffer, its newline left out. Never throws: what does not check out is `bad`, and says why. */
export function decodeLine(bytes: Buffer, start = 0, end = bytes.length): Decoded {
	const length = end - start;
	if (length >= MAX_LINE_BYTES) return { type: "bad", why: `it is longer than ${MAX_LINE_BYTES} bytes` };
	const body = end - TRAILER_BYTES;
	const found = body > start ? trailerAt(bytes, body) : -1;
	const expected = crc32(bytes.subarray(start, Math.max(start, body)));
	const version = newerVersion(bytes, start, end);
	if (version !== undefined && (found === expected || found !== asOurs(bytes, start, body)))
		return { type: "newer", version, isSound: found === expected };
	if (body <= start) return { type: "bad", why: "it is too short" };
	if (found !== expected) return { type: "bad", why: `its checksum is not ${hex(expected)}` };
	if (!isUtf8(bytes.subarray(start, end))) return { type: "bad", why: "it is not UTF-8" };
	let value: Partial<Record<string, unknown>>;
	try {
		value = JSON.parse(bytes.toString("utf8", start, end));
	} catch {
		return { type: "bad", why: "it is not JSON" };
	}
	if (value.v !== FORMAT_VERSION) return { type: "bad", why: "it has no version" };
	if (isRecord(value)) return { type: "record", record: recordOf(value) };
	if (isHeader(value)) return { type: "header", header: value };
	if (isFooter(value.sealed)) return { type: "footer", footer: value.sealed };
	if (isHead(value.head)) return { type: "head", head: value.head };
	if (isBase(value.base)) return { type: "base", base: value.base };
	return { type: "bad", why: "it is none of the lines that this format has" };
}

const TRAILER = Buffer.from(',"crc":"');

/** The checksum that stands in the trailer, or -1 where there is no trailer. */
export function trailerAt(bytes: Buffer, at: number): number {
	if (!hasAt(bytes, at, TRAILER) || bytes[at + 16] !== 0x22 || bytes[at + 17] !== 0x7d) return -1;
	return hexAt(bytes, at + TRAILER.length);
}

export function hasAt(bytes: Buffer, at: number, expected: Buffer): boolean {
	for (let i = 0; i < expected.length; i++) if (bytes[at + i] !== expected[i]) return false;
	return true;
}

/** Eight hex digits as a number, or -1. Bytes, not what they mean: `A` for `a` is damage. */
export function hexAt(bytes: Buffer, at: number): number {
	let value = 0;
	for (let i = at; i < at + 8; i++) {
		const byte = bytes[i] as number;
		const digit = byte >= 0x30 && byte <= 0x39 ? byte - 0x30 : byte >= 0x61 && byte <= 0x66 ? byte - 0x57 : -1;
		if (digit === -1) return -1;
		value = value * 16 + digit;
	}
	return value;
}

function sealed(body: string): { line: string; crc: string } {
	const crc = hex(crc32(body));
	return { line: `${body},"crc":"${crc}"}\n`, crc };
}

const BYTES = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

/** A checksum as eight digits. Each record has one, so a table is worth it. */
export const hex = (crc: number): string =>
	`${BYTES[crc >>> 24]}${BYTES[(crc >>> 16) & 255]}${BYTES[(crc >>> 8) & 255]}${BYTES[crc & 255]}`;

/** Kinds and the parts of scopes are few, and come again with each record. */
const names = new Map<string, string>();
const MAX_NAMES = 4096;

function nameJson(name: string): string {
	const known = names.get(name);
	if (known !== undefined) return known;
	if (names.size >= MAX_NAMES) names.clear();
	const json = JSON.stringify(name);
	names.set(name, json);
	return json;
}

/** The keys in one order whatever the caller's, so that equal scopes are equal bytes. */
function scopeJson({ agent, session, run }: Scope): string {
	if (agent === undefined) return "{}";
	if (session === undefined) return `{"agent":${nameJson(agent)}}`;
	const above = `{"agent":${nameJson(agent)},"session":${nameJson(session)}`;
	return run === undefined ? `${above}}` : `${above},"run":${nameJson(run)}}`;
}

/** The version above ours that a line begins with. A newer format may seal its lines in another way; it is then all that can be said. */
function newerVersion(bytes: Buffer, start: number, end: number): number | undefined {
	const version = /^\{"v":([1-9]\d{0,5}),/.exec(bytes.toString("latin1", start, Math.min(start + 16, end)))?.[1];
	return version !== undefined && Number(version) > FORMAT_VERSION ? Number(version) : undefined;
}

/** The checksum that a line would have if it said our version: where it fits, the version is what was damaged. */
function asOurs(bytes: Buffer, start: number, body: number): number {
	return crc32(bytes.subarray(bytes.indexOf(",", start), body), crc32(`{"v":${FORMAT_VERSION}`));
}

type Fields<T> = { readonly [K in keyof T]?: unknown };

function isRecord(value: Fields<StoredRecord>): value is StoredRecord {
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

function recordOf({ seq, ts, kind, scope, data, dur, prev, crc }: StoredRecord): StoredRecord {
	return { seq, ts, kind, scope, data, dur, prev, crc };
}

function isHeader(value: Fields<SegmentHeader>): value is SegmentHeader {
	return (
		isId(value.log) &&
		isSeq(value.first) &&
		value.first > 0 &&
		typeof value.prev === "string" &&
		isSeq(value.epoch) &&
		typeof value.created === "number" &&
		(value.adopted === undefined || isId(value.adopted))
	);
}

/** 32 hex digits. */
const isId = (value: unknown): value is string => typeof value === "string" && /^[0-9a-f]{32}$/.test(value);

function isFooter(value: unknown): value is SegmentFooter {
	const { first, last, prev, epoch } = (value ?? {}) as Fields<SegmentFooter>;
	return isSeq(first) && isSeq(last) && typeof prev === "string" && isSeq(epoch);
}

function isBase(value: unknown): value is Base {
	const { log, first, adopted } = (value ?? {}) as Fields<Base>;
	return typeof log === "string" && isSeq(first) && first > 0 && (adopted === undefined || isId(adopted));
}

function isHead(value: unknown): value is Head {
	const { log, segment, seq, offset, sum, epoch } = (value ?? {}) as Fields<Head>;
	return (
		typeof log === "string" && isSeq(segment) && isSeq(seq) && isSeq(offset) && typeof sum === "string" && isSeq(epoch)
	);
}

export function isScope(value: unknown): value is Scope {
	if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
	for (const key in value) {
		if (key !== "agent" && key !== "session" && key !== "run") return false;
		if (typeof (value as Record<string, unknown>)[key] !== "string") return false;
	}
	return true;
}

export const isSeq = (value: unknown): value is Seq => Number.isSafeInteger(value) && (value as number) >= 0;
