/** What there is before a move and after it, side by side, and one below the other where that is too wide. */
import { expect, test } from "vitest";
import { sidesLines } from "../src/index.ts";
import { sidesOf } from "../src/lines/sides.ts";

const none = { all: 0, unfinished: 0 };
const holding = { sessions: 1, messages: 16, plans: { all: 2, unfinished: 1 }, runs: none, scripts: none };
const before = { ...holding, others: none, questions: 1 };
const after = { ...before, messages: 4, plans: { all: 1, unfinished: 0 }, questions: 0 };
const radius = { before, after } as Parameters<typeof sidesOf>[0];
const files = { to: 3, theirs: [], uncovered: [] };

test("each row says how it is and how it would be; what there is none of is left out", () => {
	expect(sidesLines(sidesOf(radius, undefined), 80)).toEqual([
		"                 now               then",
		"messages         16                4",
		"sessions         1                 1",
		"plans            2, 1 unfinished   1",
		"open questions   1                 0",
		"files            as they are       as they are",
	]);
});

test("where two columns do not fit, one stands below the other", () => {
	expect(sidesLines(sidesOf(radius, undefined), 40)).toEqual([
		"now",
		"  messages       16",
		"  sessions       1",
		"  plans          2, 1 unfinished",
		"  open questions 1",
		"  files          as they are",
		"then",
		"  messages       4",
		"  sessions       1",
		"  plans          1",
		"  open questions 0",
		"  files          as they are",
	]);
});

test("of files that go along it is said how many do, and how many do not", () => {
	const changes = [{ path: "a", change: "made" as const }];
	const kept = ["b", "c"].map((path) => ({ path, why: "changed" }));
	const rows = (found: { changes: typeof changes; kept: typeof kept }) =>
		sidesOf(radius, { ...files, ...found }).at(-1)?.after;
	expect(rows({ changes, kept: [] })).toBe("1 goes back");
	expect(rows({ changes: [], kept })).toBe("0 go back, 2 stay");
});

test("without anything to say there is no table", () => {
	expect(sidesLines([], 80)).toEqual([]);
});
