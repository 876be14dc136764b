/** A line of the audit trail: made of a record, and parsed again. */
import type { Scope, Seq } from "@reyn/wal";
import { z } from "zod";

const VERSION = 1;

/** The longest line, in bytes: it is found again in the end of a file of which so much is read. A longer one loses its details. */
export const MAX_LINE_BYTES = 16 * 1024;

const name = z.string();

/** What each line has, whatever its kind adds. */
const lineSchema = z.looseObject({
	v: z.literal(VERSION),
	/** When the record was appended. */
	at: z.iso.datetime(),
	/** The seq of the record. */
	seq: z.int().positive(),
	kind: z.string(),
	what: z.string(),
	scope: z.object({ agent: name.exactOptional(), session: name.exactOptional(), run: name.exactOptional() }),
	/** The id of the log that has the record. */
	log: z.string(),
});

export type TrailLine = z.infer<typeof lineSchema>;

/** What a line says of its record. */
export interface TrailEntry {
	/** Milliseconds since 1970. */
	readonly ts: number;
	readonly seq: Seq;
	readonly scope: Scope;
	readonly log: string;
	readonly kind: string;
	readonly what: string;
}

/** The text of a line, with its end. @param more what its kind adds */
export function trailLine({ ts, seq, scope, log, kind, what }: TrailEntry, more: object = {}): string {
	const own = { v: VERSION, at: dateOf(ts).toISOString(), seq, kind, what, scope };
	// What is added stands behind, and replaces nothing.
	const line = `${escaped(JSON.stringify({ ...own, ...more, ...own, log }))}\n`;
	if (line.length * 3 <= MAX_LINE_BYTES || Buffer.byteLength(line) <= MAX_LINE_BYTES) return line;
	return `${escaped(JSON.stringify({ ...own, cut: true, log }))}\n`;
}

/** Undefined for anything but a whole line of a version that is known. */
export function parseTrailLine(text: string): TrailLine | undefined {
	try {
		return lineSchema.parse(JSON.parse(text));
	} catch {
		return undefined;
	}
}

/** The day of a time, as it is in the names of files: `2026-11-27`, in UTC. */
export const dayOf = (ts: number): string => dateOf(ts).toISOString().slice(0, 10);

/** A clock may say anything; the last moment that is written with a year of four digits is in 9999. */
const dateOf = (ts: number): Date => new Date(Math.min(Math.max(ts, 0), 253_402_300_799_999));

/** People read it with `cat` too: what acts on a terminal, or draws nothing, is escaped. The value stays the same. */
const escaped = (json: string): string =>
	/^[\x20-\x7e]*$/.test(json)
		? json
		: json.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (found) =>
				Array.from(found.split(""), (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`).join(""),
			);
