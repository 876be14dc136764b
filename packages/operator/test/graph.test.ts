/** The history as a tree: which lane each branch stands in. */
import { expect, test } from "vitest";
import { drawGraph, type GraphBranch, type GraphRow } from "../src/lines/graph.ts";

const row = (seq: number, branch: number, mark = "●"): GraphRow => ({ seq, branch, mark, text: `#${seq}` });
const branch = (id: number, parent: number | undefined, forkedAt: number): GraphBranch => ({ id, parent, forkedAt });

test("one line of history is one lane, newest first", () => {
	expect(drawGraph([row(1, 0), row(3, 0), row(2, 0)], [branch(0, undefined, 0)])).toEqual(["●  #3", "●  #2", "●  #1"]);
});

test("a branch runs into its parent just above the record that it forked off at", () => {
	const rows = [row(1, 0), row(2, 0), row(3, 0, "○"), row(4, 4, "◆"), row(5, 4, "@")];
	expect(drawGraph(rows, [branch(0, undefined, 0), branch(4, 0, 2)])).toEqual([
		"@  #5",
		"◆  #4",
		"│ ○  #3",
		"├─╯",
		"●  #2",
		"●  #1",
	]);
});

test("a branch that forks off at the end of its parent goes on in the same lane", () => {
	expect(drawGraph([row(1, 0), row(2, 0), row(3, 3), row(4, 3)], [branch(0, undefined, 0), branch(3, 0, 2)])).toEqual([
		"●  #4",
		"●  #3",
		"●  #2",
		"●  #1",
	]);
});

test("branches of branches each end where they began", () => {
	const rows = [row(1, 0), row(2, 0, "○"), row(3, 3), row(4, 3, "○"), row(5, 5), row(6, 5)];
	const lines = drawGraph(rows, [branch(0, undefined, 0), branch(3, 0, 1), branch(5, 3, 3)]);
	expect(lines).toEqual(["●  #6", "●  #5", "│ ○  #4", "├─╯", "●  #3", "│ ○  #2", "├─╯", "●  #1"]);
});

test("two branches of one record stand side by side", () => {
	const rows = [row(1, 0), row(2, 0, "○"), row(3, 3, "○"), row(4, 4)];
	const lines = drawGraph(rows, [branch(0, undefined, 0), branch(3, 0, 1), branch(4, 0, 1)]);
	expect(lines.filter((line) => line.includes("#"))).toEqual(["●  #4", "│ ○  #3", "│ │ ○  #2", "●  #1"]);
});
