/** What callers without types, or in a hurry, do: each is told by name, and nothing is lost by it. */
import { inspect } from "node:util";
import { expect, test } from "vitest";
import { z } from "zod";
import { unhandled } from "../../../tests/kit/unhandled.ts";
import { delegate } from "../src/engine/delegate.ts";
import { defineRecord, memoryEngine, openWal } from "../src/index.ts";

const said = defineRecord("said", z.object({ text: z.string() }));
const any = (value: unknown): never => value as never;

test.each<[string, unknown[], string]>([
	["no directory", [undefined, { records: [said] }], "the first argument of openWal"],
	["an empty directory", ["", { records: [said] }], "the first argument of openWal"],
	["no options", [memoryEngine()], "`records` of openWal"],
	["no kinds", [memoryEngine(), {}], "`records` of openWal"],
	["kinds that are none", [memoryEngine(), { records: [z.object({})] }], "`records` of openWal"],
	["a realm without a name", [memoryEngine(), { records: [said], realm: "" }], "`realm` of openWal"],
	["a clock without a time", [memoryEngine(), { records: [said], clock: {} }], "`now()`"],
])("openWal with %s is WAL_OPTIONS", async (_, args, named) => {
	const opened = openWal(...(args as [never, never]));
	await expect(opened).rejects.toMatchObject({ code: "WAL_OPTIONS", message: expect.stringContaining(named) });
});

test.each<[string, unknown[]]>([
	["nothing", []],
	["null", [null]],
	["a text", ["hello"]],
	["a kind that is no draft", [said]],
	["a scope of null", [said({ text: "a" }), null]],
	["a scope that is a text", [said({ text: "a" }), "main"]],
	["a scope with something else in it", [said({ text: "a" }), { agent: "a", thread: "t" }]],
	["a scope with a gap", [said({ text: "a" }), { session: "s" }]],
])("append with %s is WAL_INVALID_RECORD, and takes no seq", async (_, args) => {
	await using wal = await openWal(memoryEngine(), { records: [said] });
	const { tip } = wal;
	expect(() => wal.append(...(args as [never, never]))).toThrow(
		expect.objectContaining({ code: "WAL_INVALID_RECORD" }),
	);
	expect(wal.tip).toBe(tip);
});

test("what an append gives shows its seq, and can be spread", async () => {
	await using wal = await openWal(memoryEngine(), { records: [said] });
	const appended = wal.append(said({ text: "a" }));
	expect({ ...appended }).toMatchObject({ seq: 2, record: { scope: {} } });
	expect(inspect(appended)).toContain("seq: 2");
});

test.each([
	["taken apart", (wal: Awaited<ReturnType<typeof openWal>>) => void wal.append(said({ text: "a" })).durable],
	["left alone", (wal: Awaited<ReturnType<typeof openWal>>) => void wal.append(said({ text: "a" }))],
])("a write that fails is no unhandled rejection: %s", async (_, append) => {
	const heard = unhandled();
	const engine = memoryEngine();
	const broken = {
		...engine,
		log: (realm: string) => delegate(engine.log(realm), { append: () => Promise.reject(any(new Error("EIO"))) }),
	};
	const wal = await openWal(broken, { records: [said] });
	append(wal);
	await new Promise((resolve) => setTimeout(resolve, 10));
	expect(() => wal.append(said({ text: "b" }))).toThrow(expect.objectContaining({ code: "WAL_POISONED" }));
	await expect(wal.close()).rejects.toMatchObject({ code: "WAL_POISONED" });
	expect(heard).toEqual([]);
});
