/** The moments of a chat: each row names the one that it goes to, and the last is before all of them. */
import { givenFor, type History, type ReadVerb, verbs } from "@reyn/operator";
import type { Checkpoint } from "@reyn/runtime";
import { expect, test } from "vitest";
import { pickerOf } from "../../src/chat/dialogs.ts";
import { momentsOf, treeOf } from "../../src/chat/moments.ts";
import { slash } from "../../src/suggest.ts";
import { Rig } from "./rig.ts";

const turn = (seq: number, title: string): Checkpoint =>
	({ seq, kind: "turn", title, ts: 0, active: true }) as unknown as Checkpoint;

test("the newest comes first, a label stands behind its moment, and the beginning is last", () => {
	const { list, seqOf } = momentsOf([turn(4, "first"), turn(9, "second")], new Map([[4, "good"]]), 7_200_000);
	const rows = Array.from({ length: list.count }, (_, at) => list.row(at));
	expect(rows).toEqual([
		"#9  turn  second  2 h",
		"#4  turn  first  2 h  good",
		"#0  the beginning, before anything was asked",
	]);
	expect(rows.map((_, at) => seqOf(at))).toEqual([9, 4, 0]);
	expect([0, 1, 2].map((at) => list.text(at))[1]).toBe("#4 turn first good");
});

test("it is chosen by its end, and found by its name", () => {
	for (const keys of ["G\r", "/beginning\r"]) {
		const { list, seqOf } = momentsOf([turn(4, "first"), turn(9, "second")], new Map(), 0);
		const rig = new Rig();
		rig.tell({ kind: "asked", dialog: pickerOf({ title: "Go back to", none: "(now)", ...list }) });
		for (const key of keys) rig.type(key);
		const [answered] = rig.effects;
		expect(answered?.kind === "answer" && seqOf(answered.answer as number)).toBe(0);
	}
});

test("a row of the tree for each entry of all lines, and none for what only joins them", async () => {
	const entry = (seq: number, branch: string, active: boolean) =>
		({ seq, ts: 0, type: "checkpoint", title: `turn  ├ t${seq}`, branch, active }) as const;
	const history: History = {
		tip: 9,
		retainedFrom: 0,
		entries: [entry(8, "b7", true), entry(6, "b5", false), entry(4, "main", false), entry(2, "main", true)],
		branches: [
			{ id: 0, name: "main", forkedAt: 0, last: 4, active: false },
			{ id: 5, name: "b5", parent: "main", forkedAt: 3, last: 6, active: false },
			{ id: 7, name: "b7", parent: "main", forkedAt: 2, last: 9, active: true },
		],
	};
	const log = verbs.find(({ name }) => name === "log") as ReadVerb;
	const drawn = log.lines(history, slash, givenFor(log, { graph: true }));
	expect(drawn.join("\n")).toMatch(/^[│ ]*├─╯/m);
	const { list, seqOf } = treeOf(history, drawn);
	expect(list.count).toBe(4);
	for (let at = 0; at < list.count; at++)
		expect(list.row(at)).toMatch(new RegExp(`^[│ ]*[●○][│ ]*  #${seqOf(at)}  turn`));
	const rig = new Rig();
	rig.tell({ kind: "asked", dialog: pickerOf({ title: "Check out", none: "(now)", ...list }) });
	rig.type("/t6");
	rig.type("\r");
	const [answered] = rig.effects;
	expect(answered?.kind === "answer" && seqOf(answered.answer as number)).toBe(6);
});
