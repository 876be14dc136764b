/** The stored index of a timeline: what is believed of it, what is not, and that it makes no difference but in time. */
import { SnapshotStore, sealed } from "@reyn/snapshot";
import {
	type BlobStore,
	defineRecord,
	fileBlobs,
	fileEngine,
	memoryBlobs,
	memoryEngine,
	openWal,
	type Scope,
} from "@reyn/wal";
import { CrashDisk, MemoryDisk, MortalDisk } from "@reyn/wal/testing";
import { applyRepair, proposeRepair } from "@reyn/wal/tools";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { SEED, seeded } from "../../../tests/kit/seeded.ts";
import { sample } from "../../../tests/sample.ts";
import { timetravelRecords, type UndoRules } from "../src/index.ts";
import { usualPart } from "../src/stored-index.ts";
import { openedTimeline } from "../src/timeline.ts";
import { expectSameIndex, partsOf } from "./held-index.ts";
import { answered, asked, House, keeping, main, noted, said, side } from "./house.ts";

const undoRules: UndoRules = {
	[asked.kind]: () => "turn",
	[answered.kind]: ({ scope }) => ({ takenBackBy: { scope } }),
};

const PART = 12;

interface Place {
	readonly disk: MemoryDisk;
	readonly blobs: BlobStore;
}

const placeOn = (disk: MemoryDisk): Place => ({ disk, blobs: fileBlobs("/state/snapshots", { disk }) });

const openOn = ({ disk, blobs }: Place): Promise<House> =>
	House.open({
		engine: fileEngine("/state", { disk, segmentBytes: 4096, allocateBytes: 512 }),
		snapshots: new SnapshotStore(blobs),
		kept: fileBlobs("/state/kept", { disk }),
		undoRules,
		partAfter: () => PART,
	});

/** As a process that opens it would find it. */
const believed = ({ wal, snapshots, kept }: House) => expectSameIndex({ wal, snapshots, kept, undoRules });

/** Something of all that an index is of. */
async function live(house: House, turns: number, name = ""): Promise<void> {
	const { timeline } = house;
	for (let i = 0; i < turns; i++) {
		const scope: Scope = i % 3 === 0 ? side : main;
		house.ask(`${name}${i}`, scope);
		for (let j = 0; j < (i % 5 === 0 ? 70 : 3); j++) house.say(`${name}${i}.${j}`, scope);
		if (i % 4 === 1) house.note(`${name}${i}`, scope);
		const seq = await house.mark(`turn ${i}`, { scope });
		if (i % 4 === 2) await timeline.label(seq, `${name || "l"}${i}`);
		if (i % 4 === 3) house.answer(`${name}${i}`, scope);
		if (i % 5 === 4) await timeline.checkout(seq - 3, { scope: main });
		if (i % 6 === 5) await timeline.undo();
	}
	await house.mark("end");
}

/** A place at which somebody has lived. */
async function lived(turns = 14): Promise<Place> {
	const place = placeOn(new MemoryDisk());
	const house = await openOn(place);
	await live(house, turns);
	await house.wal.close();
	return place;
}

/** The same, everything on it durable. */
const copyOf = <T>(
	disk: MemoryDisk,
	Disk: new (files: Iterable<readonly [string, Uint8Array]>, directories: Iterable<string>) => T,
	isCopied: (path: string) => boolean = () => true,
): T =>
	new Disk(
		[...disk.files].filter(([path]) => isCopied(path)).map(([path, { bytes }]) => [path, bytes] as const),
		disk.directories,
	);

const isIndex = (path: string): boolean => path.startsWith("/state/snapshots/index/");
const indexOf = ({ blobs }: Place) => new SnapshotStore(blobs).beside("index");

/** Looks at it as it is, and as it goes on. @returns how many parts were believed */
async function looked(place: Place): Promise<number> {
	const house = await openOn(place);
	const parts = await believed(house);
	await live(house, 3, "again");
	const more = await believed(house);
	expect(more).toBeGreaterThan(parts);
	await house.wal.close();
	return parts;
}

test("an open takes it, and comes to what the log alone says", async () => {
	const place = await lived();
	const parts = await looked(place);
	expect(parts).toBeGreaterThan(5);
});

test("an open reads the records after it alone", async () => {
	const place = await lived();
	const house = await openOn(place);
	const { wal, snapshots, kept } = house;
	const parts = await partsOf({ wal, snapshots, kept, undoRules });
	const end = parts.at(-1)?.through ?? 0;
	expect(wal.tip - end).toBeLessThan(2 * PART + 80);
	await wal.close();
	// What lies before is not even looked at: a log whose middle cannot be read opens.
	const sealedSegment = [...place.disk.files.keys()].filter((path) => /wal-\d+\.jsonl$/.test(path))[2] as string;
	const spoiled = copyOf(place.disk, MemoryDisk);
	const { bytes } = spoiled.files.get(sealedSegment) as { bytes: Uint8Array };
	bytes.fill(0x20, 1000, 1100);
	const again = await openOn(placeOn(spoiled));
	expect(again.timeline.checkpoints().length).toBeGreaterThan(10);
	await again.wal.close();
	await expect(openOn(placeOn(copyOf(spoiled, MemoryDisk, (path) => !isIndex(path))))).rejects.toMatchObject({
		code: "WAL_CORRUPT",
	});
});

test("parts are as long as they cost no more than the log they are of, and few", () => {
	const ends: number[] = [0];
	for (let at = 0; at < 1_000_000; at = ends.at(-1) as number) ends.push(at + usualPart(at));
	expect(ends.length).toBeLessThan(150);
	for (const [i, end] of ends.entries())
		expect((ends[i + 1] ?? end) - end).toBeLessThanOrEqual(Math.max(2048, Math.ceil(end / 16)));
});

test("who only looks stores nothing", async () => {
	const place = await lived(2);
	const before = (await indexOf(place).list("")).length;
	const wal = await openWal(fileEngine("/state", { disk: place.disk }), {
		records: [said, asked, answered, noted, ...timetravelRecords],
		readOnly: true,
	});
	const { snapshots, kept } = { snapshots: new SnapshotStore(place.blobs), kept: memoryBlobs() };
	expect(await expectSameIndex({ wal, snapshots, kept, undoRules })).toBe(before);
	expect((await indexOf(place).list("")).length).toBe(before);
});

describe("is not believed", () => {
	type Json = Record<string, unknown> & {
		checkpoints: Record<string, number[]>;
		records: { seq: number }[];
	};
	const recordOf = (seq: number, data: unknown) => ({ seq, ts: 0, kind: noted.kind, scope: {}, data, crc: "00000000" });
	const forgeries: Readonly<Record<string, (part: Json) => unknown>> = {
		"of another log": (part) => ({ ...part, log: "0".repeat(32) }),
		"made with other rules": (part) => ({ ...part, rules: "0".repeat(64) }),
		"of a newer version": (part) => ({ ...part, v: 2 }),
		"with a field that is none": (part) => ({ ...part, more: 1 }),
		"of another record at its end": (part) => ({ ...part, crc: "00000000" }),
		"that goes on from another record": (part) => ({ ...part, prev: "00000000" }),
		"that begins elsewhere": (part) => ({ ...part, after: (part.after as number) + 1 }),
		"ahead of the log": (part) => ({ ...part, through: 1_000_000 }),
		"that ends where it begins": (part) => ({ ...part, through: part.after }),
		"with columns of unlike length": (part) => ({
			...part,
			checkpoints: { ...part.checkpoints, titles: [...(part.checkpoints.titles as unknown[]), "a"] },
		}),
		"with a scope that is not in its list": (part) => ({
			...part,
			checkpoints: { seqs: [1], times: [1], scopes: [99], kinds: [0], titles: ["a"] },
		}),
		"with records out of order": (part) => ({
			...part,
			records: [2, 1].map((more) => recordOf((part.after as number) + more, {})),
		}),
		"with a record from elsewhere": (part) => ({ ...part, records: [recordOf(999_999, {})] }),
		"with half a span": (part) => ({ ...part, sessions: [["alice/main", part.after]] }),
		"with a span behind its end": (part) => ({ ...part, sessions: [["alice/main", part.after, 1_000_000]] }),
		"with a record that its kind refuses": (part) => ({
			...part,
			records: [recordOf((part.after as number) + 1, 7)],
		}),
	};

	test.each(Object.keys(forgeries))("one %s, though its checksum fits", async (name) => {
		const place = await lived();
		const index = indexOf(place);
		const names = await index.list("");
		for (const which of [0, 3, names.length - 1]) {
			const each = placeOn(copyOf(place.disk, MemoryDisk));
			const blob = names[which] as string;
			const [, json = ""] = Buffer.from((await index.get(blob)) ?? [])
				.toString()
				.split("\n");
			const forged = JSON.stringify((forgeries[name] as (part: Json) => unknown)(JSON.parse(json)));
			expect(forged).not.toBe(json);
			await indexOf(each).put(blob, Buffer.from(sealed(forged)));
			expect(await looked(each)).toBe(which);
		}
	});

	test("one with any byte changed, cut anywhere, or gone", async () => {
		const place = await lived(6);
		const index = indexOf(place);
		const names = await index.list("");
		const random = seeded(SEED);
		for (let n = 0; n < sample(12, 200); n++) {
			const which = random.below(names.length);
			const blob = names[which] as string;
			const bytes = Buffer.from((await index.get(blob)) ?? []);
			const at = random.below(bytes.length);
			const each = placeOn(copyOf(place.disk, MemoryDisk));
			const damage = n % 3;
			if (damage === 0) bytes[at] = (bytes[at] as number) ^ (1 << random.below(8));
			if (damage === 2) await indexOf(each).delete(blob);
			else await indexOf(each).put(blob, damage === 0 ? bytes : bytes.subarray(0, at));
			expect(await looked(each)).toBe(which);
		}
	});

	test("one that cannot be read just now", async () => {
		const place = await lived(6);
		const blobs = {
			...place.blobs,
			get: async (name: string) => {
				if (name.startsWith("index/")) throw Object.assign(new Error("EIO"), { code: "EIO" });
				return place.blobs.get(name);
			},
		};
		const house = await openOn({ ...place, blobs });
		expect(await believed(house)).toBe(0);
		await house.wal.close();
	});

	test("one of a log that was brought back from an older copy, and went on otherwise", async () => {
		const place = placeOn(new MemoryDisk());
		const house = await openOn(place);
		await live(house, 6);
		await house.wal.close();
		const older = copyOf(place.disk, MemoryDisk, (path) => !path.startsWith("/state/snapshots/"));
		const all = await indexOf(place).list("");
		const again = await openOn(place);
		await live(again, 6, "first");
		await again.wal.close();
		// The log is the older one, and the index of the newer one lies beside it.
		for (const [path, { bytes }] of place.disk.files)
			if (isIndex(path)) await fileBlobs("/state/snapshots", { disk: older }).put(path.slice(17, -5), bytes);
		const cut = placeOn(copyOf(older, MemoryDisk));
		const shorter = await openOn(cut);
		expect(await believed(shorter)).toBeGreaterThanOrEqual(all.length - 1);
		await shorter.wal.close();
		// It grows beyond where the index ends before anybody looks.
		const other = placeOn(copyOf(older, MemoryDisk));
		const wal = await openWal(fileEngine("/state", { disk: other.disk }), { records: [said] });
		for (let i = 0; i < 900; i++) wal.append(said({ text: `other ${i}` }), side);
		await wal.close();
		const parts = await looked(other);
		expect(parts).toBeLessThan((await indexOf(place).list("")).length);
		// What no index goes on from is gone.
		const house2 = await openOn(other);
		expect(await indexOf(other).list("")).toHaveLength(await believed(house2));
		await house2.wal.close();
	});

	test("one of a log that was repaired, from the loss on", async () => {
		const place = await lived();
		const names = [...place.disk.files.keys()].filter((path) => /wal-\d+\.jsonl$/.test(path)).sort();
		const { bytes } = place.disk.files.get(names[2] as string) as { bytes: Uint8Array };
		bytes.fill(0x20, 1000, 1020);
		const { disk } = place;
		const { accept, lost } = await proposeRepair("/state", { disk });
		await applyRepair("/state", { disk, acceptLoss: accept });
		const parts = await looked(place);
		expect(parts).toBeGreaterThan(0);
		const house = await openOn(place);
		const { wal, snapshots, kept } = house;
		const [first = 0] = lost[0] ?? [];
		expect(first).toBeGreaterThan(1);
		expect((await partsOf({ wal, snapshots, kept, undoRules })).length).toBeGreaterThan(parts);
		await wal.close();
	});

	test("one whose rules say something else", async () => {
		const place = await lived(6);
		const house = await openOn(place);
		const { wal, snapshots, kept } = house;
		const of = { wal, snapshots, kept };
		expect(await expectSameIndex({ ...of, undoRules })).toBeGreaterThan(0);
		expect(await expectSameIndex({ ...of, undoRules: { ...undoRules, [asked.kind]: () => undefined } })).toBe(0);
		expect(await expectSameIndex({ ...of, undoRules: {} })).toBe(0);
		expect(await expectSameIndex({ ...of, undoRules, keptKinds: [said.kind] })).toBe(0);
		await wal.close();
	});
});

test("what an older program has stored of a record is all of it: a newer one is told what it knows of", async () => {
	const newer = defineRecord(noted.kind, z.object({ text: z.string(), since: z.string().optional() }));
	const place = placeOn(new MemoryDisk());
	const opened = async () =>
		openWal(fileEngine("/state", { disk: place.disk }), { records: [newer, said, ...timetravelRecords] });
	const first = await opened();
	first.append(newer({ text: "a fact", since: "now" }), main);
	await first.close();
	const older = await openOn(place);
	for (let i = 0; i < PART; i++) older.say(`${i}`);
	await older.mark("one");
	expect((await older.timeline.records()).map(({ data }) => data)).toEqual([{ text: "a fact" }]);
	expect(await believed(older)).toBe(1);
	await older.wal.close();
	const wal = await opened();
	const of = { wal, snapshots: new SnapshotStore(place.blobs), kept: memoryBlobs(), undoRules };
	expect(await expectSameIndex(of)).toBe(1);
	expect((await partsOf(of))[0]?.records).toMatchObject([{ data: { text: "a fact", since: "now" } }]);
	await wal.close();
});

test("times are as the clock said them, and scopes of any depth", async () => {
	const { snapshots, kept } = { snapshots: new SnapshotStore(memoryBlobs()), kept: memoryBlobs() };
	const times = [5, 1.25, -3, 0.1, 0.3, 1e15, 7];
	let now = 0;
	const clock = { now: () => times[now++ % times.length] as number };
	const wal = await openWal(memoryEngine(), { records: [noted, said, ...timetravelRecords], clock });
	const timeline = await openedTimeline({ wal, snapshots, kept, projections: [] }, () => PART);
	const scopes: readonly Scope[] = [{}, { agent: "a" }, main, { ...main, run: "r" }];
	for (let i = 0; i < 3 * PART; i++) {
		const scope = scopes[i % scopes.length] as Scope;
		await timeline.checkpoint("turn", `${i}`, scope, await timeline.at(wal.tip, scope));
	}
	expect(await expectSameIndex({ wal, snapshots, kept })).toBeGreaterThan(1);
	await wal.close();
});

test("what a turn has taken from the moves is known, also where they were made before the process began", async () => {
	const place = placeOn(new MemoryDisk());
	const first = await openOn(place);
	const from = first.say("one");
	for (let i = 0; i < PART; i++) first.say(`${i}`);
	await first.timeline.checkout(from);
	await first.timeline.undo();
	await first.mark("end");
	await first.wal.close();
	const again = await openOn(place);
	expect(await believed(again)).toBe(1);
	expect((await again.timeline.moves()).future).toHaveLength(1);
	again.ask("something new");
	for (let i = 0; i < PART; i++) again.say(`more ${i}`);
	await again.mark("end");
	expect(await believed(again)).toBe(2);
	expect((await again.timeline.moves()).future).toEqual([]);
	await again.wal.close();
});

describe("after a gc", () => {
	test("it begins anew where the log does", async () => {
		const place = await lived();
		const house = await openOn(place);
		const before = await believed(house);
		expect((await house.timeline.gc(keeping(8))).retainedFrom).toBeGreaterThan(PART);
		expect(await believed(house)).toBe(1);
		expect(before).toBeGreaterThan(1);
		expect(await indexOf(place).list("")).toHaveLength(1);
		await live(house, 3, "after");
		expect(await believed(house)).toBeGreaterThan(1);
		await house.wal.close();
		expect(await looked(place)).toBeGreaterThan(1);
	});

	test("it is the same while another process appends", async () => {
		const place = await lived();
		const house = await openOn(place);
		const done = house.timeline.gc(keeping(8));
		for (let i = 0; i < 50; i++) {
			house.say(`meanwhile ${i}`);
			if (i % 10 === 0) await house.mark("meanwhile");
			else await new Promise(setImmediate);
		}
		await done;
		await live(house, 3, "after");
		expect(await believed(house)).toBeGreaterThan(1);
		await house.wal.close();
	});
});

test("a put that failed is tried again once as many records came, and takes what came meanwhile along", async () => {
	const disk = new MemoryDisk();
	const blobs = fileBlobs("/state/snapshots", { disk });
	let puts = 0;
	let isFull = true;
	const full: BlobStore = {
		...blobs,
		put: async (name, bytes) => {
			if (!name.startsWith("index/")) return blobs.put(name, bytes);
			puts++;
			if (isFull) throw Object.assign(new Error("ENOSPC"), { code: "ENOSPC" });
			await blobs.put(name, bytes);
		},
	};
	const house = await openOn({ disk, blobs: full });
	const talk = async (): Promise<unknown> => {
		for (let i = 0; i < PART; i++) house.say(`${i}`);
		return house.mark("on").catch((error: { code: string }) => error.code);
	};
	expect(await talk()).toBe("SNAPSHOT_NOT_STORED");
	expect(house.timeline.checkpoints()).toHaveLength(1);
	await house.mark("too soon");
	expect(puts).toBe(1);
	isFull = false;
	await talk();
	expect(puts).toBe(2);
	expect(await believed(house)).toBe(1);
	await house.wal.close();
});

test("killed at any change of the disk while a part is stored, it is the old index or the new one", async () => {
	const place = await lived(3);
	const turn = async (house: House): Promise<void> => {
		for (let i = 0; i < PART; i++) house.say(`more ${i}`);
		await house.mark("more");
	};
	const before = await looked(placeOn(copyOf(place.disk, MemoryDisk)));
	let kills = 0;
	for (let n = 1; ; n++) {
		const disk = copyOf(place.disk, MortalDisk);
		const house = await openOn(placeOn(disk));
		disk.dieAt(n);
		await turn(house).catch(() => {});
		if (!disk.dead) break;
		kills++;
		disk.live();
		// What was written, durable or not.
		expect([before, before + 1]).toContain(await looked(placeOn(copyOf(disk, MemoryDisk))));
	}
	expect(kills).toBeGreaterThan(8);
	const disk = copyOf(place.disk, CrashDisk);
	const house = await openOn(placeOn(disk));
	const from = disk.cuts;
	await turn(house);
	const random = seeded(SEED);
	for (let cut = from; cut <= disk.cuts; cut += sample(3, 1))
		for (const state of disk.states(cut, { limit: sample(1, 4), random }))
			expect([before, before + 1]).toContain(await looked(placeOn(state)));
	await house.wal.close();
});
