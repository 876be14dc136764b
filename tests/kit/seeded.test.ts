/** A seed tells the same for good: a seed that is written down somewhere stays what it was. */
import { expect, test } from "vitest";
import { seeded } from "./seeded.ts";

const first = (seed: number, n = 5): number[] => Array.from({ length: n }, seeded(seed));

test("a seed gives the same numbers, today and on every day", () => {
	expect(first(1)).toEqual(first(1));
	expect(first(1).map((n) => Math.floor(n * 2 ** 32))).toEqual([
		2693262067, 11749833, 2265367787, 4213581821, 4159151403,
	]);
});

test("seeds side by side have nothing in common, from the first number on", () => {
	const firsts = Array.from({ length: 100 }, (_, seed) => first(seed, 1)[0] as number);
	expect(new Set(firsts.map((n) => Math.floor(n * 10))).size).toBe(10);
	expect(firsts.every((n) => n >= 0 && n < 1)).toBe(true);
});

test("each number below another comes, each of a list, and a chance as often as it says", () => {
	const random = seeded(5);
	const drawn = Array.from({ length: 1000 }, () => random.below(7));
	expect([...new Set(drawn)].sort()).toEqual([0, 1, 2, 3, 4, 5, 6]);
	expect(new Set(Array.from({ length: 100 }, () => random.pick(["a", "b", "c"])))).toEqual(new Set(["a", "b", "c"]));
	const happened = Array.from({ length: 1000 }, () => random.chance(0.2)).filter(Boolean).length;
	expect(happened).toBeGreaterThan(150);
	expect(happened).toBeLessThan(250);
	expect([random.chance(0), random.chance(1)]).toEqual([false, true]);
});
