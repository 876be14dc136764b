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
	const prototype = Object.getPrototypeOf(value);
	if (prototype !== Object.prototype && prototype !== null)
		throw notJson(path, prototype.constructor?.name ?? "an object of a class");
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
