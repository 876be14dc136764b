import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineRecord, memoryEngine, openWal, type Seq, type Wal } from "@reyn/wal";
import fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import {
	capture,
	defineProjection,
	fileSnapshots,
	memorySnapshots,
	restore,
	type Sources,
	straightPath,
	View,
} from "../src/index.ts";

const put = defineRecord("put", z.object({ key: z.string(), value: z.number() }));
const noise = defineRecord("noise", z.object({}));

const table = defineProjection({
	name: "table",
	version: 1,
	schema: z.record(z.string(), z.number()),
	init: () => ({}) as Record<string, number>,
	handle: (on) => [on(put, (state, { key, value }) => ({ ...state, [key]: value }))],
});

const main = { agent: "default", session: "main" };

let directory: string;
let wal: Wal;
beforeEach(async () => {
	directory = await mkdtemp(join(tmpdir(), "reyn-snapshot-"));
	wal = await openWal(memoryEngine(), { records: [put, noise] });
});
afterEach(async () => {
	await wal.close();
	await rm(directory, { recursive: true, force: true });
});

const sources = (more: Partial<Sources> = {}): Sources => ({
	wal,
	snapshots: memorySnapshots(),
	projections: [table],
	...more,
});

async function fill(entries: readonly { key: string; value: number }[]): Promise<Seq[]> {
	const seqs = entries.map((entry) => wal.append(put(entry), main).seq);
	await wal.append(noise({}), main).durable;
	return seqs;
}

/** Captures the state at `seq` as a checkpoint there would. */
async function captureAt(from: Sources, seq: Seq): Promise<void> {
	const view = await restore({ ...from, snapshots: memorySnapshots() }, straightPath(seq, main));
	for await (const record of wal.read({ after: seq - 1, through: seq })) await capture(from, view, record);
}

test("the state at any seq, from any set of snapshots, is the full fold up to it", async () => {
	await fc.assert(
		fc.asyncProperty(
			fc.array(fc.record({ key: fc.constantFrom("a", "b", "c"), value: fc.nat(9) }), { minLength: 1, maxLength: 12 }),
			fc.array(fc.nat(14), { maxLength: 4 }),
			async (entries, captures) => {
				await using own = await openWal(memoryEngine(), { records: [put, noise] });
				wal = own;
				await fill(entries);
				const from = sources();
				for (const seq of captures) if (seq > 0 && seq <= own.tip) await captureAt(from, seq);
				for (let seq = 0; seq <= own.tip; seq++) {
					const full = await restore(sources(), straightPath(seq, main));
					const based = await restore(from, straightPath(seq, main));
					expect(based.get(table)).toEqual(full.get(table));
					expect(based.seq).toBe(seq);
				}
			},
		),
		{ numRuns: 60 },
	);
});

test("records of another scope are not folded", async () => {
	wal.append(put({ key: "a", value: 1 }), main);
	wal.append(put({ key: "a", value: 2 }), { agent: "default", session: "other" });
	wal.append(put({ key: "b", value: 3 }), { ...main, run: "p1" });
	const view = await restore(sources(), straightPath(wal.tip, main));
	expect(view.get(table)).toEqual({ a: 1, b: 3 });
});

test("a rotten snapshot is set aside and the next older one is used", async () => {
	const [, second, third] = await fill([
		{ key: "a", value: 1 },
		{ key: "a", value: 2 },
		{ key: "a", value: 3 },
	]);
	const from = sources({ snapshots: fileSnapshots(directory) });
	await captureAt(from, second as Seq);
	await captureAt(from, third as Seq);
	const folder = join(directory, "default", "main");
	const newest = join(folder, `${String(third).padStart(20, "0")}.json`);
	await writeFile(newest, (await readFile(newest, "utf8")).replace('"a":3', '"a":9'));
	expect((await restore(from, straightPath(wal.tip, main))).get(table)).toEqual({ a: 3 });
	expect((await readdir(folder)).sort()).toEqual([
		`${String(second).padStart(20, "0")}.json`,
		`${String(third).padStart(20, "0")}.json.broken`,
	]);
});

test("a snapshot of another log, or of another life of its seq, is not used", async () => {
	const [first] = await fill([{ key: "a", value: 1 }]);
	const from = sources();
	await captureAt(from, first as Seq);
	await using other = await openWal(memoryEngine(), { records: [put, noise] });
	other.append(put({ key: "a", value: 42 }), main);
	await other.append(noise({}), main).durable;
	expect((await restore({ ...from, wal: other }, straightPath(other.tip, main))).get(table)).toEqual({ a: 42 });
});

test("an older version is migrated; without a migration the log is folded instead; a newer one is refused", async () => {
	const [first] = await fill([{ key: "a", value: 1 }]);
	const from = sources();
	await captureAt(from, first as Seq);
	const doubled = defineProjection({
		name: "table",
		version: 2,
		schema: z.record(z.string(), z.number()),
		init: () => ({}) as Record<string, number>,
		handle: (on) => [on(put, (state, { key, value }) => ({ ...state, [key]: value * 2 }))],
		migrate: (state) =>
			Object.fromEntries(Object.entries(state as Record<string, number>).map(([key, value]) => [key, value * 2])),
	});
	const at = straightPath(wal.tip, main);
	expect((await restore({ ...from, projections: [doubled] }, at)).get(doubled)).toEqual({ a: 2 });
	const without = {
		...doubled,
		migrate: () => {
			throw new Error("none");
		},
	};
	expect((await restore({ ...from, projections: [without] }, at)).get(without)).toEqual({ a: 2 });

	await captureAt({ ...from, projections: [doubled] }, first as Seq);
	await expect(restore(from, at)).rejects.toMatchObject({ code: "SNAPSHOT_NEWER_FORMAT" });
});

test("a snapshot never gets ahead of the durable log", async () => {
	const { record, durable } = wal.append(put({ key: "a", value: 1 }), main);
	const view = View.empty(main, [table]).apply(record);
	await expect(capture(sources(), view, record)).rejects.toThrow(/not durable yet/);
	await durable;
	await capture(sources(), view, record);
});

test("a handler that throws is named with its projection and seq", async () => {
	const fragile = defineProjection({
		name: "fragile",
		version: 1,
		schema: z.null(),
		init: () => null,
		handle: (on) => [
			on(put, () => {
				throw new Error("boom");
			}),
		],
	});
	const [first] = await fill([{ key: "a", value: 1 }]);
	await expect(restore(sources({ projections: [fragile] }), straightPath(wal.tip, main))).rejects.toMatchObject({
		code: "SNAPSHOT_PROJECTION",
		detail: { projection: "fragile", seq: first },
	});
});

test("a snapshot that cannot be stored is named so, and the ones before it stay", async () => {
	const snapshots = fileSnapshots(directory);
	const from = sources({ snapshots });
	const [first = 0, second = 0] = await fill([
		{ key: "a", value: 1 },
		{ key: "a", value: 2 },
	]);
	await captureAt(from, first);
	const put = async (): Promise<void> => {
		throw Object.assign(new Error("no space left on device"), { code: "ENOSPC" });
	};
	await expect(captureAt({ ...from, snapshots: { ...snapshots, put } }, second)).rejects.toMatchObject({
		code: "SNAPSHOT_NOT_STORED",
		detail: { seq: second, code: "ENOSPC" },
	});
	expect(await snapshots.list(main)).toEqual([first]);
	expect((await restore(from, straightPath(second, main))).get(table)).toEqual({ a: 2 });
});
