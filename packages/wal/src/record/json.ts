/** JSON as records need it: in one form for equal values, and checked before it is written. */
import { WalError } from "../errors.ts";

/**
 * JSON with the keys of every object in one order, so that equal values are equal text. A key whose value is
 * `undefined` is left out, as JSON does.
 *
 * @throws WalError `WAL_NOT_JSON` naming the field: a cycle, a function, a BigInt …
 */
export function canonicalJson(value: unknown): string {
	return write(value, []);
}

/**
 * Is this value the same after `JSON.stringify` and `JSON.parse`, but for keys whose value is `undefined`?
 *
 * @throws WalError `WAL_NOT_JSON` naming the field: a cycle, a function, a `Date`, `undefined` in an array …; `WAL_TOO_LARGE`, nested deeper
 */
export function assertJson(value: unknown, depth = Number.POSITIVE_INFINITY): void {
	const lack = lackOf(value, depth);
	if (!lack) return;
	const path = `$${lack.path}`;
	if (lack.found !== undefined) throw notJson(path, lack.found);
	throw new WalError("WAL_TOO_LARGE", `expected at most ${depth} levels; found more at ${path}`, { path });
}

/** Where a value is not what it is after `JSON.stringify` and `JSON.parse`, but for keys whose value is `undefined`. */
export interface Lack {
	/** `.rows[3].when`; empty: the value itself. */
	readonly path: string;
	/** `NaN`, `Date`, `function`, `a cycle` …; undefined: it is nested too deep. */
	readonly found: string | undefined;
}

/** What JSON lacks of a value, and where; undefined: nothing. @throws what a getter of it throws */
export function lackOf(value: unknown, depth = Number.POSITIVE_INFINITY): Lack | undefined {
	const fault = faultOf(value, [], depth);
	return fault && { path: fault.way.reduceRight((path, part) => path + part, ""), found: fault.found };
}

/** What is no JSON, and the way to it, its last part first. */
interface Fault {
	/** Undefined: it is nested too deep. */
	readonly found: string | undefined;
	readonly way: string[];
}

function faultOf(value: unknown, above: object[], depth: number): Fault | undefined {
	if (typeof value !== "object") {
		if (typeof value === "string" || typeof value === "boolean" || Number.isFinite(value)) return undefined;
		return { found: typeof value === "number" ? String(value) : typeof value, way: [] };
	}
	if (value === null) return undefined;
	if (above.includes(value)) return { found: "a cycle", way: [] };
	if (above.length >= depth) return { found: undefined, way: [] };
	const isList = Array.isArray(value);
	if (!isList && !isPlain(value)) return { found: nameOf(value), way: [] };
	if (typeof (value as { toJSON?: unknown }).toJSON === "function") return { found: "toJSON", way: [] };
	above.push(value);
	const keys = isList ? value.keys() : Object.keys(value);
	for (const key of keys) {
		const field = (value as Readonly<Record<number | string, unknown>>)[key];
		if (field === undefined && !isList) continue;
		const fault = faultOf(field, above, depth);
		if (!fault) continue;
		fault.way.push(isList ? `[${key}]` : `.${key}`);
		return fault;
	}
	above.pop();
	return undefined;
}

/** Of another realm too: there is nothing above its `Object.prototype` either. */
function isPlain(value: object): boolean {
	const prototype = Object.getPrototypeOf(value);
	return prototype === Object.prototype || prototype === null || Object.getPrototypeOf(prototype) === null;
}

const nameOf = (value: object): string => Object.getPrototypeOf(value).constructor?.name ?? "an object of a class";

/** What leads to a value: each object above it, and the key that was taken there. */
type Way = (object | string)[];

function write(value: unknown, way: Way): string {
	switch (typeof value) {
		case "string":
		case "boolean":
			return JSON.stringify(value);
		case "number":
			if (!Number.isFinite(value)) throw notJson(pathOf(way), String(value));
			return JSON.stringify(value);
		case "object":
			break;
		default:
			throw notJson(pathOf(way), typeof value);
	}
	if (value === null) return "null";
	if (way.includes(value)) throw notJson(pathOf(way), "a cycle");
	return Array.isArray(value) ? writeArray(value, way) : writeObject(value, way);
}

function writeArray(items: readonly unknown[], way: Way): string {
	let text = "";
	for (let i = 0; i < items.length; i++) {
		way.push(items, `[${i}]`);
		text += (i === 0 ? "" : ",") + write(items[i] ?? null, way);
		way.length -= 2;
	}
	return `[${text}]`;
}

function writeObject(value: object, way: Way): string {
	if (!isPlain(value)) throw notJson(pathOf(way), nameOf(value));
	let text = "";
	for (const key of Object.keys(value).sort()) {
		const field = (value as Record<string, unknown>)[key];
		if (field === undefined) continue;
		way.push(value, key);
		text += `${text === "" ? "" : ","}${JSON.stringify(key)}:${write(field, way)}`;
		way.length -= 2;
	}
	return `{${text}}`;
}

const pathOf = (way: Way): string =>
	way
		.filter((part) => typeof part === "string")
		.reduce<string>((path, part) => path + (part.startsWith("[") ? part : `.${part}`), "$");

function notJson(path: string, found: string): WalError {
	return new WalError("WAL_NOT_JSON", `expected JSON; found ${found} at ${path}`, {
		path,
	});
}
