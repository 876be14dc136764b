/** The key of a page: H9 and H10 of docs/security.md. */
import { expect, test } from "vitest";
import { Keys } from "../src/server/keys.ts";

const MINUTE = 60_000;

function keysAt(start = 0) {
	let now = start;
	const keys = new Keys({ now: () => now });
	const later = (ms: number): void => {
		now += ms;
	};
	return { keys, later };
}

test("the code is changed into the key once", () => {
	const { keys } = keysAt();
	const token = keys.redeem(keys.code);
	expect(token).toMatch(/^[0-9a-f]{64}$/);
	expect(token).not.toBe(keys.code);
	expect(keys.redeem(keys.code)).toBeUndefined();
	expect(keys.isHeldBy([`Bearer ${token}`])).toBe(true);
});

test("another page has a code of its own, once, and the same key; one that waited counts no longer", () => {
	const { keys, later } = keysAt();
	const second = keys.another();
	expect(keys.redeem(keys.code)).toBeUndefined();
	const token = keys.redeem(second);
	expect(token).toMatch(/^[0-9a-f]{64}$/);
	expect(keys.redeem(second)).toBeUndefined();
	later(MINUTE + 1);
	const third = keys.another();
	for (let i = 0; i < 4; i++) expect(keys.redeem(second)).toBeUndefined();
	expect(keys.redeem(third)).toBe(token);
});

test("it waits for a minute, by the clock", () => {
	const { keys, later } = keysAt(5);
	later(MINUTE);
	const other = keysAt(5);
	other.later(MINUTE + 1);
	expect(keys.redeem(keys.code)).toBeDefined();
	expect(other.keys.redeem(other.keys.code)).toBeUndefined();
});

test("five wrong codes close it; four do not", () => {
	for (const wrong of [4, 5]) {
		const { keys } = keysAt();
		for (let i = 0; i < wrong; i++) expect(keys.redeem(`${keys.code.slice(1)}x`)).toBeUndefined();
		expect(keys.redeem(keys.code) !== undefined).toBe(wrong === 4);
	}
});

test.each([
	["none", () => []],
	["two", (token: string) => [`Bearer ${token}`, `Bearer ${token}`]],
	["another scheme", (token: string) => [`Basic ${token}`]],
	["no scheme", (token: string) => [token]],
	["the code", (_: string, code: string) => [`Bearer ${code}`]],
	["one that is shorter", (token: string) => [`Bearer ${token.slice(1)}`]],
	["nothing", () => ["Bearer "]],
])("is not held by a request with %s", (_, headers) => {
	const { keys } = keysAt();
	const { code } = keys;
	const token = keys.redeem(code) as string;
	expect(keys.isHeldBy(headers(token, code))).toBe(false);
});
