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
 * @throws WalError `WAL_NOT_JSON` naming the field: a cycle, a function, a BigInt, `undefined` in an array …
 */
export function assertJson(value: unknown): void {
	visit(value, []);
}

/** What leads to a value: each object above it, and the key that was taken there. */
type Way = (object | string)[];

function visit(value: unknown, way: Way): void {
	if (typeof value !== "object") {
		if (typeof value === "string" || typeof value === "boolean" || Number.isFinite(value)) return;
		throw notJson(pathOf(way), typeof value === "number" ? String(value) : typeof value);
	}
	if (value === null) return;
	if (way.includes(value)) throw notJson(pathOf(way), "a cycle");
	const isList = Array.isArray(value);
	if (!isList && !isPlain(value)) throw notJson(pathOf(way), nameOf(value));
	for (const [key, field] of isList ? value.entries() : Object.entries(value)) {
		if (field === undefined && !isList) continue;
		way.push(value, isList ? `[${key}]` : String(key));
		visit(field, way);
		way.length -= 2;
	}
}

function isPlain(value: object): boolean {
	const prototype = Object.getPrototypeOf(value);
	return prototype === Object.prototype || prototype === null;
}

const nameOf = (value: object): string => Object.getPrototypeOf(value).constructor?.name ?? "an object of a class";

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
