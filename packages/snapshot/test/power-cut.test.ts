/**
 * Captures and collections cut by a power cut, a kill or a failed sync at any operation of the disk: the state is the same
 * as that of the log alone, and what was acknowledged is used. `REYN_STATES` sets how many states are looked at for each cut
 * (default 48), `REYN_SEED` which.
 */
import { defineRecord, fileBlobs, memoryEngine, openWal, type Seq, type Wal } from "@reyn/wal";
import { CrashDisk, type MemoryDisk, MortalDisk } from "@reyn/wal/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { SEED, seeded } from "../../../tests/kit/seeded.ts";
import { pointsOf, sample } from "../../../tests/sample.ts";
import { capture, collect, defineProjection, List, restore, SnapshotStore, straightPath } from "../src/index.ts";

const STATES = Number(process.env.REYN_STATES ?? sample(3, 16));
const DIRECTORY = "/state/snapshots";
const scope = { agent: "default", session: "main" };

const said = defineRecord("said", z.object({ text: z.string(), drop: z.int() }));
const talk = defineProjection({
	name: "talk",
	version: 1,
	schema: z.object({ count: z.int() }),
	lists: { texts: z.string() },
	init: () => ({ count: 0, texts: List.of<string>() }),
	handle: (on) => [
		on(said, ({ count, texts }, { text, drop }) => ({
			count: count + 1,
			texts: drop > 0 ? texts.splice(1, drop, text) : texts.append(text),
		})),
	],
});

let wal: Wal;
let expected: string;
beforeAll(async () => {
	wal = await openWal(memoryEngine(), { records: [said] });
	for (let n = 2; n < 300; n++) wal.append(said({ text: `text ${n}`, drop: n === 200 ? 150 : 0 }), scope);
	await wal.append(said({ text: "last", drop: 0 }), scope).durable;
	expected = (await sources(new CrashDisk()).restore()).hash();
});
afterAll(() => wal.close());

/** A process over a disk. `base`: the log may be read from there on only, so there has to be a snapshot. */
function sources(disk: MemoryDisk, base: Seq = 0) {
	const read: Wal["read"] = (range = {}) => {
		if ((range.after ?? 0) < base - 1) throw new Error(`the log was read from ${range.after} on`);
		return wal.read(range);
	};
	const own = { id: wal.id, tip: wal.tip, durableTip: wal.durableTip, read } as Wal;
	const from = { wal: own, snapshots: new SnapshotStore(fileBlobs(DIRECTORY, { disk })), projections: [talk] };
	return {
		restore: (seq: Seq = wal.tip) => restore(from, straightPath(seq, scope)),
		capture: async (seq: Seq) => capture(from, await restore(from, straightPath(seq, scope))),
		collect: (kept: Seq) => collect(from.snapshots, { keep: (_, seq) => seq === kept }),
	};
}

/** With snapshots at 150 and 280 a collection lets go of the first, and of the chunks that the compaction at 200 left behind. */
const deeds = [
	{ of: "the first capture", before: [], run: (disk: MemoryDisk) => sources(disk).capture(150), base: [0, 150] },
	{ of: "another capture", before: [150], run: (disk: MemoryDisk) => sources(disk).capture(280), base: [150, 280] },
	{ of: "a collection", before: [150, 280], run: (disk: MemoryDisk) => sources(disk).collect(280), base: [280, 280] },
	{
		of: "a collection of the newer",
		before: [150, 280],
		run: (disk: MemoryDisk) => sources(disk).collect(150),
		base: [150, 150],
	},
] as const;

type Deed = (typeof deeds)[number];

/** A disk as it is before the deed, everything on it durable. */
async function diskBefore<T>(
	{ before }: Deed,
	Disk: new (files: Iterable<readonly [string, Uint8Array]>, directories: Iterable<string>) => T,
): Promise<T> {
	const disk = new CrashDisk();
	for (const seq of before) await sources(disk).capture(seq);
	return new Disk(
		[...disk.files].map(([path, { bytes }]) => [path, bytes] as const),
		disk.directories,
	);
}

/** What the next process finds, and that it can go on from there. */
async function check(disk: MemoryDisk, { run }: Deed, base: Seq): Promise<void> {
	expect((await sources(disk, base).restore()).hash()).toBe(expected);
	// No root outlives a chunk that it names, so none had to be set aside.
	expect(await fileBlobs(DIRECTORY, { disk }).list("broken/")).toEqual([]);
	await run(disk);
	expect((await sources(disk).restore()).hash()).toBe(expected);
	await sources(disk).capture(299);
	expect((await sources(disk, 299).restore()).hash()).toBe(expected);
}

test.each(deeds)("$of, and a power cut anywhere in it", async (deed) => {
	const disk = await diskBefore(deed, CrashDisk);
	await deed.run(disk);
	const random = seeded(SEED);
	let states = 0;
	for (const cut of pointsOf(0, disk.cuts, 3)) {
		for (const state of disk.states(cut, { limit: STATES, random })) {
			await check(state, deed, deed.base[cut === disk.cuts ? 1 : 0]);
			states++;
		}
	}
	expect(states).toBeGreaterThan(sample(2, disk.cuts));
});

test.each(deeds)("$of, and a kill anywhere in it", async (deed) => {
	for (const n of pointsOf(1, Number.POSITIVE_INFINITY, 3)) {
		const disk = await diskBefore(deed, MortalDisk);
		disk.dieAt(n);
		await deed.run(disk).catch(() => {});
		if (!disk.dead) {
			expect(n).toBeGreaterThan(5);
			return;
		}
		disk.live();
		await check(disk, deed, deed.base[0]);
	}
});

test.each(deeds)("$of, and any sync of it that fails: an error, and what was there is as it was", async (deed) => {
	for (const n of pointsOf(1, Number.POSITIVE_INFINITY, 3)) {
		const disk = await diskBefore(deed, CrashDisk);
		disk.failSync(n);
		const error = await deed.run(disk).then(
			() => undefined,
			({ code }: { code?: string }) => code,
		);
		if (!disk.failed) {
			expect(n).toBeGreaterThan(2);
			return;
		}
		expect(["SNAPSHOT_NOT_STORED", "EIO"]).toContain(error);
		await check(disk, deed, deed.base[0]);
	}
});
