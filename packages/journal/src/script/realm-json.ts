/** Runs inside the realm of a script: makes JSON text of the values that a script hands out. */
import type { Fail } from "./bootstrap.ts";

/**
 * The text of this function runs in the realm, so it may use nothing from outside itself; and since a script may have
 * changed every prototype there, it calls nothing that it did not keep before.
 *
 * @returns `json(value, path)`, which reads each property once and throws `SCRIPT_NOT_JSON` with the path of what is
 * not the same after `JSON.stringify` and `JSON.parse`; keys whose value is `undefined` are left out
 */
export function realmJson(fail: Fail): (value: unknown, path: string) => string {
	interface Above {
		readonly value: object;
		readonly above: Above | undefined;
	}

	const { stringify } = JSON;
	const { isArray } = Array;
	const { isFinite: isFiniteNumber } = Number;
	const { keys, getPrototypeOf, prototype: objectPrototype } = Object;

	return (value, path) => write(value, path, undefined);

	function write(value: unknown, path: string, above: Above | undefined): string {
		switch (typeof value) {
			case "string":
			case "boolean":
				return stringify(value);
			case "number":
				if (!isFiniteNumber(value)) throw notJson(path, `${value}`);
				return stringify(value);
			case "object":
				break;
			default:
				throw notJson(path, typeof value);
		}
		if (value === null) return "null";
		for (let at = above; at; at = at.above) if (at.value === value) throw notJson(path, "a cycle");
		const here = { value, above };
		return isArray(value) ? writeArray(value, path, here) : writeObject(value as Record<string, unknown>, path, here);
	}

	function writeArray(items: readonly unknown[], path: string, above: Above): string {
		let text = "";
		const { length } = items;
		for (let i = 0; i < length; i++) text += `${i > 0 ? "," : ""}${write(items[i], `${path}[${i}]`, above)}`;
		return `[${text}]`;
	}

	function writeObject(value: Readonly<Record<string, unknown>>, path: string, above: Above): string {
		const prototype = getPrototypeOf(value);
		if (prototype !== objectPrototype && prototype !== null)
			throw notJson(path, `${prototype.constructor?.name ?? "an object of a class"}`);
		let text = "";
		const names = keys(value);
		for (let i = 0; i < names.length; i++) {
			const name = names[i] as string;
			const field = value[name];
			if (field !== undefined) text += `${text && ","}${stringify(name)}:${write(field, `${path}.${name}`, above)}`;
		}
		return `{${text}}`;
	}

	function notJson(path: string, found: string): Error {
		return fail("SCRIPT_NOT_JSON", `expected JSON; found ${found} at ${path}`, { path });
	}
}
