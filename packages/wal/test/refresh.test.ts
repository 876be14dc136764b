/** A reader that looks again: its tip moves over what is durable by then, and over nothing else. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { defineRecord, fileEngine, type LogEngine, memoryEngine, openWal, type Wal } from "../src/index.ts";
import { sqliteEngine } from "../src/sqlite/index.ts";
import { MemoryDisk } from "../src/testing/memory-disk.ts";

const said = defineRecord("said", z.object({ text: z.string() }));
const open = (engine: LogEngine, readOnly: boolean | "as recovered" = false): Promise<Wal> =>
	openWal(engine, { records: [said], readOnly });

const engines: Readonly<Record<string, () => Promise<LogEngine>>> = {
	"a directory": async () => {
		const directory = await mkdtemp(join(tmpdir(), "reyn-refresh-"));
		onTestFinished(() => rm(directory, { recursive: true }));
		return fileEngine(directory, { segmentBytes: 2048 });
	},
	memory: async () => memoryEngine(),
	"a database": async () => {
		const directory = await mkdtemp(join(tmpdir(), "reyn-refresh-"));
		const engine = sqliteEngine(join(directory, "log.db"));
		onTestFinished(async () => {
			await engine.close();
			await rm(directory, { recursive: true });
		});
		return engine;
	},
};

describe.each(Object.entries(engines))("over %s", (_, engineOf) => {
	test("each record comes once, in order, in the step in which the tip moves past it", async () => {
		const engine = await engineOf();
		await using writer = await open(engine);
		await using reader = await open(engine, true);
		const seen: number[] = [];
		const look = (): Promise<number> =>
			reader.refresh((records) => {
				expect(records.at(-1)?.seq).toBe(reader.tip);
				for (const record of records) {
					expect(said.is(record)).toBe(true);
					seen.push(record.seq);
				}
			});
		const { tip } = reader;
		for (let i = 0; i < 60; i++) {
			const { durable, seq } = writer.append(said({ text: `${i}` }));
			if (i % 7 > 0) continue;
			await durable;
			// Two looks at once see nothing twice.
			expect(Math.max(...(await Promise.all([look(), look()])))).toBe(seq);
			expect(reader.durableTip).toBe(seq);
		}
		await writer.ready();
		for await (const _record of writer.read());
		expect(await look()).toBe(writer.tip);
		expect(await look()).toBe(writer.tip);
		expect(seen).toEqual(Array.from({ length: writer.tip - tip }, (_, i) => tip + 1 + i));
		const read: number[] = [];
		for await (const { seq } of reader.read({ after: tip })) read.push(seq);
		expect(read).toEqual(seen);
	});

	test("a writer has nothing to catch up with", async () => {
		await using writer = await open(await engineOf());
		const { seq } = writer.append(said({ text: "one" }));
		expect(await writer.refresh(() => expect.unreachable("the writer has it already"))).toBe(seq);
	});

	test("records that were taken away before they were seen are missed, and those before the tip are gone", async () => {
		const engine = await engineOf();
		await using writer = await open(engine);
		for (let i = 0; i < 40; i++) await writer.append(said({ text: `${i}` })).durable;
		await using reader = await open(engine, true);
		await using late = await open(engine, true);
		for (let i = 0; i < 40; i++) await writer.append(said({ text: `${i}` })).durable;
		await reader.refresh();
		await writer.truncate({ before: 70 });
		expect(writer.first).toBeGreaterThan(50);
		expect(await reader.refresh()).toBe(writer.tip);
		expect(reader.first).toBe(writer.first);
		await expect(late.refresh()).rejects.toMatchObject({ code: "WAL_TRUNCATED" });
	});
});

test("a look as recovered is of one moment, and a log that is closed is looked at no more", async () => {
	const engine = memoryEngine();
	await using writer = await open(engine);
	await writer.append(said({ text: "one" })).durable;
	await using recovered = await open(engine, "as recovered");
	await expect(recovered.refresh()).rejects.toMatchObject({ code: "WAL_READ_ONLY" });
	const reader = await open(engine, true);
	await reader.close();
	await expect(reader.refresh()).rejects.toMatchObject({ code: "WAL_CLOSED" });
});

test("a log that is another one now, or ends before what was durable, is refused, and the tip stays", async () => {
	const disk = new MemoryDisk();
	const writer = await open(fileEngine("/log", { disk }));
	await writer.append(said({ text: "one" })).durable;
	await writer.close();
	await using reader = await open(fileEngine("/log", { disk }), true);
	const { tip } = reader;
	disk.remove("/log/wal.jsonl");
	await expect(reader.refresh()).rejects.toMatchObject({ code: "WAL_CORRUPT" });
	for (const name of disk.list("/log")) disk.remove(join("/log", name));
	await (await open(fileEngine("/log", { disk }))).close();
	await expect(reader.refresh()).rejects.toMatchObject({
		code: "WAL_CORRUPT",
		message: expect.stringContaining("in its place"),
	});
	expect(reader.tip).toBe(tip);
});
