/** Recovery of a log: torn tails, damage, kills, and other programs at its files. */
import { appendFile, mkdtemp, open, readdir, readFile, rm, stat, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { startSource } from "../../../tests/kit/killable.ts";
import { sample } from "../../../tests/sample.ts";
import { defineRecord, fileEngine, openWal, type Wal, type WalRecord } from "../src/index.ts";

const said = defineRecord("said", z.object({ text: z.string() }));

let directory: string;
let path: string;

beforeEach(async () => {
	directory = await mkdtemp(join(tmpdir(), "reyn-wal-"));
	path = join(directory, "wal.jsonl");
});
afterEach(() => rm(directory, { recursive: true, force: true }));

const openSaid = (readOnly = false): Promise<Wal> => openWal(directory, { records: [said], readOnly });

async function history(...texts: string[]): Promise<void> {
	await using wal = await openSaid();
	for (const text of texts) await wal.append(said({ text }), {}).durable;
}

async function texts(wal: Wal): Promise<string[]> {
	const found: WalRecord[] = [];
	for await (const record of wal.read({ kinds: { only: ["said"] } })) found.push(record);
	return found.map(({ data }) => (data as { text: string }).text);
}

test("a line torn at any of its bytes is cut and set aside, and the records before it survive", async () => {
	await history("a", "b");
	const whole = await readFile(path);
	await using probe = await openWal(join(directory, "probe"), { records: [said] });
	await probe.append(said({ text: "torn" }), {}).durable;
	const line = (await readFile(join(directory, "probe", "wal.jsonl"), "utf8")).split("\n").at(-2) as string;
	for (let length = 1; length <= line.length; length += 7) {
		await writeFile(path, Buffer.concat([whole, Buffer.from(line.slice(0, length))]));
		await using wal = await openSaid();
		expect(wal.torn).toMatchObject({ bytes: length, seq: 4 });
		expect(await readFile(wal.torn?.keptIn as string, "utf8")).toBe(line.slice(0, length));
		expect(await texts(wal)).toEqual(["a", "b"]);
	}
});

test("what was cut is recorded in the log", async () => {
	await history("a");
	await appendFile(path, '{"v":1,"seq":3,');
	await using wal = await openSaid();
	const kinds: string[] = [];
	for await (const { kind } of wal.read({ after: 2 })) kinds.push(kind);
	expect(kinds).toEqual(["wal_epoch", "wal_recovered"]);
});

test("a complete last line that lost its newline is kept and completed", async () => {
	await history("a", "b");
	await truncate(path, (await stat(path)).size - 1);
	await using wal = await openSaid();
	expect(wal.torn).toBeUndefined();
	await wal.append(said({ text: "c" }), {}).durable;
	expect(await texts(wal)).toEqual(["a", "b", "c"]);
	await wal.close(); // cuts the space that was allocated ahead
	expect((await readFile(path, "utf8")).split("\n").filter((text) => text === "")).toHaveLength(1);
});

test("damage before a record that proves it durable is refused, and nothing is changed", async () => {
	await history("a", "b", "c", "d");
	const lines = (await readFile(path, "utf8")).split("\n");
	lines[3] = (lines[3] as string).replace('"b"', '"x"');
	await writeFile(path, lines.join("\n"));
	const before = await readFile(path);
	await expect(openSaid()).rejects.toMatchObject({ code: "WAL_CORRUPT", detail: { seq: 3, lastSound: 2 } });
	await expect(openSaid(true)).rejects.toMatchObject({ code: "WAL_CORRUPT" });
	expect(await readFile(path)).toEqual(before);
	expect(await readdir(directory)).not.toContainEqual(expect.stringContaining(".broken"));
});

test("swapped, dropped and doubled lines are refused", async () => {
	await history("a", "b", "c", "d", "e");
	const lines = (await readFile(path, "utf8")).split("\n");
	const [header, ...records] = lines as [string, ...string[]];
	const [r1, r2, r3, ...rest] = records as [string, string, string, ...string[]];
	for (const broken of [
		[r1, r3, r2, ...rest],
		[r1, r3, ...rest],
		[r1, r2, r2, r3, ...rest],
	]) {
		await writeFile(path, [header, ...broken].join("\n"));
		await expect(openSaid()).rejects.toMatchObject({ code: "WAL_CORRUPT" });
	}
});

test("a log of a newer format is refused by name", async () => {
	await history("a");
	const newer = (await readFile(path, "utf8")).replaceAll('{"v":1,', '{"v":2,').replaceAll('"crc"', '"sum"');
	await writeFile(path, newer);
	await expect(openSaid()).rejects.toMatchObject({ code: "WAL_NEWER_FORMAT", detail: { version: 2 } });
});

test("a reader leaves a torn tail where it is", async () => {
	await history("a");
	await appendFile(path, '{"v":1');
	const before = await readFile(path);
	await using reader = await openSaid(true);
	expect(await texts(reader)).toEqual(["a"]);
	expect(reader.torn).toMatchObject({ bytes: 6 });
	expect(await readFile(path)).toEqual(before);
});

test("a reader of a directory without a log is told so, and makes nothing", async () => {
	await expect(openWal(join(directory, "none"), { records: [], readOnly: true })).rejects.toMatchObject({
		code: "WAL_IO",
	});
	expect(await readdir(directory)).toEqual([]);
});

test("a writer notices another program at its file and stops", async () => {
	await using _cleanup = { [Symbol.asyncDispose]: async () => {} };
	const wal = await openSaid();
	await wal.append(said({ text: "a" }), {}).durable;
	await appendFile(path, "somebody else\n");
	await expect(wal.append(said({ text: "b" }), {}).durable).rejects.toMatchObject({ code: "WAL_POISONED" });
	expect(() => wal.append(said({ text: "c" }), {})).toThrowError(expect.objectContaining({ code: "WAL_POISONED" }));
	await expect(wal.close()).rejects.toMatchObject({ code: "WAL_POISONED" });
});

test("a failed write that nobody awaits poisons the log without an unhandled rejection", async () => {
	const wal = await openSaid();
	await appendFile(path, "somebody else\n");
	wal.append(said({ text: "a" }), {});
	await expect(wal.close()).rejects.toMatchObject({ code: "WAL_POISONED" });
});

test("a process killed while it appends loses nothing that it acknowledged, and frees the lock at once", async () => {
	for (let round = 0; round < sample(1, 5); round++) {
		const writer = startSource(join(import.meta.dirname, "append-forever.ts"), [directory]);
		await writer.line((line) => Number(line) > 50 + round * 40);
		await writer.kill();
		const acknowledged = Number(writer.lines.at(-1));
		expect(acknowledged).toBeGreaterThan(50);
		await using wal = await openSaid();
		expect(wal.tip).toBeGreaterThanOrEqual(acknowledged);
		let expected = 1;
		for await (const { seq } of wal.read()) expect(seq).toBe(expected++);
	}
});

test("a long log is read from anywhere without its beginning", async () => {
	await using wal = await openSaid();
	for (let i = 0; i < 5000; i++) wal.append(said({ text: "x".repeat(i % 100) }), {});
	const seqs: number[] = [];
	for await (const { seq } of wal.read({ after: 4321, through: 4323 })) seqs.push(seq);
	expect(seqs).toEqual([4322, 4323]);
	// Break the first records: a read that starts later never sees them.
	const file = await open(path, "r+");
	await file.write(Buffer.from("garbage"), 0, 7, 300);
	await file.close();
	const later: number[] = [];
	for await (const { seq } of wal.read({ after: 4321, through: 4323 })) later.push(seq);
	expect(later).toEqual([4322, 4323]);
});

test("data that would not come back as it went in is refused before it is written", async () => {
	const dated = defineRecord("dated", z.object({ at: z.date() }));
	await using wal = await openWal(directory, { records: [dated] });
	const { tip } = wal;
	expect(() => wal.append(dated({ at: new Date(0) }), {})).toThrow(
		expect.objectContaining({ code: "WAL_INVALID_RECORD" }),
	);
	expect(wal.tip).toBe(tip);
});

test("a reader may open the log at any moment while a writer appends and seals", async () => {
	await using wal = await openWal(fileEngine(directory, { segmentBytes: 20_000 }), { records: [said] });
	let writing = true;
	const writer = (async () => {
		while (writing) await wal.append(said({ text: "x".repeat(200) }), {}).durable;
	})();
	for (let i = 0; i < 60; i++) {
		const durable = wal.durableTip;
		await using reader = await openSaid(true);
		expect(reader.tip).toBeGreaterThanOrEqual(durable);
		let last = 0;
		for await (const { seq } of reader.read()) expect(seq).toBe(++last);
		expect(last).toBe(reader.tip);
	}
	writing = false;
	await writer;
});
