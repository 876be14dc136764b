/** The moments of a chat: each row names the one that it goes to, and the last is before all of them. */
import type { Checkpoint } from "@reyn/runtime";
import { expect, test } from "vitest";
import { pickerOf } from "../../src/chat/dialogs.ts";
import { momentsOf } from "../../src/chat/moments.ts";
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
