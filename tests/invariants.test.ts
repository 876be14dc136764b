/** docs/invariants.md keeps its word: what holds always is numbered, and each test that is named there exists and is run. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { brokenIn, hasTest, rowsIn } from "./named-tests.ts";
import { root } from "./workspace.ts";

const PAGE = "docs/invariants.md";

const page = readFileSync(join(root, PAGE), "utf8").replaceAll("\r\n", "\n");
const invariantsIn = (text: string) => rowsIn(text, String.raw`I-\d+`);
const broken = (text: string): readonly string[] => brokenIn(invariantsIn(text), PAGE);

test("each invariant is held by a test that exists", () => {
	expect(broken(page)).toEqual([]);
});

test("each has a number of its own from I-1 on, and none is said twice", () => {
	const all = invariantsIn(page);
	const numbers = all.map(({ id }) => Number(id.slice(2))).toSorted((a, b) => a - b);
	expect(numbers.length).toBeGreaterThan(0);
	expect(numbers).toEqual(all.map((_, i) => i + 1));
	expect(new Set(all.map(({ says }) => says)).size).toBe(all.length);
});

test.each([
	["a title that no test has", '"imports point down and siblings never meet"', '"imports point up"', "has no test"],
	["a file that is not there", "../tests/layers.test.ts", "../tests/walls.test.ts", "is not there"],
	["a part of a title", '"imports point down and siblings never meet"', '"imports point down"', "has no test"],
	[
		"a row without a test",
		'[layers](../tests/layers.test.ts) "imports point down and siblings never meet"',
		"layers",
		"names no test",
	],
	[
		"a test in a group that it is not in",
		'"imports point down and siblings never meet"',
		'"a › imports point down and siblings never meet"',
		"has no test",
	],
])("%s is reported", (_, is, planted, why) => {
	const row =
		'| I-1 | Imports point down. | [layers](../tests/layers.test.ts) "imports point down and siblings never meet" |\n';
	expect(broken(row)).toEqual([]);
	expect(broken(row.replace(is, planted))).toEqual([expect.stringContaining(why)]);
});

test("a title is that of a test or a group which is run, and not any text", () => {
	const source = `
test("a", () => {});
describe.each([[1]])("b", () => {
	test.each([
		["c", 1],
	])("d", () => {});
	test(\`e (\${n} times)\`, () => {});
});
test.skip("f", () => {});
test.skipIf(old)("g", () => {});
// test("h", () => {});
expect(x, "i").toBe("j");
test(
	"k",
	() => {},
);
`;
	const has = (...titles: readonly string[]): boolean => hasTest(source, titles);
	expect(["a", "b", "d", "e (…", "g", "k"].filter((title) => !has(title))).toEqual([]);
	expect(["c", "e", "f", "h", "i", "j", "()"].filter((title) => has(title))).toEqual([]);
	expect([has("b", "d"), has("d", "b"), has("b", "a")]).toEqual([true, false, false]);
});
