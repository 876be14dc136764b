/** docs/checks.md keeps its word: each check of the terminal has its row, and each test that is named there exists and is run. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { brokenIn, type Row, rowsIn } from "./named-tests.ts";
import { root } from "./workspace.ts";

const PAGE = "docs/checks.md";
/** Those that concern the terminal. */
const CHECKS = ["1", ...Array.from({ length: 26 }, (_, at) => String(at + 3)), "35"];

const rows = rowsIn(readFileSync(join(root, PAGE), "utf8").replaceAll("\r\n", "\n"), String.raw`\d+`);
/** Of which it says why. */
const isNotYet = ({ held }: Row): boolean => /^not yet: .+/.test(held);

test("each check has a row, in order", () => {
	expect(rows.map(({ id }) => id)).toEqual(CHECKS);
});

test("each is held by a test that exists, or says why it is not yet", () => {
	const done = rows.filter((row) => !isNotYet(row));
	expect(brokenIn(done, PAGE)).toEqual([]);
	expect(rows.filter(isNotYet).map(({ id }) => id)).toEqual([]);
});
