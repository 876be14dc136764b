/** States of the whole log: what was abandoned counts, no move changes them, and they outlive what is taken away. */
import { defineProjection, memorySnapshots, SnapshotStore } from "@reyn/snapshot";
import { type BlobStore, memoryBlobs, type Scope } from "@reyn/wal";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { bob, did, House, keeping, main, noted, side, story } from "./house.ts";

const texts = { version: 1, schema: z.array(z.string()), init: (): string[] => [] };
/** All that was ever done, and each fact, in the whole process. */
const spent = defineProjection<string[]>({
	...texts,
	name: "spent",
	follows: "log",
	handle: (on) => [did, noted].map((kind) => on(kind, (state, { text }) => [...state, text])),
});
/** All that was ever done in a session. */
const spentHere = defineProjection<string[]>({
	...texts,
	name: "spent_here",
	follows: "log",
	level: "session",
	handle: (on) => [on(did, (state, { text }) => [...state, text])],
});
const projections = [story, spent, spentHere];
const open = (options: Parameters<typeof House.open>[0] = {}) =>
	House.open({ projections, keptScopes: () => [main, side, bob], ...options });
const told = async ({ timeline, wal }: House, scope?: Scope) => {
	const view = await timeline.wholeLog.at(wal.tip, scope);
	return view.get(scope ? spentHere : spent);
};

describe("a state of the whole log", () => {
	test("counts what was abandoned, in its scope, and is in no state of a line", async () => {
		await using house = await open();
		const a = house.do("a");
		house.do("b");
		house.do("c", bob);
		await house.timeline.checkout(a);
		house.do("d");
		expect(await told(house)).toEqual(["a", "b", "c", "d"]);
		expect(await told(house, main)).toEqual(["a", "b", "d"]);
		expect(await house.told()).toBe("a d");
		const line = await house.timeline.at(house.wal.tip, main);
		expect(() => line.get(spent)).toThrowError(
			expect.objectContaining({
				code: "SNAPSHOT_UNREGISTERED",
				message:
					'no projection "spent" in this view; it has story. It has to be among the `projections` that the timeline, or the feature, was given; it is then in views of the whole log at level process alone',
			}),
		);
		const whole = await house.timeline.wholeLog.at(house.wal.tip);
		expect(() => whole.get(spentHere)).toThrowError(expect.objectContaining({ code: "SNAPSHOT_UNREGISTERED" }));
		expect(() => whole.get(story)).toThrowError(expect.objectContaining({ code: "SNAPSHOT_UNREGISTERED" }));
	});

	test("follows what is appended, and stays as it is in a move", async () => {
		await using house = await open();
		const live = await house.timeline.wholeLog.live();
		const here = await house.timeline.wholeLog.live(main);
		expect(await house.timeline.wholeLog.live()).toBe(live);
		const a = house.do("a");
		house.do("b", side);
		const view = live.view;
		await house.timeline.checkout(a - 1);
		house.do("c");
		expect([view.get(spent), live.view.get(spent), here.view.get(spentHere)]).toEqual([
			["a", "b"],
			["a", "b", "c"],
			["a", "c"],
		]);
		live.close();
		expect(await house.timeline.wholeLog.live()).not.toBe(live);
	});

	test("is stored with a checkpoint, so that a start does not read the log again", async () => {
		const reads: [string, number][] = [];
		await using house = await open();
		await house.timeline.wholeLog.live();
		for (let i = 0; i < 20; i++) {
			house.do(`${i}`);
			await house.mark(`${i}`);
		}
		await using again = await house.reopen();
		const { wal } = again;
		const read = wal.read.bind(wal);
		Object.defineProperty(wal, "read", {
			value: (range: Parameters<typeof read>[0]) => {
				reads.push(["read", (range?.through ?? wal.tip) - (range?.after ?? 0)]);
				return read(range);
			},
		});
		expect(await told(again)).toHaveLength(20);
		expect(reads.reduce((sum, [, records]) => sum + records, 0)).toBeLessThan(3);
	});

	test("is not stored where it lacks a record that was appended past the timeline", async () => {
		await using house = await open();
		await house.timeline.wholeLog.live();
		house.do("a");
		house.wal.append(did({ text: "past it" }), main);
		house.do("b");
		await house.mark("b");
		expect(await told(house)).toEqual(["a", "past it", "b"]);
		await using again = await house.reopen();
		expect(await told(again)).toEqual(["a", "past it", "b"]);
	});
});

describe("behind a cut", () => {
	/** A log whose front is gone, and with it what was abandoned there. */
	async function cut(house: House): Promise<void> {
		const a = house.do("a");
		house.do("b");
		house.note("fact");
		house.do("of bob", bob);
		await house.timeline.checkout(a);
		for (const text of ["c", "d"]) {
			house.do(text);
			await house.mark(text);
		}
		await house.timeline.gc(keeping(1));
		expect(house.wal.first).toBe(house.timeline.retainedFrom);
		expect(house.wal.first).toBeGreaterThan(a + 4);
	}

	test("it stands for all that was taken away, cut after cut", async () => {
		await using house = await open();
		await cut(house);
		const check = async (each: House) => {
			expect([await told(each), await told(each, main), await told(each, bob)]).toEqual([
				["a", "b", "fact", "of bob", "c", "d"],
				["a", "b", "c", "d"],
				["of bob"],
			]);
			await expect(each.timeline.wholeLog.at(1)).rejects.toMatchObject({ code: "TIMETRAVEL_PRUNED" });
		};
		await check(house);
		await using last = await house.reopen();
		await check(last);
		last.do("e");
		await last.mark("e");
		await last.timeline.gc(keeping(1));
		await using again = await last.reopen();
		expect(await told(again)).toEqual(["a", "b", "fact", "of bob", "c", "d", "e"]);
		expect(await told(again, side)).toEqual([]);
	});

	test("a projection that was not there begins at the cut if it may, and else says so; facts are whole", async () => {
		await using house = await open({ projections: [story] });
		await cut(house);
		await using without = await house.reopen({ projections, keptScopes: () => [main, side, bob] });
		await expect(without.timeline.wholeLog.at(without.wal.tip)).rejects.toMatchObject({
			code: "SNAPSHOT_NO_BASE",
			message: expect.stringContaining("mayBeginLate"),
		});
		const late = defineProjection<string[]>({
			...texts,
			name: "spent",
			follows: "log",
			mayBeginLate: true,
			handle: (on) => [did, noted].map((kind) => on(kind, (state, { text }) => [...state, text])),
		});
		await using with_ = await without.reopen({ projections: [story, late], keptScopes: () => [main, side, bob] });
		with_.do("e");
		const begun = await with_.timeline.wholeLog.at(with_.wal.tip);
		expect(begun.get(late)).toEqual(["fact", "e"]);
		// From the next cut on it is kept like any.
		await with_.mark("e");
		await with_.timeline.gc(keeping(1));
		await using again = await with_.reopen();
		expect((await again.timeline.wholeLog.at(again.wal.tip)).get(late)).toEqual(["fact", "e"]);
	});

	test("a projection of a line may begin late too", async () => {
		await using house = await open({ projections: [story] });
		await cut(house);
		const late = (mayBeginLate: boolean) =>
			defineProjection<string[]>({
				...texts,
				name: "late",
				mayBeginLate,
				handle: (on) => [on(did, (state, { text }) => [...state, text])],
			});
		const [must, may] = [late(false), late(true)];
		await using strict = await house.reopen({ projections: [story, must], keptScopes: () => [main, side, bob] });
		await expect(strict.timeline.at(strict.wal.tip, main)).rejects.toMatchObject({ code: "SNAPSHOT_NO_BASE" });
		await using lenient = await strict.reopen({ projections: [story, may], keptScopes: () => [main, side, bob] });
		lenient.do("e");
		const view = await lenient.timeline.at(lenient.wal.tip, main);
		expect([view.get(may), view.get(story)]).toEqual([["e"], ["a", "c", "d", "e"]]);
	});

	test("a kept state that is lost is said to be, and nothing begins anew in silence", async () => {
		const kept = memoryBlobs();
		const late = { ...spent, mayBeginLate: true };
		await using house = await open({ projections: [story, late], kept });
		await cut(house);
		for (const name of await kept.list("whole/roots/")) await kept.delete(name);
		for (const name of await house.snapshots.below("whole").rootNames())
			await house.snapshots.below("whole").removeRoot(name);
		await using again = await house.reopen();
		await expect(again.timeline.wholeLog.at(again.wal.tip)).rejects.toMatchObject({ code: "SNAPSHOT_NO_BASE" });
	});

	test("a session whose state is not kept holds the cut", async () => {
		await using house = await open({ projections: [spent, spentHere], keptScopes: () => [main] });
		house.do("a", bob);
		await house.mark("b", { scope: main });
		await house.mark("c", { scope: main });
		await expect(house.timeline.gc(keeping(1))).rejects.toMatchObject({ code: "TIMETRAVEL_UNKEPT" });
		expect(house.wal.first).toBe(1);
	});

	test("killed at each change, it is there before and after", async () => {
		for (let at = 1; ; at++) {
			let left = at;
			let isDead = false;
			const dying = (blobs: BlobStore): BlobStore => ({
				...blobs,
				put: async (name, bytes) => {
					if (isDead || --left < 0) isDead = true;
					if (isDead) throw new Error("killed");
					await blobs.put(name, bytes);
				},
			});
			const kept = memoryBlobs();
			const snapshots = memoryBlobs();
			await using house = await open({ kept: dying(kept), snapshots: new SnapshotStore(snapshots) });
			left = 1e9;
			const a = house.do("a");
			house.do("b");
			await house.timeline.checkout(a);
			for (const text of ["c", "d"]) {
				house.do(text);
				await house.mark(text);
			}
			left = at;
			const done = await house.timeline.gc(keeping(1)).catch((error: Error) => error);
			await house.wal.close();
			await using again = await open({ engine: house.engine, kept, snapshots: memorySnapshots() });
			await again.timeline.settle();
			expect([at, await told(again), await told(again, main)]).toEqual([
				at,
				["a", "b", "c", "d"],
				["a", "b", "c", "d"],
			]);
			if (!(done instanceof Error)) return expect(at).toBeGreaterThan(5);
		}
	});
});

test("a checkout reads no more where there is a state of the whole log", async () => {
	const read: number[] = [];
	for (const folded of [[story], projections]) {
		await using house = await open({ projections: folded });
		const here = await house.timeline.live(main);
		const live = folded === projections ? await house.timeline.wholeLog.live() : undefined;
		for (let i = 0; i < 20; i++) house.say(`${i}`);
		const target = house.wal.tip;
		for (let i = 0; i < 5000; i++) house.do(`${i}`);
		const { wal } = house;
		const all = wal.read.bind(wal);
		let records = 0;
		Object.defineProperty(wal, "read", {
			value: (range: Parameters<typeof all>[0]) => {
				records += (range?.through ?? wal.tip) - (range?.after ?? 0);
				return all(range);
			},
		});
		await house.timeline.checkout(target);
		read.push(records);
		expect(here.view.get(story)).toHaveLength(20);
		if (live) expect(live.view.get(spent)).toHaveLength(5000);
	}
	const [without = 0, withIt = 0] = read;
	expect(without).toBeGreaterThan(0);
	expect(withIt).toBeLessThanOrEqual(without * 1.1);
});
