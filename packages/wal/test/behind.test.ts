/** A reader beside a `wal.head` that is not as the writer left it: what it shows, and that it says that it may be behind. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { sample } from "../../../tests/sample.ts";
import { defineRecord, fileEngine, openWal, type Wal } from "../src/index.ts";
import { encodeHead } from "../src/record/codec.ts";
import { MemoryDisk } from "../src/testing/index.ts";

const said = defineRecord("said", z.object({ text: z.string() }));
const HEAD = "/log/wal.head";

let disk: MemoryDisk;
beforeEach(() => {
	disk = new MemoryDisk();
});

const open = (readOnly: boolean | "as recovered" = false, segmentBytes = 1e6): Promise<Wal> =>
	openWal(fileEngine("/log", { disk, segmentBytes, allocateBytes: 512 }), { records: [said], readOnly });

const headBytes = (): Uint8Array => Uint8Array.from(disk.files.get(HEAD)?.bytes ?? []);

/** As another program writes it: into the same file. */
function overwrite(bytes: Uint8Array): void {
	const inode = disk.files.get(HEAD);
	if (inode) inode.bytes = Uint8Array.from(bytes);
}

async function seqs(wal: Wal): Promise<number[]> {
	const found: number[] = [];
	for await (const { seq } of wal.read()) found.push(seq);
	return found;
}

const foreign = { log: "f".repeat(32), segment: 1, seq: 0, offset: 10, sum: "00000000", epoch: 1 };

test.each<[string, string, (early: Uint8Array) => void]>([
	["missing", "head missing", () => disk.remove(HEAD)],
	["empty", "head unsound", () => overwrite(new Uint8Array())],
	["all zeros", "head unsound", () => overwrite(new Uint8Array(256))],
	["rotten in one byte", "head unsound", () => headBytes().length && overwrite(headBytes().with(80, 0x39))],
	["of another log", "head unsound", () => overwrite(Buffer.from(encodeHead(foreign)))],
	["older than its log", "head old", (early) => overwrite(early)],
])('a head that is %s: a reader shows what the lines prove, and says "%s"', async (_, behind, change) => {
	const writer = await open();
	const early = headBytes();
	for (const text of ["a", "b", "c"]) await writer.append(said({ text })).durable;
	await using before = await open(true);
	change(early);

	// What it was shown once is not taken back.
	expect([before.behind, await before.refresh(), before.behind, await seqs(before)]).toEqual([
		undefined,
		4,
		behind,
		[1, 2, 3, 4],
	]);
	await using reader = await open(true);
	expect([writer.durableTip, reader.tip, await reader.refresh()]).toEqual([4, 3, 3]);
	expect(await seqs(reader)).toEqual([1, 2, 3]);
	expect([reader.behind, writer.behind]).toEqual([behind, undefined]);
	await using recovered = await open("as recovered");
	expect([recovered.tip, recovered.behind]).toEqual([4, behind]);
	// Of one that is gone the writer says so.
	await writer.close().catch((error) => expect(error).toMatchObject({ code: "WAL_CORRUPT" }));
});

test("a head that is as it was left says nothing, with and without a writer, over segments too", async () => {
	const writer = await open(false, 600);
	for (let i = 0; i < 12; i++) await writer.append(said({ text: `text ${i}` })).durable;
	await using beside = await open(true);
	expect([beside.tip, beside.behind]).toEqual([13, undefined]);
	await writer.close();
	await using after = await open(true);
	expect([after.tip, after.behind]).toEqual([13, undefined]);
});

test("a head that is behind what is sealed is old", async () => {
	await using writer = await open(false, 600);
	const early = headBytes();
	for (let i = 0; i < 12; i++) await writer.append(said({ text: `text ${i}` })).durable;
	overwrite(early);
	await using reader = await open(true);
	expect([reader.tip, reader.behind]).toEqual([12, "head old"]);
});

test("once the writer has written it again, nothing is missing any more, for who follows too", async () => {
	await using writer = await open();
	await writer.append(said({ text: "a" })).durable;
	overwrite(new Uint8Array(256));
	await using reader = await open(true);
	expect(reader.behind).toBe("head unsound");
	const followed: number[] = [];
	const following = (async () => {
		for await (const { seq } of reader.follow({ after: 0 })) if (followed.push(seq) === 3) return;
	})();
	await writer.append(said({ text: "b" })).durable;
	await following;
	expect(followed).toEqual([1, 2, 3]);
	await using again = await open(true);
	expect([again.tip, again.behind]).toEqual([3, undefined]);
});

test("beside a writer in a thread of its own no reader takes a head for damaged", async () => {
	const directory = await mkdtemp(join(tmpdir(), "reyn-behind-"));
	onTestFinished(() => rm(directory, { recursive: true }));
	const engine = fileEngine(directory, { segmentBytes: 4096 });
	await using writer = await openWal(engine, { records: [said] });
	let isOver = false;
	const writing = (async () => {
		while (!isOver) await writer.append(said({ text: "x".repeat(50) })).durable;
	})();
	for (let i = 0; i < sample(40, 600); i++) {
		await using reader = await openWal(directory, { records: [said], readOnly: true });
		expect(reader.behind).toBe(undefined);
	}
	isOver = true;
	await writing;
});

test("a head that is behind a footer is old, though no line says so", async () => {
	const writer = await open(false, 600);
	const early = headBytes();
	for (let i = 0; i < 12; i++) await writer.append(said({ text: `text ${i}` })).durable;
	overwrite(early);
	// As between the rename that seals a segment and the making of the next one.
	disk.remove("/log/wal.jsonl");
	await using reader = await open(true);
	expect(reader.tip).toBeGreaterThan(8);
	expect(reader.behind).toBe("head old");
	await writer.close().catch((error) => expect(error).toMatchObject({ code: "WAL_CORRUPT" }));
});

test("a writer that goes on between the reading of the head and of the lines makes no head old", async () => {
	const writer = await open();
	const states: (readonly [string, Uint8Array][])[] = [];
	for (let i = 0; i < 40; i++) {
		await writer.append(said({ text: `text ${i}` })).durable;
		states.push([...disk.files].map(([path, { bytes }]) => [path, Uint8Array.from(bytes)]));
	}
	await writer.close();
	class Moving extends MemoryDisk {
		at = 0;
		override open(path: string, how: Parameters<MemoryDisk["open"]>[1]) {
			// Three flushes come between.
			if (path === "/log/wal.jsonl") {
				this.at = Math.min(this.at + 3, states.length - 1);
				for (const [name, bytes] of states[this.at] ?? []) {
					const inode = this.files.get(name);
					if (inode) inode.bytes = bytes;
				}
			}
			return super.open(path, how);
		}
	}
	disk = new Moving(states[0], ["/log"]);
	await using reader = await open(true);
	expect(reader.behind).toBe(undefined);
});
