/** The data of a record, as it is written and as it will be read: what could not be read must not be written. */
import { WalError } from "../errors.ts";
import { MAX_DEPTH } from "./codec.ts";
import { type AnyRecordKind, parseData } from "./record.ts";

/** The data as JSON, and as every reader will get it back. @throws WalError `WAL_INVALID_RECORD`, `WAL_TOO_LARGE` */
export function serialised(registered: AnyRecordKind, data: unknown): { json: string; data: unknown } {
	const { kind } = registered;
	const value = parseData(registered, data);
	const same = plainCopy(data, value, MAX_DEPTH);
	let json: string | undefined;
	try {
		json = JSON.stringify(value);
	} catch (cause) {
		throw new WalError(
			"WAL_INVALID_RECORD",
			`the data of "${kind}" is not JSON: ${(cause as Error).message}`,
			{ kind },
			{ cause },
		);
	}
	if (json === undefined)
		throw new WalError("WAL_INVALID_RECORD", `the data of "${kind}" is ${typeof value}, which JSON does not know`, {
			kind,
		});
	// A schema that took plain data as it is takes it again.
	if (same !== undefined) return { json, data: same };
	const parsed: unknown = JSON.parse(json);
	if (isDeeper(parsed, MAX_DEPTH))
		throw new WalError(
			"WAL_TOO_LARGE",
			`the data of "${kind}" is nested more than ${MAX_DEPTH} deep; flatten it, or record it as text`,
			{ kind },
		);
	const read = parseData(registered, parsed);
	if (!isSame(read, parsed) && JSON.stringify(read) !== json) {
		throw new WalError(
			"WAL_INVALID_RECORD",
			`the schema of "${kind}" changes its own output when it reads it back; give it one that does not`,
			{ kind },
		);
	}
	return { json, data: read };
}

function isDeeper(value: unknown, limit: number): boolean {
	if (typeof value !== "object" || value === null) return false;
	if (limit === 0) return true;
	// Parsed JSON has own properties alone.
	for (const key in value) if (isDeeper((value as Record<string, unknown>)[key], limit - 1)) return true;
	return false;
}

/**
 * A copy of data that is plain JSON and that its schema gave back as it was, so that it will come back from the log as it
 * is; undefined for any other, and for data that is nested deeper.
 */
function plainCopy(data: unknown, value: unknown, depth: number): unknown {
	switch (typeof value) {
		case "string":
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
