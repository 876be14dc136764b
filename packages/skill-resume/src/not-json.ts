/** A run keeps JSON: what is none is refused with its field, so that a process that goes on sees what the first one saw. Pure. */
import { reasonOf } from "@reyn/journal/internal";
import { lackOf } from "@reyn/wal/internal";

/** Levels of nesting: a record holds 64, and some are around the value. */
const MAX_LEVELS = 60;

/** What to give instead, by what was found. */
const mends: Readonly<Record<string, string>> = {
	"-Infinity": "give null, or a text",
	BigInt: "give String(it)",
	Buffer: "give it as base64",
	Date: "give its .toISOString()",
	Infinity: "give null, or a text",
	Map: "give Object.fromEntries(it)",
	NaN: "give null, or a text",
	Promise: "await it",
	Set: "give [...it]",
	Uint8Array: "give it as base64",
	undefined: "give null, or leave it out",
};

/**
 * Why a value cannot be kept: `output.rows[3].when: a Date is not JSON; give its .toISOString()`. Nothing at all may be kept, fields
 * that are `undefined` are left out, -0 is 0, and half a character is U+FFFD.
 *
 * @param name what the value is called
 * @returns undefined: it can be
 */
export function notJson(value: unknown, name: string): { readonly path: string; readonly why: string } | undefined {
	if (value === undefined) return undefined;
	try {
		const lack = lackOf(value, MAX_LEVELS);
		if (!lack) return undefined;
		const path = `${name}${lack.path}`;
		if (lack.found !== undefined) return { path, why: `${path}: ${whatIs(lack.found)}` };
		const short = path.length > 100 ? `${path.slice(0, 100).toWellFormed()}…` : path;
		return { path: short, why: `${short}: it is nested more than ${MAX_LEVELS} deep; flatten it, or give it as text` };
	} catch (error) {
		// A getter or a Proxy of whoever gave it.
		return { path: name, why: `${name}: it throws when it is read (${reasonOf(error).message})` };
	}
}

function whatIs(found: string): string {
	if (found === "toJSON") return "an object with toJSON is not JSON; give what that gives";
	const name = found === "bigint" ? "BigInt" : found;
	const isNamed = /^(an? |undefined$|NaN$|-?Infinity$)/.test(name);
	return `${isNamed ? name : `a ${name}`} is not JSON; ${Object.hasOwn(mends, name) ? mends[name] : "give a plain value"}`;
}
