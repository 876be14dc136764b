import { WalError } from "./errors.ts";

/**
 * JSON with the keys of every object in one order, so that equal values are equal text. A key whose value is
 * `undefined` is left out, as JSON does.
 *
 * @throws WalError `WAL_NOT_JSON` naming the field: a cycle, a function, a BigInt …
 */
export function canonicalJson(value: unknown): string {
	return write(value, "$", new Set());
}

/**
 * Is this value the same after `JSON.stringify` and `JSON.parse`, but for keys whose value is `undefined`?
 *
 * @throws WalError `WAL_NOT_JSON` naming the field: a cycle, a function, a BigInt, `undefined` in an array …
 */
export function assertJson(value: unknown): void {
	visit(value, "$", new Set());
}

function visit(value: unknown, path: string, above: Set<object>): void {
	if (typeof value !== "object") {
		if (typeof value === "string" || typeof value === "boolean" || Number.isFinite(value)) return;
		throw notJson(path, typeof value === "number" ? String(value) : typeof value);
	}
	if (value === null) return;
	if (above.has(value)) throw notJson(path, "a cycle");
	above.add(value);
	if (Array.isArray(value)) for (let i = 0; i < value.length; i++) visit(value[i], `${path}[${i}]`, above);
	else {
		assertPlain(value, path);
		for (const [key, field] of Object.entries(value)) if (field !== undefined) visit(field, `${path}.${key}`, above);
	}
	above.delete(value);
}

function assertPlain(value: object, path: string): void {
	const prototype = Object.getPrototypeOf(value);
	if (prototype !== Object.prototype && prototype !== null)
		throw notJson(path, prototype.constructor?.name ?? "an object of a class");
}

function write(value: unknown, path: string, above: Set<object>): string {
	switch (typeof value) {
		case "string":
		case "boolean":
			return JSON.stringify(value);
		case "number":
			if (!Number.isFinite(value)) throw notJson(path, String(value));
			return JSON.stringify(value);
		case "object":
			break;
		default:
			throw notJson(path, typeof value);
	}
	if (value === null) return "null";
	if (above.has(value)) throw notJson(path, "a cycle");
	above.add(value);
	const text = Array.isArray(value) ? writeArray(value, path, above) : writeObject(value, path, above);
	above.delete(value);
	return text;
}

function writeArray(items: readonly unknown[], path: string, above: Set<object>): string {
	return `[${items.map((item, i) => write(item ?? null, `${path}[${i}]`, above)).join(",")}]`;
}

function writeObject(value: object, path: string, above: Set<object>): string {
	assertPlain(value, path);
	const fields = Object.entries(value)
		.filter(([, field]) => field !== undefined)
		.sort(([a], [b]) => (a < b ? -1 : 1))
		.map(([key, field]) => `${JSON.stringify(key)}:${write(field, `${path}.${key}`, above)}`);
	return `{${fields.join(",")}}`;
}

function notJson(path: string, found: string): WalError {
	return new WalError("WAL_NOT_JSON", `expected JSON; found ${found} at ${path}`, {
		path,
	});
}
