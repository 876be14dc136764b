/** The data of a record, as it is written and as it will be read: what could not be read must not be written. */
import { codeOf, WalError } from "../errors.ts";
import { MAX_DEPTH } from "./codec.ts";
import { assertJson } from "./json.ts";
import { type AnyRecordKind, parseData } from "./record.ts";

/**
 * The data as JSON, and as every reader will get it back: as it is, but without keys whose value is `undefined`, with 0 for -0, and
 * with U+FFFD for half a character, so that every reader of JSON takes it.
 *
 * @throws WalError `WAL_INVALID_RECORD` naming the field, `WAL_TOO_LARGE`
 */
export function serialised(kind: AnyRecordKind, data: unknown, maxBytes: number): { json: string; data: unknown } {
	const value = parseData(kind, data);
	const [same, written] = jsonOf(kind.kind, data, value, maxBytes);
	const json = written.includes("\\ud") ? wellFormed(kind.kind, written) : written;
	// A schema that took plain data as it is takes it again.
	if (same !== undefined && json === written) return { json, data: same };
	const parsed: unknown = JSON.parse(json);
	const read = parseData(kind, parsed);
	if (!isSame(read, parsed) && JSON.stringify(read) !== json)
		throw refused(
			kind.kind,
			`the schema of "${kind.kind}" changes its own output when it reads it back; give it one that does not`,
		);
	return { json, data: read };
}

/** A copy of data that is as it will come back, where it is plain, and the JSON. */
function jsonOf(kind: string, data: unknown, value: unknown, maxBytes: number): [unknown, string] {
	try {
		room = maxBytes;
		const same = plainCopy(data, value, MAX_DEPTH);
		if (same === undefined) assertKept(kind, value);
		const json = JSON.stringify(value);
		// Nothing is shorter as UTF-8.
		if (json.length > maxBytes) throw new TooLong();
		return [same, json];
	} catch (error) {
		if (error instanceof TooLong) throw tooLarge(kind, maxBytes);
		if (error instanceof WalError) throw error;
		// A getter of the caller's may throw anything.
		const why = error instanceof Error ? error.message : String(error);
		throw refused(kind, `the data of "${kind}" is not JSON: ${why}`, {}, { cause: error });
	}
}

/** Only of data that is not plain. */
function assertKept(kind: string, value: unknown): void {
	try {
		assertJson(value, MAX_DEPTH);
	} catch (error) {
		if (codeOf(error) === "WAL_TOO_LARGE")
			throw new WalError(
				"WAL_TOO_LARGE",
				`the data of "${kind}" is nested more than ${MAX_DEPTH} deep; flatten it, or record it as text`,
				{ kind },
			);
		if (!(error instanceof WalError) || error.code !== "WAL_NOT_JSON") throw error;
		const text = `the data of "${kind}" would not come back as it is: ${error.message}. Give it as text or plain values`;
		throw refused(kind, text, error.detail);
	}
}

const refused = (kind: string, text: string, detail = {}, options?: ErrorOptions): WalError =>
	new WalError("WAL_INVALID_RECORD", text, { kind, ...detail }, options);

/** @param bytes undefined: nobody has counted them */
export const tooLarge = (kind: string, maxBytes: number, bytes?: number): WalError =>
	new WalError(
		"WAL_TOO_LARGE",
		`"${kind}" would be ${bytes ?? `more than ${maxBytes}`} bytes; a record may have ${maxBytes}. Store the payload in a file and record its hash`,
		{ kind },
	);

/** `JSON.stringify` writes half a character as an escape, which strict readers refuse. */
function wellFormed(kind: string, json: string): string {
	const whole = json.replace(/\\(?:ud[89a-f]..|.)/g, (escaped) => (escaped.length > 2 ? "\ufffd" : escaped));
	// Two keys may have become one.
	if (JSON.stringify(JSON.parse(whole)).length < whole.length)
		throw refused(kind, `the data of "${kind}" has keys that are one without their half characters; give them others`);
	return whole;
}

/** How many characters still fit, of the data that is looked at now: what is far too large is not serialised first. */
let room = 0;

class TooLong extends Error {}

function take(chars: number): void {
	room -= chars;
	if (room < 0) throw new TooLong();
}

/**
 * A copy of data that is plain JSON and that its schema gave back as it was, so that it will come back from the log as it
 * is; undefined for any other, and for data that is nested deeper.
 */
function plainCopy(data: unknown, value: unknown, depth: number): unknown {
	switch (typeof value) {
		case "string":
			take(value.length);
			return value === data ? value : undefined;
		case "boolean":
			return value === data ? value : undefined;
		case "number":
			return value === data && Number.isFinite(value) && !Object.is(value, -0) ? value : undefined;
		case "object":
			break;
		default:
			return undefined;
	}
	if (value === null) return data === null ? null : undefined;
	if (typeof data !== "object" || data === null || depth === 0) return undefined;
	return Array.isArray(value) ? copyOfArray(data, value, depth) : copyOfObject(data, value, depth);
}

function copyOfArray(data: object, value: readonly unknown[], depth: number): unknown {
	if (!Array.isArray(data) || data.length !== value.length || "toJSON" in value) return undefined;
	take(value.length);
	const copy: unknown[] = [];
	for (let i = 0; i < value.length; i++) {
		const part = plainCopy(data[i], value[i], depth - 1);
		if (part === undefined) return undefined;
		copy.push(part);
	}
	return copy;
}

function copyOfObject(data: object, value: object, depth: number): unknown {
	if (Object.getPrototypeOf(value) !== Object.prototype || Array.isArray(data) || "toJSON" in value) return undefined;
	const keys = Object.keys(value);
	if (keys.length !== Object.keys(data).length) return undefined;
	take(keys.length * 5);
	const copy: Record<string, unknown> = {};
	for (const key of keys) {
		if (key === "__proto__") return undefined;
		const part = plainCopy((data as Fields)[key], (value as Fields)[key], depth - 1);
		if (part === undefined) return undefined;
		copy[key] = part;
	}
	return copy;
}

/** Are two values the same JSON, keys in the same order too? What is no plain value may be all the same. */
function isSame(a: unknown, b: unknown): boolean {
	if (a === b) return true;
	if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
	if (Array.isArray(a) !== Array.isArray(b)) return false;
	const keys = Object.keys(a);
	const others = Object.keys(b);
	return (
		keys.length === others.length &&
		keys.every((key, i) => key === others[i] && isSame((a as Fields)[key], (b as Fields)[key]))
	);
}

type Fields = Readonly<Record<string, unknown>>;
