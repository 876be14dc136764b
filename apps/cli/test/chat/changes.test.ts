/** A difference in the chat: red for what went, green for what came, and the lines of a text that has changed. */
import { verbs } from "@reyn/operator";
import type { StateDiff } from "@reyn/runtime";
import { expect, test } from "vitest";
import { HOSTILE, raw } from "../../../../tests/kit/hostile.ts";
import { changeLines } from "../../src/chat/changes.ts";
import { drawn, type Line } from "../../src/print.ts";
import { slash } from "../../src/suggest.ts";

const verb = verbs.find(({ name }) => name === "diff");
const linesOf = (diff: StateDiff): readonly string[] =>
	verb?.access === "read" ? verb.lines({ ...diff, files: [], uncovered: [] }, slash, { stat: false }) : [];
const of = (projections: StateDiff["projections"]): StateDiff => ({
	from: 2,
	to: 9,
	scope: { agent: "default", session: "main" },
	projections,
});

/** With the names of colours. */
const named = (line: Line): string =>
	typeof line === "string" ? line : "colour" in line ? `${line.colour}:${line.text}` : line.map(named).join("");
const shown = async (projections: StateDiff["projections"]): Promise<readonly string[]> =>
	(await changeLines(of(projections), linesOf)).map(named);

const HEAD = "bold:#2 → #9 of default/main";
const lines = (count: number, other: (at: number) => string = String): string =>
	Array.from({ length: count }, (_, at) => other(at)).join("\n");

test("what went is red, what came is green, and the rest is as the command line says it", async () => {
	expect(
		await shown({
			talk: [
				{ kind: "spliced", path: ["items"], at: 1, before: ["a"], after: ["b"] },
				{ kind: "changed", path: ["state"], before: 1, after: 2 },
			],
			work: [],
		}),
	).toEqual([
		HEAD,
		"talk",
		"cyan:  ~ items[1]: 1 taken away, 1 added",
		'red:    - "a"',
		'green:    + "b"',
		"cyan:  ~ state: 1 → 2",
	]);
	expect(await shown({ talk: [] })).toEqual([HEAD, "nothing differs"]);
});

test("of a text of many lines those are shown that have changed, and three around them", async () => {
	const before = lines(20);
	const after = lines(20, (at) => (at === 9 ? "nine" : String(at)));
	expect(await shown({ plans: [{ kind: "changed", path: ["p2", "result"], before, after }] })).toEqual([
		HEAD,
		"plans",
		"cyan:  ~ p2.result",
		"cyan:    @@ -7,7 +7,7 @@",
		"     6",
		"     7",
		"     8",
		"red:    -9",
		"green:    +nine",
		"     10",
		"     11",
		"     12",
	]);
});

test("a long one is cut, one that is too different is counted, and nothing of a text acts on the terminal", async () => {
	const path = ["a"];
	const long = await shown({
		x: [{ kind: "changed", path, before: lines(500), after: lines(500, (at) => `x${at}`) }],
	});
	expect(long).toHaveLength(3 + 200 + 1);
	expect(long.at(-1)).toBe("    … (801 more lines)");
	const other = await shown({
		x: [{ kind: "changed", path, before: lines(800), after: lines(900, (at) => `x${at}`) }],
	});
	expect(other.at(-1)).toBe("    too different: 800 lines before, 900 after");
	const hostile = await changeLines(
		of({ x: [{ kind: "changed", path: [HOSTILE], before: `a\n${HOSTILE}`, after: HOSTILE }] }),
		linesOf,
	);
	for (const line of hostile) expect(raw(drawn(line))).toEqual([]);
});
