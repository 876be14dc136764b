/** What callers without types, or in a hurry, do: each is told by name, and nothing is lost by it. */
import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { unhandled } from "../../../tests/kit/unhandled.ts";
import { delegate } from "../src/engine/delegate.ts";
import { workerAt } from "../src/file/thread.ts";
import { defineRecord, fileEngine, memoryEngine, openWal, type Wal, type WalRecord } from "../src/index.ts";
import { sqliteEngine } from "../src/sqlite/index.ts";
import { MemoryDisk } from "../src/testing/index.ts";
import { verifyLog } from "../src/tools.ts";

const said = defineRecord("said", z.object({ text: z.string() }));
const any = (value: unknown): never => value as never;
const capped = (caps: object) => ({ ...memoryEngine(), caps: { ...memoryEngine().caps, ...caps } });

test.each<[string, unknown[], string]>([
	["no directory", [undefined, { records: [said] }], "the first argument of openWal"],
	["an empty directory", ["", { records: [said] }], "the first argument of openWal"],
	["no options", [memoryEngine()], "`records` of openWal"],
	["no kinds", [memoryEngine(), {}], "`records` of openWal"],
	["kinds that are none", [memoryEngine(), { records: [z.object({})] }], "`records` of openWal"],
	["a realm without a name", [memoryEngine(), { records: [said], realm: "" }], "`realm` of openWal"],
	["a realm of half a character", [memoryEngine(), { records: [said], realm: "a\ud800" }], "`realm` of openWal"],
	["a clock without a time", [memoryEngine(), { records: [said], clock: {} }], "`now()`"],
	["a path that no system takes", ["a\0b", { records: [said] }], "the first argument of openWal"],
	["readOnly in small letters", [memoryEngine(), { records: [said], readonly: true }], "did you mean `readOnly`?"],
	["an option of the files", [memoryEngine(), { records: [said], segmentBytes: 5 }], "`segmentBytes` is no option"],
	["readOnly that is a word", [memoryEngine(), { records: [said], readOnly: "recovered" }], "`readOnly` of openWal"],
	["readOnly that is a number", [memoryEngine(), { records: [said], readOnly: 1 }], "`readOnly` of openWal"],
	["steal that is a word", [memoryEngine(), { records: [said], steal: "false" }], "`steal` of openWal"],
	["proven that is a number", [memoryEngine(), { records: [said], proven: 5 }], "`proven` of openWal"],
	["redact that is a word", [memoryEngine(), { records: [said], redact: "x" }], "`redact` of openWal"],
	["onWait that is a word", [memoryEngine(), { records: [said], onWait: "x" }], "`onWait` of openWal"],
	["an engine without caps", [{ ...memoryEngine(), caps: undefined }, { records: [said] }], "`caps.maxBatchRecords`"],
	["batches of no record", [capped({ maxBatchRecords: 0 }), { records: [said] }], "`caps.maxBatchRecords`"],
	["batches of no byte", [capped({ maxBatchBytes: Number.NaN }), { records: [said] }], "`caps.maxBatchBytes`"],
	["lines of no byte", [capped({ maxLineBytes: -1 }), { records: [said] }], "`caps.maxLineBytes`"],
	["a lease of no time", [capped({ leaseMs: 0 }), { records: [said] }], "`caps.leaseMs`"],
	["answers after no time", [capped({ answerMs: "1" }), { records: [said] }], "`caps.answerMs`"],
	["answers that outlast a lease", [capped({ leaseMs: 10, answerMs: 10 }), { records: [said] }], "`caps.answerMs`"],
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
	["a scope that is a list", [said({ text: "a" }), []]],
	["a scope without a name", [said({ text: "a" }), { agent: "" }]],
	["a scope of a number", [said({ text: "a" }), { agent: 5 }]],
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

test.each<[string, () => unknown, string]>([
	["fileEngine of nothing", () => fileEngine(any(undefined)), "the first argument of fileEngine"],
	["a typo of fileEngine", () => fileEngine("/a", any({ segmentbytes: 1 })), "did you mean `segmentBytes`?"],
	["segments of no byte", () => fileEngine("/a", { segmentBytes: 0 }), "`segmentBytes` of fileEngine"],
	["segments of no number", () => fileEngine("/a", { segmentBytes: Number.NaN }), "`segmentBytes` of fileEngine"],
	["space beyond all disks", () => fileEngine("/a", { allocateBytes: 1e15 }), "`allocateBytes` of fileEngine"],
	["a network that is a word", () => fileEngine("/a", any({ allowNetwork: "false" })), "`allowNetwork` of fileEngine"],
	["an owner that is none", () => fileEngine("/a", { adopt: "zz" }), "`adopt` of fileEngine"],
	["options of memoryEngine", () => memoryEngine({ clock: 1 }), "`clock` is no option of memoryEngine"],
	["sqliteEngine of nothing", () => sqliteEngine(any(undefined)), "the first argument of sqliteEngine"],
	["a typo of sqliteEngine", () => sqliteEngine("/a", any({ clok: 1 })), "did you mean `clock`?"],
])("%s is WAL_OPTIONS", (_, run, message) => {
	expect(run).toThrow(expect.objectContaining({ code: "WAL_OPTIONS", message: expect.stringContaining(message) }));
});

test("verifyLog of nothing is WAL_OPTIONS", async () => {
	await expect(verifyLog(any(undefined))).rejects.toMatchObject({ code: "WAL_OPTIONS" });
});

test.each<[string, unknown, unknown]>([
	["no name", undefined, said.schema],
	["a number", 5, said.schema],
	["an empty name", "", said.schema],
	["half a character", "a\ud800", said.schema],
	["a name of the log's own", "wal_mine", said.schema],
	["no schema", "a", undefined],
	["a schema that is none", "a", {}],
])("defineRecord with %s is WAL_INVALID_RECORD", (_, kind, schema) => {
	expect(() => defineRecord(any(kind), any(schema))).toThrow(expect.objectContaining({ code: "WAL_INVALID_RECORD" }));
});

test.each<[string, unknown]>([
	["nothing", undefined],
	["issues that are none", { issues: 1 }],
])("a schema that gives %s is WAL_INVALID_RECORD", async (_, result) => {
	const odd = defineRecord("odd", { "~standard": { version: 1, vendor: "test", validate: () => any(result) } });
	await using wal = await openWal(memoryEngine(), { records: [odd] });
	expect(() => wal.append(odd(any(1)))).toThrow(expect.objectContaining({ code: "WAL_INVALID_RECORD" }));
});

test.each<[string, unknown]>([
	["nothing", undefined],
	["a promise", Promise.resolve()],
])("redact that gives %s is WAL_INVALID_RECORD", async (_, given) => {
	await using wal = await openWal(memoryEngine(), { records: [said], redact: () => any(given) });
	expect(() => wal.append(said({ text: "a" }))).toThrow(
		expect.objectContaining({ code: "WAL_INVALID_RECORD", message: expect.stringContaining("`redact` of openWal") }),
	);
});

/** A log with a record of each of two agents. */
async function twoAgents(): Promise<Wal> {
	const wal = await openWal(memoryEngine(), { records: [said] });
	wal.append(said({ text: "A" }), { agent: "a" });
	await wal.append(said({ text: "B" }), { agent: "b" }).durable;
	return wal;
}

async function all(records: AsyncIterable<WalRecord>): Promise<WalRecord[]> {
	const found: WalRecord[] = [];
	for await (const record of records) found.push(record);
	return found;
}

describe.each(["read", "follow"] as const)("%s with a filter that is none gives nothing", (name) => {
	test.each<[string, unknown, string]>([
		["a scope with a typo", { scope: { agnet: "a" } }, "WAL_INVALID_RECORD"],
		["a scope that is a text", { scope: "a" }, "WAL_INVALID_RECORD"],
		["a scope that is a list", { scope: [] }, "WAL_INVALID_RECORD"],
		["a scope of null", { scope: null }, "WAL_INVALID_RECORD"],
		["a scope with a gap", { scope: { session: "a" } }, "WAL_INVALID_RECORD"],
		["a scope of a number", { scope: { agent: 5 } }, "WAL_INVALID_RECORD"],
		["kinds that are a list", { kinds: ["x"] }, "WAL_OPTIONS"],
		["kinds with a typo", { kinds: { olny: ["x"] } }, "WAL_OPTIONS"],
		["kinds of both sorts", { kinds: { only: ["said"], except: ["said"] } }, "WAL_OPTIONS"],
		["kinds that are a text", { kinds: { only: "said" } }, "WAL_OPTIONS"],
		["an option with a typo", { aftr: 3 }, "WAL_OPTIONS"],
		["an option that is none", { from: 3 }, "WAL_OPTIONS"],
		["null", null, "WAL_OPTIONS"],
		["a seq that is a text", { after: "1" }, "WAL_OUT_OF_RANGE"],
		["dataOf that is a text", { dataOf: "said" }, "WAL_OPTIONS"],
		["a signal that is none", { signal: {} }, "WAL_OPTIONS"],
	])("%s", async (_, options, code) => {
		await using wal = await twoAgents();
		await expect((async () => all(wal[name](any(options))))()).rejects.toMatchObject({ code });
	});
});

test("a seq that is a text is told from the number, and a range has a direction", async () => {
	await using wal = await twoAgents();
	await expect(all(wal.read({ after: any("1") }))).rejects.toThrow("after is '1'");
	await expect(all(wal.read({ after: 3, through: 2 }))).rejects.toMatchObject({ code: "WAL_OUT_OF_RANGE" });
	expect(await all(wal.read({ after: 2, through: 2 }))).toEqual([]);
});

test("truncate without a seq, and ready after the end, say so", async () => {
	const wal = await twoAgents();
	await expect(wal.truncate(any(undefined))).rejects.toMatchObject({ code: "WAL_OPTIONS" });
	await expect(wal.truncate(any({ befor: 1 }))).rejects.toThrow("did you mean `before`?");
	await wal.close();
	await expect(wal.ready()).rejects.toMatchObject({ code: "WAL_CLOSED" });
});

test("a file that is no log is called so, and not a loss", async () => {
	for (const text of ["", "\n", "hello\n", '{"a":1}\n']) {
		const disk = new MemoryDisk();
		disk.makeDirectory("/log");
		const file = disk.open("/log/wal.jsonl", "create");
		file.write(Buffer.from(text), 0);
		file.close();
		const error = await openWal(fileEngine("/log", { disk }), { records: [said] }).catch((error) => error);
		expect(error).toMatchObject({
			code: "WAL_CORRUPT",
			message: expect.stringContaining("expected the header of a log"),
		});
		expect(error.message).not.toContain("acknowledged");
	}
});

test("a bundle that cannot say where it lies is told what to do", () => {
	expect(() => workerAt(undefined)).toThrow(
		expect.objectContaining({ code: "WAL_IO", detail: { path: undefined, code: "NO_THREAD" } }),
	);
	expect(workerAt("file:///a/b.js").href).toBe("file:///a/worker.js");
});
