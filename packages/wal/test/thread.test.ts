/** The threads that write logs: one is kept for the next log, and none whose log went wrong. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { afterAll, expect, test } from "vitest";
import { z } from "zod";
import { defineRecord, openWal, type Wal } from "../src/index.ts";

const noted = defineRecord("noted", z.object({ n: z.int() }));
const open = (directory: string): Promise<Wal> => openWal(directory, { records: [noted] });

/** How many threads the process began meanwhile: they are numbered. */
async function begun(meanwhile: () => Promise<void>): Promise<number> {
	const next = async (): Promise<number> => {
		const worker = new Worker("", { eval: true });
		const id = worker.threadId;
		await worker.terminate();
		return id;
	};
	const before = await next();
	await meanwhile();
	return (await next()) - before - 1;
}

const all = mkdtempSync(join(tmpdir(), "reyn-thread-"));
afterAll(() => rmSync(all, { recursive: true }));
const newRoot = (): string => mkdtempSync(join(all, "root-"));

async function useOne(directory: string): Promise<void> {
	const wal = await open(directory);
	await wal.append(noted({ n: 1 })).durable;
	await wal.close();
}

test("a log that is opened after another was closed is written by the same thread, into its own files", async () => {
	const root = newRoot();
	await useOne(join(root, "a"));
	expect(
		await begun(async () => {
			await useOne(join(root, "b"));
			await useOne(join(root, "a"));
		}),
	).toBe(0);
	for (const [name, count] of [
		["a", 4],
		["b", 2],
	] as const) {
		const wal = await open(join(root, name));
		expect(wal.tip, name).toBe(count + 1);
		await wal.close();
	}
});

test("logs that are open at once have a thread each, and one of them is kept", async () => {
	const root = newRoot();
	await useOne(join(root, "a"));
	expect(
		await begun(async () => {
			const logs = await Promise.all(["a", "b", "c"].map((name) => open(join(root, name))));
			await Promise.all(logs.map((wal) => wal.append(noted({ n: 1 })).durable));
			await Promise.all(logs.map((wal) => wal.close()));
		}),
	).toBe(2);
	expect(await begun(() => useOne(join(root, "a")))).toBe(0);
});

test("a log whose path is relative stays where it is when the process goes elsewhere", async () => {
	const [root, cwd] = [newRoot(), process.cwd()];
	try {
		process.chdir(root);
		const wal = await open("a");
		process.chdir(cwd);
		await wal.append(noted({ n: 1 })).durable;
		const seen: string[] = [];
		for await (const { kind } of wal.read()) seen.push(kind);
		expect(seen).toEqual(["wal_epoch", "noted"]);
		await wal.close();
	} finally {
		process.chdir(cwd);
	}
	const again = await open(join(root, "a"));
	expect(again.tip).toBe(3);
	await again.close();
});

test("a thread that finds its log locked is kept", async () => {
	const root = newRoot();
	const holder = await open(join(root, "a"));
	await useOne(join(root, "b"));
	expect(
		await begun(async () => {
			for (let i = 0; i < 3; i++) await expect(open(join(root, "a"))).rejects.toMatchObject({ code: "WAL_LOCKED" });
		}),
	).toBe(0);
	await holder.close();
	await useOne(join(root, "a"));
});

test("a thread that could not open its log holds nothing of it, and is not kept", async () => {
	const root = newRoot();
	await useOne(join(root, "a"));
	const bad = join(root, "bad");
	mkdirSync(bad);
	writeFileSync(join(bad, "wal.jsonl"), "no log\nat all\n");
	expect(
		await begun(async () => {
			await expect(open(bad)).rejects.toMatchObject({ code: "WAL_CORRUPT" });
			await useOne(join(root, "a"));
		}),
	).toBe(1);
	rmSync(join(bad, "wal.jsonl"));
	await useOne(bad);
});
