/**
 * A truncation cut by a power cut, a kill, a failed write or a failed sync at any operation of the disk: the log opens, each
 * state that can be gone back to is what it was, and another truncation finishes. `REYN_STATES` sets how many states are
 * looked at for each cut (default 1), `REYN_SEED` which.
 */
import { defineProjection, List, SnapshotStore } from "@reyn/snapshot";
import { fileBlobs, fileEngine, type Scope, type Seq, scopeKey } from "@reyn/wal";
import { CrashDisk, MemoryDisk, MortalDisk } from "@reyn/wal/testing";
import { beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { SEED, seeded } from "../../../tests/kit/seeded.ts";
import { pointsOf, sample } from "../../../tests/sample.ts";
import { bob, did, House, main, said } from "./house.ts";

const STATES = Number(process.env.REYN_STATES ?? 1);
// Odd: every second one settles first.
const EVERY = 31;

/** In chunks, so that what is kept has some to lose. */
const talk = defineProjection({
	name: "talk",
	version: 1,
	schema: z.object({ count: z.int() }),
	lists: { texts: z.string() },
	init: () => ({ count: 0, texts: List.of<string>() }),
	handle: (on) =>
		[said, did].map((kind) =>
			on(kind, ({ count, texts }, { text }) => ({ count: count + 1, texts: texts.append(text) })),
		),
});
const scopes: readonly Scope[] = [{}, main, bob];

const openOn = (disk: MemoryDisk): Promise<House> =>
	House.open({
		engine: fileEngine("/state", { disk, segmentBytes: 2048, allocateBytes: 512 }),
		snapshots: new SnapshotStore(fileBlobs("/state/snapshots", { disk })),
		kept: fileBlobs("/state/kept", { disk }),
		projections: [talk],
		keptScopes: () => scopes,
	});

/** The same disk, everything on it durable. */
const copyOf = <T>(
	disk: MemoryDisk,
	Disk: new (files: Iterable<readonly [string, Uint8Array]>, directories: Iterable<string>) => T,
): T =>
	new Disk(
		[...disk.files].map(([path, { bytes }]) => [path, bytes] as const),
		disk.directories,
	);

/** Of each seq that is looked at, and of each scope, the state's hash in a log that has all of its records. */
const states = new Map<Seq, ReadonlyMap<string, string>>();
const looked = (seq: Seq): boolean => states.has(seq);
const policy = (keepCheckpoints: number) => ({ keepDays: 0, keepCheckpoints, now: Number.MAX_SAFE_INTEGER });

interface Deed {
	readonly of: string;
	readonly was: Seq;
	readonly next: Seq;
	/** Before it: everything durable. */
	readonly disk: MemoryDisk;
	/** The blobs that are kept after it. */
	readonly kept: readonly string[];
	/** What is there besides records: branches, labels and moves. */
	readonly rest: string;
	run(house: House): Promise<unknown>;
}

const names = ["the first truncation", "another truncation", "the opening that ends one"] as const;
const deeds = new Map<string, Deed>();
const gcTo = (keep: number) => (house: House) => house.timeline.gc(policy(keep));

beforeAll(async () => {
	const disk = new MemoryDisk();
	const house = await openOn(disk);
	const { timeline, wal } = house;
	const marks: Seq[] = [];
	const talkOn = async (lines: number): Promise<Seq> => {
		for (let i = 0; i < lines; i++) house.say(`line ${wal.tip + 1}`, i % 5 === 0 ? bob : main);
		const seq = await house.mark("on");
		marks.push(seq);
		return seq;
	};
	const early = await talkOn(70);
	await timeline.label(early - 30, "early");
	await talkOn(6);
	await timeline.checkout(early - 40, { scope: main });
	const cut = await talkOn(5);
	await talkOn(4);
	// Two lines mixed, and one that goes back to before the cut: both need a state of their own.
	await timeline.checkout(early, { drop: [did.kind], scope: main });
	await timeline.checkout(early - 5, { scope: bob });
	await timeline.undo();
	await talkOn(5);
	await timeline.label(wal.tip - 3, "late");
	await talkOn(4);
	await talkOn(3);
	await talkOn(2);
	const wanted = [0, ...marks, early - 30, ...timeline.lineage.resets.map(({ seq }) => seq), wal.tip - 1, wal.tip];
	wanted.push(...(await timeline.labels()).map(({ seq }) => seq));
	for (const seq of wanted) states.set(seq, await statesAt(house, seq));
	await wal.close();

	const cutFirst = await deed("the first truncation", disk, gcTo(6));
	expect([cutFirst.was, cutFirst.next]).toEqual([1, cut + 1]);
	const cutOnce = copyOf(disk, MemoryDisk);
	await doneOn(cutOnce, gcTo(6));
	await deed("another truncation", cutOnce, gcTo(2));
	// The index is there, and all that it has made superfluous.
	const begun = copyOf(cutOnce, MortalDisk);
	const before = await openOn(begun);
	const index = await before.kept.get("branches");
	for (let n = 1; ; n++) {
		const dying = copyOf(cutOnce, MortalDisk);
		const house = await openOn(dying);
		dying.dieAt(n);
		await house.timeline.gc(policy(2)).catch(() => {});
		dying.live();
		if (Buffer.compare((await house.kept.get("branches")) ?? Buffer.of(), index ?? Buffer.of()) === 0) continue;
		await deed("the opening that ends one", copyOf(dying, MemoryDisk), async (house) => {
			await house.timeline.settle();
			await gcTo(2)(house);
		});
		break;
	}
});

async function deed(of: string, disk: MemoryDisk, run: Deed["run"]): Promise<Deed> {
	const after = copyOf(disk, MemoryDisk);
	const opened = await openOn(after);
	const was = opened.timeline.retainedFrom;
	const rest = await restOf(opened);
	await run(opened);
	await opened.wal.close();
	const { next, kept } = await (async () => {
		const house = await openOn(copyOf(after, MemoryDisk));
		await house.timeline.settle();
		return { next: house.timeline.retainedFrom, kept: await house.kept.list("") };
	})();
	const made = { of, was, next, disk, kept, rest, run };
	deeds.set(of, made);
	return made;
}

async function doneOn(disk: MemoryDisk, run: Deed["run"]): Promise<void> {
	const house = await openOn(disk);
	await run(house);
	await house.wal.close();
}

async function statesAt({ timeline }: House, seq: Seq): Promise<ReadonlyMap<string, string>> {
	const found = new Map<string, string>();
	for (const scope of scopes) found.set(scopeKey(scope), (await timeline.at(seq, scope)).hash());
	return found;
}

async function restOf({ timeline }: House): Promise<string> {
	const branches = timeline.branches().map(({ last, ...branch }) => branch);
	const moves = (await timeline.moves()).past.slice(-1);
	return JSON.stringify([branches, await timeline.labels(), moves]);
}

/** Every state that can be gone back to, and all that is beside the states. */
async function checkStates(house: House, { was, next, rest }: Deed): Promise<void> {
	const { retainedFrom } = house.timeline;
	expect([was, next]).toContain(retainedFrom);
	expect(house.wal.first).toBeLessThanOrEqual(retainedFrom);
	let reached = 0;
	for (const [seq, expected] of states) {
		const found = await statesAt(house, seq).catch((error: { code?: string }) => error.code);
		if (found === "TIMETRAVEL_PRUNED" && seq > 0 && seq < retainedFrom) continue;
		expect(found, `seq ${seq}`).toEqual(expected);
		reached++;
	}
	expect(reached).toBeGreaterThan(5);
	for (const { seq } of await house.timeline.labels()) expect(looked(seq)).toBe(true);
	expect(await restOf(house)).toBe(rest);
}

/** What the next process finds, and that it comes to the end of it. */
async function check(disk: MemoryDisk, deed: Deed): Promise<void> {
	const house = await openOn(disk);
	await checkStates(house, deed);
	await house.timeline.settle();
	await deed.run(house);
	expect(house.timeline.retainedFrom).toBe(deed.next);
	await checkStates(house, deed);
	await house.wal.close();
	// What nothing stands for any more is gone.
	expect(await house.kept.list("")).toEqual(deed.kept);
	const again = await openOn(disk);
	expect(await statesAt(again, again.timeline.retainedFrom - 1)).toEqual(states.get(deed.next - 1));
	expect(again.wal.first).toBeGreaterThan(1);
	await again.wal.close();
}

const known = (name: string): Deed => deeds.get(name) as Deed;

test.each(names)("%s, and a power cut anywhere in it", async (name) => {
	const deed = known(name);
	const disk = copyOf(deed.disk, CrashDisk);
	const house = await openOn(disk);
	const from = disk.cuts;
	await deed.run(house);
	const random = seeded(SEED);
	let looks = 0;
	let cuts = 0;
	for (const cut of pointsOf(from, disk.cuts, EVERY)) {
		cuts++;
		for (const state of disk.states(cut, { limit: STATES, random })) {
			await check(state, deed);
			looks++;
		}
	}
	expect(looks).toBeGreaterThanOrEqual(cuts);
	expect(cuts).toBeGreaterThan(0);
});

test.each(names)("%s, and a kill anywhere in it, and then a power cut anywhere in what comes next", async (name) => {
	const deed = known(name);
	const random = seeded(SEED);
	let exposed = 0;
	let looks = 0;
	for (const n of pointsOf(1, Number.POSITIVE_INFINITY, EVERY)) {
		const disk = copyOf(deed.disk, MortalDisk);
		const house = await openOn(disk);
		disk.dieAt(n);
		await deed.run(house).catch(() => {});
		if (!disk.dead) {
			expect(n).toBeGreaterThan(5);
			break;
		}
		disk.live();
		const from = disk.cuts;
		const next = await openOn(disk);
		const isExposed = next.timeline.retainedFrom === deed.next && deed.next > deed.was;
		if (isExposed) exposed++;
		// Whoever does not settle first loses nothing by it.
		if (n % 2 === 0) await next.timeline.settle();
		await deed.run(next);
		await next.wal.close();
		// What is seen, and is not durable, is where a next step goes wrong: there more is looked at.
		const every = isExposed ? Math.ceil(sample(9, 3) / STATES) : Math.ceil((disk.cuts - from) / STATES);
		for (let cut = from + random.below(every); cut <= disk.cuts; cut += every)
			for (const state of disk.states(cut, { limit: STATES, random })) {
				await check(state, deed);
				looks++;
			}
	}
	expect(looks).toBeGreaterThan(sample(1, 10));
	if (deed.next > deed.was) expect(exposed).toBeGreaterThan(sample(0, 2));
});

test.each(names)("%s, and any write or sync of it that fails: an error, and what was there is there", async (name) => {
	const deed = known(name);
	const random = seeded(SEED);
	for (const fail of ["failSync", "failWrite"] as const) {
		for (const n of pointsOf(1, Number.POSITIVE_INFINITY, EVERY)) {
			const disk = copyOf(deed.disk, FullDisk);
			const house = await openOn(disk);
			disk[fail](n);
			const error = await deed.run(house).then(
				() => undefined,
				({ code }: { code?: string }) => code,
			);
			if (!disk.failed && !disk.wasFull) {
				expect(n).toBeGreaterThan(sample(1, 2));
				break;
			}
			// A segment that could not be removed is no error: the next opening does.
			expect(["SNAPSHOT_NOT_STORED", "EIO", "ENOSPC", "WAL_IO", "WAL_FULL", undefined]).toContain(error);
			await checkStates(house, deed);
			// One that takes nothing away takes nothing away that the index needs that may have arrived.
			await house.timeline.gc(policy(50)).catch(() => {});
			await house.wal.close().catch(() => {});
			for (const state of disk.states(disk.cuts, { limit: STATES, random })) await check(state, deed);
			await check(copyOf(disk, MemoryDisk), deed);
		}
	}
});

/** A disk on which a write fails. */
class FullDisk extends CrashDisk {
	#left = -1;
	wasFull = false;

	/** The n-th write from now on. */
	failWrite(n: number): void {
		this.#left = n;
	}

	protected override file(...args: Parameters<CrashDisk["file"]>): ReturnType<CrashDisk["file"]> {
		const file = super.file(...args);
		return {
			...file,
			write: (bytes, position) => {
				if (--this.#left === 0) {
					this.wasFull = true;
					throw Object.assign(new Error("ENOSPC"), { code: "ENOSPC" });
				}
				return file.write(bytes, position);
			},
		};
	}
}
