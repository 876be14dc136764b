/** docs/invariants.md keeps its word: what holds always is numbered, and each test that is named there exists and is run. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { root } from "./workspace.ts";

const PAGE = "docs/invariants.md";

/** A row of a table: `| I-7 | what holds | [file](path) "title"; [file](path) "title" |`. */
interface Invariant {
	readonly id: string;
	readonly says: string;
	readonly tests: readonly { readonly file: string; readonly titles: readonly string[] }[];
}

const page = readFileSync(join(root, PAGE), "utf8").replaceAll("\r\n", "\n");

test("each invariant is held by a test that exists", () => {
	expect(brokenIn(page)).toEqual([]);
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
	expect(brokenIn(row)).toEqual([]);
	expect(brokenIn(row.replace(is, planted))).toEqual([expect.stringContaining(why)]);
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

function brokenIn(text: string): string[] {
	return invariantsIn(text).flatMap(({ id, tests }) => {
		if (tests.length === 0) return [`${id} names no test`];
		return tests.flatMap(({ file, titles }) => {
			const path = join(root, dirname(PAGE), file);
			if (!existsSync(path)) return [`${id}: ${file} is not there`];
			const source = readFileSync(path, "utf8");
			return hasTest(source, titles) ? [] : [`${id}: ${file} has no test "${titles.join(" › ")}"`];
		});
	});
}

function invariantsIn(text: string): Invariant[] {
	return [...text.matchAll(/^\| (I-\d+) \| (.+?) \| (.+) \|$/gm)].map(([, id = "", says = "", held = ""]) => ({
		id,
		says,
		tests: [...held.matchAll(/\]\(([^)]+)\) "([^"]+)"/g)].map(([, file = "", title = ""]) => ({
			file,
			titles: title.split(" › "),
		})),
	}));
}

/** Has it a test of this title, behind the groups before it? An ellipsis at the end of a title stands for the rest of it. */
function hasTest(source: string, titles: readonly string[]): boolean {
	let rest = source.replace(/^\s*(?:\/\/|\/?\*).*$/gm, "");
	for (const title of titles) {
		const text = title.replace(/…$/, "").replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
		// `test("…`, and `test.each(…)("…`.
		const call = String.raw`(?:^\s*(?:test|it|describe)|\))\(\s*(["'\`])${text}`;
		const found = new RegExp(title.endsWith("…") ? call : String.raw`${call}\1,`, "m").exec(rest);
		if (!found) return false;
		rest = rest.slice(found.index + found[0].length);
	}
	return true;
}
