/**
 * Moves that are killed, or lose their power, at any operation of the disk, and their finish too: afterwards the move has
 * happened or it has not, and nothing is written twice. `REYN_STATES` sets how many states a power cut is followed into (default 6),
 * `REYN_SEED` which.
 */
import { fileEngine, type Scope } from "@reyn/wal";
import { CrashDisk, type MemoryDisk, MortalDisk } from "@reyn/wal/testing";
import { beforeAll, expect, test } from "vitest";
import { SEED, seeded } from "../../../tests/kit/seeded.ts";
import { pointsOf, sample, some } from "../../../tests/sample.ts";
import { type MovePreview, moveWith, reset, resetSettled, type Timeline } from "../src/index.ts";
import { bob, did, House, main, plan, said, side } from "./house.ts";

const STATES = Number(process.env.REYN_STATES ?? sample(3, 6));
const EVERY = 3;
const DIRECTORY = "/state";
const scopes: readonly Scope[] = [{}, main, side, plan, bob];

/** What is on a disk, all of it durable. */
type Image = readonly [files: readonly (readonly [string, Uint8Array])[], directories: readonly string[]];

/** Told below: three lines of history, and an undo to take back or to make again. */
let image: Image;
const at = { a: 0, b: 0, c: 0, e: 0 };
let resetsBefore: number;
beforeAll(async () => {
	const disk = new CrashDisk();
	const house = await enter(disk, { lastWord: false });
	at.a = house.say("a", main);
	house.say("s", side);
	house.do("p", plan);
	await house.mark("one");
	at.b = house.say("b", main);
	house.say("x", bob);
	await house.mark("two");
	await house.timeline.checkout(at.a);
	at.c = house.say("c", main);
	await house.mark("three");
	await house.timeline.checkout(at.b);
	house.do("d", main);
	await house.timeline.checkout(at.c);
	at.e = house.say("e", main);
	await house.timeline.undo();
	resetsBefore = (await house.records()).filter(reset.is).length;
	await house.wal.close();
	image = imageOf(disk);
});

type Run = (timeline: Timeline) => Promise<{ readonly kind?: string }>;

const moves: readonly { readonly name: string; readonly kind?: string; readonly run: Run }[] = [
	{ name: "an undo of a line", kind: "undo", run: (timeline) => timeline.checkout(at.a) },
	{ name: "a fork-switch", kind: "fork_switch", run: (timeline) => timeline.checkout(at.c) },
	{ name: "a fork-switch of a fork", kind: "fork_switch", run: (timeline) => timeline.checkout(at.e) },
	{ name: "a rewind of one session", kind: "undo", run: (timeline) => timeline.checkout(at.a, { scope: main }) },
	{ name: "a rewind of some kinds", kind: "undo", run: (timeline) => timeline.checkout(at.a, { drop: [said.kind] }) },
	{ name: "undo", run: (timeline) => timeline.undo() as Promise<object> },
	{ name: "redo", run: (timeline) => timeline.redo() as Promise<object> },
	{
		name: "a move in three steps",
		kind: "fork_switch",
		run: async (timeline) => steps(timeline, await timeline.preview(at.c)),
	},
	{
		name: "an undo in three steps",
		kind: "fork_switch",
		run: async (timeline) => steps(timeline, await timeline.previewUndo()),
	},
];

/** As a runtime of one's own makes a move, with what stops and what is rebuilt in each of these houses. */
async function steps(timeline: Timeline, preview: MovePreview): Promise<MovePreview> {
	const { quiesce, rebuild } = partsOf.get(timeline) as HouseParts;
	const quiet = async (): Promise<() => void> => {
		await quiesce();
		return () => {};
	};
	await moveWith({ quiet, rebuild: ({ seq }) => rebuild(seq) }, timeline, preview, { actor: "user" });
	return preview;
}

interface HouseParts {
	quiesce(): Promise<void>;
	rebuild(seq: number): Promise<void>;
}
const partsOf = new WeakMap<Timeline, HouseParts>();

test.each(moves)("$name, killed at any point, and its finish too", async ({ run, kind }) => {
	const expected = await pictures(run, kind);
	const met = { move: 0, finish: 0 };
	for (const n of pointsOf(1, Number.POSITIVE_INFINITY, 5)) {
		const disk = new MortalDisk(...image);
		const { timeline } = await enter(disk);
		disk.dieAt(n);
		await run(timeline).catch(() => undefined);
		if (!disk.dead) break;
		met.move++;
		disk.live();
		const left = imageOf(disk);
		for (const m of pointsOf(1, Number.POSITIVE_INFINITY, EVERY)) {
			const again = new MortalDisk(...left);
			const { timeline } = await enter(again);
			again.dieAt(m);
			await timeline.settle().catch(() => undefined);
			const isFinished = !again.dead;
			again.live();
			await check(again, expected);
			if (isFinished) break;
			met.finish++;
		}
	}
	expect(met.move).toBeGreaterThan(sample(1, 5));
	expect(met.finish).toBeGreaterThan(sample(0, met.move));
});

test.each(some(moves, 3))("$name, and a power cut at any point", async ({ run, kind }) => {
	const expected = await pictures(run, kind);
	const disk = new CrashDisk(...image);
	await run((await enter(disk)).timeline);
	const random = seeded(SEED);
	const seen = [0, 0, 0];
	for (const cut of pointsOf(0, disk.cuts, EVERY))
		for (const state of disk.states(cut, { limit: STATES, random })) (seen[await check(state, expected)] as number)++;
	expect(Math.min(...seen)).toBeGreaterThan(0);
});

/** A process: what it stops has a last word, and its rebuild writes two records, unless they are there. */
async function enter(disk: MemoryDisk, { lastWord = true } = {}): Promise<House> {
	const parts: HouseParts = {
		quiesce: async () => {
			if (lastWord) await house.wal.append(said({ text: "last" }), bob).durable;
		},
		rebuild: async (seq) => {
			for (const part of ["one", "two"]) {
				const text = `closed ${seq} ${part}`;
				if (!(await house.told()).includes(text)) await house.wal.append(did({ text }), main).durable;
			}
		},
	};
	const house: House = await House.open({ engine: fileEngine(DIRECTORY, { disk }), begins: [], ...parts });
	partsOf.set(house.timeline, parts);
	return house;
}

/** What there is to see where nothing has happened yet, where the work had its last word, and where the move has happened. */
async function pictures(run: Run, kind: string | undefined): Promise<readonly unknown[]> {
	const quiet = await enter(new CrashDisk(...image));
	const before = await picture(quiet);
	await quiet.wal.append(said({ text: "last" }), bob).durable;
	const moved = await enter(new CrashDisk(...image));
	expect((await run(moved.timeline)).kind).toBe(kind);
	return [before, await picture(quiet), await picture(moved)];
}

/** Another process starts, and finishes what it finds. Gives which of the pictures it shows. */
async function check(disk: MemoryDisk, expected: readonly unknown[]): Promise<number> {
	const house = await enter(disk);
	await house.timeline.settle();
	const records = await house.records();
	await house.timeline.settle();
	expect(await house.records()).toHaveLength(records.length);
	const resets = records.filter(reset.is);
	const hasLastWord = records.some((record) => said.is(record) && record.data.text === "last");
	const which = resets.length > resetsBefore ? 2 : hasLastWord ? 1 : 0;
	expect(await picture(house)).toEqual(expected[which]);
	// Of each reset once: what its rebuild writes, and that it is settled.
	const told = records.flatMap((record) => {
		if (resetSettled.is(record)) return [`settled ${record.data.reset}`];
		return did.is(record) && record.data.text.startsWith("closed") ? [record.data.text] : [];
	});
	expect(told).toEqual(resets.flatMap(({ seq }) => [`closed ${seq} one`, `closed ${seq} two`, `settled ${seq}`]));
	await house.wal.close();
	return which;
}

/** State, branches, checkpoints, and the way back; what a start itself writes is no part of it. */
async function picture(house: House): Promise<unknown> {
	const { timeline, wal } = house;
	return {
		states: await Promise.all(scopes.map((scope) => house.told(wal.tip, scope))),
		branches: timeline.branches().map(({ name, parent, forkedAt, active }) => ({ name, parent, forkedAt, active })),
		checkpoints: timeline.checkpoints(),
		moves: await timeline.moves(),
	};
}

const imageOf = (disk: MemoryDisk): Image => [
	[...disk.files].map(([path, { bytes }]) => [path, bytes.slice()] as const),
	[...disk.directories],
];
