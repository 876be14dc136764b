/**
 * A record's line, read from where its parts stand. The encoder always puts them there, and the checksum says that it was
 * an encoder: of a sound line only `data` has to be parsed. What stands anywhere else is for `decodeLine`, which reads
 * every line that this reads, and to the same record.
 */
import { isUtf8 } from "node:buffer";
import { crc32 } from "node:zlib";
import type { Wants } from "../engine/engine.ts";
import {
	FORMAT_VERSION,
	hasAt,
	hexAt,
	isScope,
	isSeq,
	MAX_LINE_BYTES,
	type StoredRecord,
	TRAILER_BYTES,
	trailerAt,
} from "./codec.ts";
import type { Scope, Seq } from "./record.ts";

const FRONT = Buffer.from(`{"v":${FORMAT_VERSION},"seq":`);
const TS = Buffer.from(',"ts":');
const KIND = Buffer.from(',"kind":"');
const SCOPE = Buffer.from('","scope":{');
const DATA = Buffer.from('},"data":');
const DUR = Buffer.from(',"dur":');
const PREV = Buffer.from(',"prev":"');

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const BRACE = 0x7d;

/** Kinds and scopes are few, and each is made once; of more than this, again. */
const MAX_INTERNED = 4096;

/** A cursor: `read` sets the rest. */
export class RecordLine {
	seq: Seq = 0;
	dur: Seq = 0;
	/** The checksums as numbers: the one before, and its own. */
	prev = 0;
	crc = 0;
	#bytes: Buffer = Buffer.alloc(0);
	#ts = 0;
	#kindAt = 0;
	#kindEnd = 0;
	/** With its braces. */
	#scopeAt = 0;
	#scopeEnd = 0;
	#dataAt = 0;
	#dataEnd = 0;
	/** Where the trailer begins. */
	#body = 0;
	readonly #kinds = new Map<string, string>();
	readonly #scopes = new Map<string, Scope>();

	/** False for a line that is not sound, or no record, or written in another way. */
	read(bytes: Buffer, start: number, end: number): boolean {
		const body = end - TRAILER_BYTES;
		const prevAt = body - PREV.length - 9;
		if (prevAt <= start || end - start >= MAX_LINE_BYTES) return false;

		const seqAt = start + FRONT.length;
		const seqEnd = digitsEnd(bytes, seqAt);
		const tsAt = seqEnd + TS.length;
		const tsEnd = digitsEnd(bytes, tsAt);
		const kindAt = tsEnd + KIND.length;
		if (!hasAt(bytes, start, FRONT) || !hasAt(bytes, seqEnd, TS) || !hasAt(bytes, tsEnd, KIND)) return false;
		const kindEnd = stringEnd(bytes, kindAt, prevAt);
		if (kindEnd === -1 || !hasAt(bytes, kindEnd, SCOPE)) return false;
		const scopeAt = kindEnd + SCOPE.length - 1;
		const scopeEnd = flatObjectEnd(bytes, scopeAt, prevAt);
		if (scopeEnd === -1 || !hasAt(bytes, scopeEnd - 1, DATA)) return false;

		let durAt = prevAt;
		while (isDigit(bytes[durAt - 1])) durAt--;
		const dataAt = scopeEnd - 1 + DATA.length;
		const dataEnd = durAt - DUR.length;
		if (dataEnd <= dataAt || !hasAt(bytes, dataEnd, DUR)) return false;
		if (!hasAt(bytes, prevAt, PREV) || bytes[body - 1] !== QUOTE) return false;

		const seq = numberAt(bytes, seqAt, seqEnd);
		const ts = numberAt(bytes, tsAt, tsEnd);
		const dur = numberAt(bytes, durAt, prevAt);
		const prev = hexAt(bytes, body - 9);
		if (!isSeq(seq) || seq === 0 || !isSeq(ts) || !isSeq(dur) || prev === -1) return false;
		const crc = crc32(bytes.subarray(start, body));
		if (trailerAt(bytes, body) !== crc) return false;

		this.#bytes = bytes;
		this.seq = seq;
		this.#ts = ts;
		this.#kindAt = kindAt;
		this.#kindEnd = kindEnd;
		this.#scopeAt = scopeAt;
		this.#scopeEnd = scopeEnd;
		this.#dataAt = dataAt;
		this.#dataEnd = dataEnd;
		this.dur = dur;
		this.prev = prev;
		this.crc = crc;
		this.#body = body;
		return true;
	}

	/**
	 * What was read, as a record; undefined when a part of it is not what it has to be.
	 *
	 * @param wants whether the data is: if not, it is left out
	 * @param text the bytes as text, when all of them are ASCII: a part of one string costs less than a string for each part
	 */
	record(text: string | undefined, wants?: Wants): StoredRecord | undefined {
		if (text === undefined && !isUtf8(this.#bytes.subarray(this.#kindAt, this.#dataEnd))) return undefined;
		const scope = this.#scope(this.#part(text, this.#scopeAt, this.#scopeEnd));
		if (!scope) return undefined;
		const kind = this.#kind(this.#part(text, this.#kindAt, this.#kindEnd));
		let data: unknown;
		try {
			if (wants?.(kind, scope) !== false) data = JSON.parse(this.#part(text, this.#dataAt, this.#dataEnd));
		} catch {
			return undefined;
		}
		return {
			seq: this.seq,
			ts: this.#ts,
			kind,
			scope,
			data,
			dur: this.dur,
			prev: this.#part(text, this.#body - 9, this.#body - 1),
			crc: this.#part(text, this.#body + TRAILER_BYTES - 10, this.#body + TRAILER_BYTES - 2),
		};
	}

	#part(text: string | undefined, from: number, to: number): string {
		return text === undefined ? this.#bytes.toString("utf8", from, to) : text.substring(from, to);
	}

	#kind(name: string): string {
		const known = this.#kinds.get(name);
		if (known !== undefined) return known;
		// A copy: a part of a text would keep all of it in memory.
		const copy = this.#bytes.toString("utf8", this.#kindAt, this.#kindEnd);
		if (this.#kinds.size >= MAX_INTERNED) this.#kinds.clear();
		this.#kinds.set(copy, copy);
		return copy;
	}

	#scope(json: string): Scope | undefined {
		const known = this.#scopes.get(json);
		if (known) return known;
		const copy = this.#bytes.toString("utf8", this.#scopeAt, this.#scopeEnd);
		let scope: unknown;
		try {
			scope = JSON.parse(copy);
		} catch {
			return undefined;
		}
		if (!isScope(scope)) return undefined;
		if (this.#scopes.size >= MAX_INTERNED) this.#scopes.clear();
		this.#scopes.set(copy, Object.freeze(scope));
		return scope;
	}
}

const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= 0x30 && byte <= 0x39;

function digitsEnd(bytes: Buffer, at: number): number {
	let end = at;
	while (isDigit(bytes[end])) end++;
	return end;
}

/** NaN where there is no number, or a leading zero, which JSON does not know. */
function numberAt(bytes: Buffer, from: number, to: number): number {
	if (to === from || (bytes[from] === 0x30 && to > from + 1)) return Number.NaN;
	let value = 0;
	for (let i = from; i < to; i++) value = value * 10 + (bytes[i] as number) - 0x30;
	return value;
}

/** Where the string that begins at a place has its quote; -1 for one with escapes or control characters. */
function stringEnd(bytes: Buffer, at: number, limit: number): number {
	for (let i = at; i < limit; i++) {
		const byte = bytes[i] as number;
		if (byte === QUOTE) return i;
		if (byte === BACKSLASH || byte < 0x20) return -1;
	}
	return -1;
}

/** Behind the brace that closes an object of strings; -1 where there is none such. */
function flatObjectEnd(bytes: Buffer, at: number, limit: number): number {
	for (let i = at + 1; i < limit; i++) {
		const byte = bytes[i] as number;
		if (byte === BRACE) return i + 1;
		if (byte !== QUOTE) continue;
		i = stringEnd(bytes, i + 1, limit);
		if (i === -1) return -1;
	}
	return -1;
}
