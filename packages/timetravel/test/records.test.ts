/** Which records of moves are valid. */
import { type Draft, memoryEngine, openWal } from "@reyn/wal";
import { expect, test } from "vitest";
import { checkpoint, reset, resetSettled, timetravelRecords } from "../src/index.ts";
import { isMeta } from "../src/records.ts";

test.each([
	[reset.kind, true],
	[resetSettled.kind, true],
	[checkpoint.kind, true],
	["wal_epoch", true],
	["wal_of_a_later_day", true],
	["rewind_note", false],
	["reset_by_hand", false],
	["wallet", false],
])("%s is meta: %s", (kind, expected) => {
	expect(isMeta(kind)).toBe(expected);
});

const whole = { target: 0, mode: "both", actor: "carol" };

test.each<[what: string, draft: Draft]>([
	["a target before genesis", reset({ ...whole, target: -1 })],
	["a target between two seqs", reset({ ...whole, target: 1.5 })],
	["a count below zero", reset({ ...whole, counts: { code: -1 } })],
	["a checkpoint without a kind", checkpoint({ kind: "", title: "" })],
	["a checkpoint of a kind that acts on a terminal", checkpoint({ kind: "turn\u001b[2J", title: "" })],
	["a checkpoint of a kind with capitals", checkpoint({ kind: "Lunch", title: "" })],
	["a checkpoint of a kind that is a text", checkpoint({ kind: "a".repeat(65), title: "" })],
	["the settling of no reset", resetSettled({ reset: 0 })],
])("%s is not written", async (_, draft) => {
	await using wal = await openWal(memoryEngine(), { records: timetravelRecords });
	const { tip } = wal;
	expect(() => wal.append(draft, {})).toThrowError(expect.objectContaining({ code: "WAL_INVALID_RECORD" }));
	expect(wal.tip).toBe(tip);
});

test("a reset is read back as it was written, with a drop list or without", async () => {
	await using wal = await openWal(memoryEngine(), { records: timetravelRecords });
	const resets = [whole, { ...whole, drop: [] }, { ...whole, drop: ["said"], counts: { conversation: 2 } }];
	for (const each of resets) wal.append(reset(each), {});
	const read: unknown[] = [];
	for await (const record of wal.read({ kinds: { only: [reset.kind] } })) read.push(record.data);
	expect(read).toEqual(resets);
});

test("whoever cuts a checkpoint names its kind", async () => {
	await using wal = await openWal(memoryEngine(), { records: timetravelRecords });
	for (const kind of ["turn", "task_2", "a".repeat(64)]) wal.append(checkpoint({ kind, title: "" }), {});
	const read: unknown[] = [];
	for await (const record of wal.read({ kinds: { only: [checkpoint.kind] } })) read.push(record.data);
	expect(read).toMatchObject([{ kind: "turn" }, { kind: "task_2" }, { kind: "a".repeat(64) }]);
});
