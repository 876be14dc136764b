/** What `gc` takes away, what outlives it, and what it refuses. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineProjection, memorySnapshots, SnapshotStore, sealed } from "@reyn/snapshot";
import { unsealed } from "@reyn/snapshot/internal";
import { fileBlobs, fileEngine, type LogEngine, memoryEngine, type Scope, type Seq } from "@reyn/wal";
import { CrashDisk, type MemoryDisk } from "@reyn/wal/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { seeded } from "../../../tests/kit/seeded.ts";
import { sample } from "../../../tests/sample.ts";
import { openTimeline } from "../src/index.ts";
import { firstToKeep } from "../src/retention.ts";
import {
	alice,
	answered,
	asked,
	bob,
	collect,
	did,
	House,
	keeping,
	main,
	noted,
	plan,
	said,
	side,
	story,
} from "./house.ts";

/** Checkpoints after each of some lines. */
async function told(house: House, lines: readonly string[], scope: Scope = main): Promise<number[]> {
	const marks: number[] = [];
	for (const line of lines) {
		house.say(line, scope);
		marks.push(await house.mark(line, { scope }));
	}
	return marks;
}

/** All that is stored of a house. */
const stored = async ({ wal, kept }: House): Promise<unknown> => [
	await collect(wal.read()),
	await Promise.all((await kept.list("")).map(async (name) => [name, await kept.get(name)])),
];

test("takes no more than was shown, whatever has become old since", async () => {
	await using house = await House.open();
	const [, b = 0] = await told(house, ["a", "b", "c"]);
	const { retainedFrom } = await house.timeline.gc({ ...keeping(2), dryRun: true });
	expect(retainedFrom).toBe(b + 1);
	await told(house, ["d", "e"]);
	expect(await house.timeline.gc({ ...keeping(2), before: retainedFrom })).toMatchObject({ retainedFrom });
	expect(await house.timeline.gc({ ...keeping(2), before: 1 })).toMatchObject({ retainedFrom, was: retainedFrom });
	expect((await house.timeline.gc(keeping(2))).retainedFrom).toBeGreaterThan(retainedFrom);
});

test("takes away what is before the checkpoints that stay, and every state after that is as it was", async () => {
	await using house = await House.open();
	const [, , c = 0, d = 0] = await told(house, ["a", "b", "c", "d"]);
	const before = await Promise.all([c, d - 1, d].map((seq) => house.told(seq)));
	expect(await house.timeline.gc(keeping(2))).toMatchObject({ retainedFrom: c + 1, was: 1, first: c + 1 });
	expect(await Promise.all([c, d - 1, d].map((seq) => house.told(seq)))).toEqual(before);
	await expect(house.told(c - 1)).rejects.toMatchObject({ code: "TIMETRAVEL_PRUNED" });
	expect(house.timeline.checkpoints().map(({ title }) => title)).toEqual(["c", "d"]);

	await using again = await house.reopen();
	expect(await Promise.all([c, d - 1, d].map((seq) => again.told(seq)))).toEqual(before);
	expect(await again.told(0)).toBe("");
	await again.timeline.checkout(c);
	again.say("e", bob);
	again.say("e", main);
	expect([await again.told(), await again.told(again.wal.tip, bob)]).toEqual(["a b c e", "e"]);
	expect(again.timeline.branches().map(({ name }) => name)).toEqual(["main", "b11"]);
});

describe("what stays", () => {
	test("each state from the cut on, whatever seq a reset behind it goes back to", async () => {
		let atTheEdge = 0;
		for (let target = 1; target <= 9; target++)
			for (const kept of [2, 3, 4, 5]) {
				const house = await House.open();
				await told(house, ["a", "b", "c", "d"]);
				await house.timeline.checkout(target);
				await told(house, ["e", "f"]);
				const states = async (of: House, from: Seq): Promise<string[]> => {
					const found: string[] = [];
					for (let seq = from; seq <= house.wal.tip; seq++) found.push(await of.told(seq));
					return found;
				};
				const before = await states(house, 0);
				const { retainedFrom } = await house.timeline.gc(keeping(kept));
				if (target === retainedFrom - 2) atTheEdge++;
				// Nothing but what was kept and the records that are left.
				await house.wal.close();
				const { engine, kept: beside } = house;
				await using again = await House.open({ engine, snapshots: memorySnapshots(), kept: beside });
				expect([target, kept, await states(again, retainedFrom - 1)]).toEqual([
					target,
					kept,
					before.slice(retainedFrom - 1),
				]);
			}
		expect(atTheEdge).toBeGreaterThan(0);
	});

	test("a session that comes to be after a cut begins empty, below an agent whose state is kept too", async () => {
		await using house = await House.open({ keptScopes: () => [{}, alice, main] });
		await told(house, ["a", "b", "c"]);
		await house.timeline.gc(keeping(1));
		expect(await house.told(house.wal.tip, side)).toBe("");
		expect(await house.told(house.wal.tip, { ...main, run: "p9" })).toBe("");
		house.say("new", side);
		expect([await house.told(house.wal.tip, side), await house.told(house.wal.tip, alice)]).toEqual([
			"new",
			"a b c new",
		]);
		// Its records went into a state of others; it has none of its own.
		house.say("once", bob);
		await told(house, ["d", "e"]);
		await house.timeline.gc(keeping(1));
		await expect(house.told(house.wal.tip, bob)).rejects.toMatchObject({ code: "SNAPSHOT_NO_BASE" });
	});

	test("the reset of another scope's state is kept whole when it is labelled, through the next cut", async () => {
		await using house = await House.open();
		house.say("b1", bob);
		const [a = 0] = await told(house, ["a"]);
		await house.timeline.label(a, "early");
		await told(house, ["b", "c", "d"]);
		await house.timeline.checkout(a, { scope: main });
		const { tip } = house.wal;
		const reset = house.timeline.lineage.resets.at(-1)?.seq ?? 0;
		await told(house, ["e"]);
		await house.timeline.gc(keeping(2));
		expect(house.timeline.retainedFrom).toBeLessThanOrEqual(reset);
		await house.timeline.label(reset, "mixed");
		await told(house, ["f", "g", "h"]);
		const states = async (of: House, seq: Seq) =>
			Promise.all([{}, alice, main, plan, side, bob].map((scope) => of.told(seq, scope)));
		const [mixed, there] = [await states(house, reset), await states(house, house.wal.tip)];
		await house.timeline.gc(keeping(1));
		expect(house.timeline.retainedFrom).toBeGreaterThan(tip);
		await house.wal.close();
		await using again = await House.open({ engine: house.engine, snapshots: memorySnapshots(), kept: house.kept });
		expect([await states(again, reset), await states(again, again.wal.tip)]).toEqual([mixed, there]);
	});

	test("a label that was taken back is not given again to what went since", async () => {
		await using house = await House.open();
		const [a = 0] = await told(house, ["a"]);
		await house.timeline.label(a - 1, "here");
		await house.timeline.undo();
		await told(house, ["b", "c"]);
		await house.timeline.gc(keeping(1));
		await expect(house.timeline.redo()).rejects.toMatchObject({ code: "NOTHING_TO_REDO" });
		await told(house, ["d", "e"]);
		expect(await house.timeline.gc(keeping(1))).toMatchObject({ labels: [] });
	});

	test("a label inside a tool cycle, with the place that a checkout of it goes to", async () => {
		await using house = await House.open();
		const [a = 0] = await told(house, ["a"]);
		house.ask("q");
		const inside = house.say("inside");
		house.answer("q");
		await house.timeline.label(inside, "inside");
		await told(house, ["b", "c", "d"]);
		await house.timeline.gc(keeping(1));
		await using again = await house.reopen();
		expect([await again.told(inside), await again.told(a)]).toEqual(["a inside", "a"]);
		expect(await again.timeline.checkout(inside)).toMatchObject({ target: a, snappedFrom: inside });
		expect(await again.told()).toBe("a");
	});

	test("inside a tool cycle that was open at the cut one goes to the seq itself, since what was before it is gone", async () => {
		await using house = await House.open();
		await told(house, ["a"]);
		house.ask("q");
		await told(house, ["x", "y"], bob);
		const inside = house.say("inside");
		house.answer("q");
		const [b = 0] = await told(house, ["b"]);
		await told(house, ["z"], bob);
		expect(await house.timeline.preview(inside)).toMatchObject({ snappedFrom: inside });
		await house.timeline.gc(keeping(3));
		expect(house.timeline.retainedFrom).toBeLessThanOrEqual(inside);
		expect(await house.timeline.preview(b)).toMatchObject({ target: b });
		const preview = await house.timeline.preview(inside);
		expect(preview).toMatchObject({ target: inside });
		expect(preview).not.toHaveProperty("snappedFrom");
		for (const { seq } of house.timeline.checkpoints()) await house.timeline.preview(seq);
		await house.timeline.checkout(inside);
		expect([await house.told(), await house.told(house.wal.tip, bob)]).toEqual(["a inside", "x y"]);
	});

	test("a part to a seq after it that would mix lines from before it is refused, and what it says instead can be done", async () => {
		await using house = await House.open();
		const [a = 0] = await told(house, ["a"]);
		await house.timeline.label(a, "a");
		house.do("x");
		await told(house, ["b", "c", "d"]);
		await house.timeline.gc(keeping(1));
		const { tip } = house.wal;
		await house.timeline.checkout(a);
		const there = house.say("e");
		const { seq: back } = await house.timeline.checkout(tip);
		house.say("f");
		const part = { drop: [said.kind, asked.kind] };
		expect(house.timeline.retainedFrom).toBeLessThan(there);
		await expect(house.timeline.preview(there, { drop: [said.kind] })).rejects.toMatchObject({
			code: "TIMETRAVEL_PRUNED",
			message: expect.stringContaining(`Go back with all of it, or in the part to seq ${back} or later`),
			detail: { target: there, from: back },
		});
		expect(await house.timeline.preview(there)).toMatchObject({ kind: "fork_switch", target: there });
		await house.timeline.checkout(back, part);
		expect(await house.told()).toBe("a x b c d");
	});

	test("what there is in place of an undo names no branch that is gone", async () => {
		await using house = await House.open();
		await told(house, ["a"]);
		const { seq } = await house.timeline.checkout(0);
		await told(house, ["b", "c", "d"]);
		await house.timeline.gc(keeping(1));
		await expect(house.timeline.undo()).rejects.toMatchObject({
			code: "NOTHING_TO_UNDO",
			message: expect.not.stringContaining("main"),
			detail: { branches: [`b${seq}`] },
		});
		expect([seq - 1, house.wal.tip, house.wal.tip + 1].map((each) => house.timeline.has(each))).toEqual([
			false,
			true,
			false,
		]);
	});

	test("what was never looked through is, before it goes", async () => {
		await using house = await House.open();
		const long = (count: number) => Array.from({ length: count }, (_, i) => `${i}`);
		for (const line of long(500)) house.say(line, bob);
		await told(house, ["a", "b"]);
		await house.timeline.gc(keeping(1));
		for (const line of long(1100)) house.say(line, bob);
		expect(await house.told()).toBe("a b");
		expect((await house.told(house.wal.tip, bob)).split(" ")).toHaveLength(1600);
	});
});

describe("the index of branches", () => {
	const text = async (house: House): Promise<string> =>
		unsealed(Buffer.from((await house.kept.get("branches")) ?? []).toString()) ?? "";
	const put = (house: House, text: string) => house.kept.put("branches", Buffer.from(text));
	const changed = async (house: House, change: (index: Record<string, unknown>) => object): Promise<void> =>
		put(house, sealed(JSON.stringify({ ...JSON.parse(await text(house)), ...change(JSON.parse(await text(house))) })));

	test.each<[string, (house: House, older: string) => Promise<unknown>, RegExp]>([
		["is missing", (house) => house.kept.delete("branches"), /is missing, and the log begins at seq 12/],
		[
			"is rotten",
			async (house) => put(house, sealed(await text(house)).replace(/"retainedFrom":\d/, '"retainedFrom":7')),
			/is damaged/,
		],
		["is cut short", async (house) => put(house, sealed(await text(house)).slice(0, -9)), /is damaged/],
		["is no JSON under a sound checksum", (house) => put(house, sealed("{")), /is not what it should be/],
		["is of a newer version", (house) => changed(house, () => ({ v: 3 })), /is of version 3.*upgrade/],
		["is of another log", (house) => changed(house, () => ({ log: "another" })), /is of the log another/],
		[
			"is older than the log",
			(house, older) => put(house, older),
			/keeps what was before seq 8, and the log begins only at seq 12/,
		],
		[
			"is ahead of the log",
			(house) => changed(house, () => ({ retainedFrom: 99 })),
			/and the log ends at seq \d+ already/,
		],
		[
			"is of another life of the log",
			(house) => changed(house, ({ bases }) => ({ bases: [{ seq: 12, crc: "00000000" }, ...(bases as object[])] })),
			/is of another life of this log: its record at seq 12/,
		],
	])("that %s is refused, and nothing is changed", async (_, harm, message) => {
		await using house = await House.open();
		await told(house, ["a", "b", "c", "d"]);
		await house.timeline.gc(keeping(2));
		const older = sealed(await text(house));
		await told(house, ["e", "f"]);
		await house.timeline.gc(keeping(2));
		expect(house.wal.first).toBe(12);
		await harm(house, older);
		const before = await stored(house);
		const { wal, snapshots, kept } = house;
		const opened = openTimeline({ wal, snapshots, kept, projections: [story] });
		await expect(opened).rejects.toMatchObject({ code: "TIMETRAVEL_INDEX", message: expect.stringMatching(message) });
		expect(await stored(house)).toEqual(before);
	});

	test("and nowhere to look for it: refused", async () => {
		await using house = await House.open();
		await told(house, ["a", "b"]);
		await house.timeline.gc(keeping(1));
		const { wal, snapshots } = house;
		const opened = openTimeline({ wal, snapshots, projections: [story] });
		await expect(opened).rejects.toMatchObject({ code: "TIMETRAVEL_INDEX" });
	});
});

describe("a kept state", () => {
	test.each<[string, (house: House, name: string) => Promise<void>]>([
		["is gone", (house, name) => house.kept.delete(name)],
		["is rotten", (house, name) => house.kept.put(name, Buffer.from("rotten"))],
		[
			"is of another record",
			async (house, name) => {
				const [other = ""] = await house.kept.list("roots/bob-main");
				await house.kept.put(name, (await house.kept.get(other)) ?? Buffer.of());
			},
		],
	])("that %s is missed: nothing is made up from what is left, and the rest works on", async (_, harm) => {
		await using house = await House.open();
		house.say("x", bob);
		const [, b = 0] = await told(house, ["a", "b", "c"]);
		await house.timeline.gc(keeping(2));
		for (const name of await house.kept.list("roots/alice-main")) await harm(house, name);
		// The cache has them too.
		await house.wal.close();
		await using bare = await House.open({ engine: house.engine, snapshots: memorySnapshots(), kept: house.kept });
		const names = await bare.kept.list("");
		for (const seq of [b, b + 1, bare.wal.tip])
			await expect(bare.told(seq)).rejects.toMatchObject({
				code: "SNAPSHOT_NO_BASE",
				message: expect.stringMatching(/Bring the kept states back from a backup/),
			});
		expect([await bare.told(bare.wal.tip, {}), await bare.told(b, bob), await bare.told(0)]).toEqual([
			"x a b c",
			"x",
			"",
		]);
		expect(await bare.kept.list("")).toEqual(names);
		await bare.timeline.checkout(0);
		expect(await bare.told()).toBe("");
	});
});

describe("a projection that is younger than the cut", () => {
	const replies = (kind: typeof answered) =>
		defineProjection<string[]>({
			name: "replies",
			version: 1,
			schema: z.array(z.string()),
			init: () => [],
			handle: (on) => [on(kind, (state, { text }) => [...state, text])],
		});

	test("begins there when it folds nothing that went, also behind a reset that is kept for itself", async () => {
		await using house = await House.open({ projections: [story] });
		const [a = 0] = await told(house, ["a", "b", "c"]);
		await house.timeline.checkout(a, { drop: ["said"] });
		await house.timeline.gc(keeping(2));
		await using upgraded = await house.reopen({ projections: [story, replies(answered)] });
		upgraded.answer("yes");
		const view = await upgraded.timeline.at(upgraded.wal.tip, main);
		expect([view.get(story), view.get(replies(answered))]).toEqual([["a"], ["yes"]]);
	});

	test("has no state when what it folds is gone: none is made up", async () => {
		await using house = await House.open({ projections: [story] });
		house.answer("yes");
		await told(house, ["a", "b", "c"]);
		await house.timeline.gc(keeping(2));
		await using upgraded = await house.reopen({ projections: [story, replies(answered)] });
		await expect(upgraded.told()).rejects.toMatchObject({ code: "SNAPSHOT_NO_BASE" });
	});
});

describe("refuses, and takes nothing away", () => {
	test("without a place for what has to outlive the log", async () => {
		await using house = await House.open();
		await told(house, ["a", "b", "c"]);
		const { wal, snapshots } = house;
		const timeline = await openTimeline({ wal, snapshots, projections: [story] });
		const before = await stored(house);
		expect(await timeline.gc({ ...keeping(1), dryRun: true })).toMatchObject({ retainedFrom: wal.tip + 1 });
		await expect(timeline.gc(keeping(1))).rejects.toMatchObject({ code: "TIMETRAVEL_NOT_KEPT" });
		expect(await stored(house)).toEqual(before);
	});

	test("a record of a scope whose state nobody keeps", async () => {
		await using house = await House.open({ keptScopes: () => [main] });
		const seq = house.say("x", bob);
		await told(house, ["a", "b", "c"]);
		const before = await stored(house);
		await expect(house.timeline.gc(keeping(1))).rejects.toMatchObject({
			code: "TIMETRAVEL_UNKEPT",
			detail: { seq, scope: bob },
		});
		expect(await stored(house)).toEqual(before);
	});

	test("a scope that was none of those to keep when its records went", async () => {
		let scopes: readonly Scope[] = [{}];
		await using house = await House.open({ keptScopes: () => scopes });
		await told(house, ["a", "b", "c"]);
		await house.timeline.gc(keeping(1));
		scopes = [{}, main];
		await told(house, ["d", "e"]);
		for (const name of await house.snapshots.rootNames()) await house.snapshots.removeRoot(name);
		await expect(house.told()).rejects.toMatchObject({ code: "SNAPSHOT_NO_BASE" });
		const before = await stored(house);
		await expect(house.timeline.gc(keeping(1))).rejects.toMatchObject({ code: "TIMETRAVEL_UNKEPT" });
		expect(await stored(house)).toEqual(before);
		scopes = [{}];
		await house.timeline.gc(keeping(1));
		expect(await house.told(house.wal.tip, {})).toBe("a b c d e");
		await expect(house.told()).rejects.toMatchObject({ code: "SNAPSHOT_NO_BASE" });
	});

	test("beside a checkout, as a checkout beside it", async () => {
		const { promise: quiet, resolve } = Promise.withResolvers<void>();
		await using house = await House.open({ quiesce: () => quiet });
		const [a = 0] = await told(house, ["a", "b", "c"]);
		const moving = house.timeline.checkout(a);
		await expect(house.timeline.gc(keeping(1))).rejects.toMatchObject({ code: "TIMETRAVEL_BUSY" });
		resolve();
		await moving;
		const collecting = house.timeline.gc(keeping(1));
		await expect(house.timeline.checkout(a)).rejects.toMatchObject({ code: "TIMETRAVEL_BUSY" });
		expect((await collecting).retainedFrom).toBeGreaterThan(1);
		await expect(house.timeline.checkout(a)).rejects.toMatchObject({ code: "TIMETRAVEL_PRUNED" });
	});
});

describe("live work holds the cut back", () => {
	/** The questions without an answer, by seq. */
	const open = defineProjection<Record<string, number>>({
		name: "open",
		version: 1,
		schema: z.record(z.string(), z.number()),
		init: () => ({}),
		handle: (on) => [
			on(asked, (state, { text }, { seq }) => ({ ...state, [text]: seq })),
			on(answered, (state, { text }) => Object.fromEntries(Object.entries(state).filter(([name]) => name !== text))),
		],
		floor: (state) => (Object.keys(state).length > 0 ? Math.min(...Object.values(state)) : undefined),
	});
	const opened = () => House.open({ projections: [story, open] });

	test("at the tip", async () => {
		await using house = await opened();
		const [, b = 0] = await told(house, ["a", "b"]);
		const q = house.ask("q");
		await told(house, ["c", "d", "e"]);
		expect(await house.timeline.gc(keeping(1))).toMatchObject({
			retainedFrom: b + 1,
			heldBy: { seq: q, projection: "open" },
		});
		house.answer("q");
		await told(house, ["f"]);
		const done = await house.timeline.gc(keeping(1));
		expect(done.retainedFrom).toBeGreaterThan(q);
		expect(done).not.toHaveProperty("heldBy");
	});

	test("at the cut, though it is over at the tip", async () => {
		await using house = await opened();
		const [a = 0] = await told(house, ["a"]);
		const q = house.ask("q");
		await told(house, ["b", "c"]);
		house.answer("q");
		await told(house, ["d"]);
		expect(await house.timeline.gc(keeping(2))).toMatchObject({ retainedFrom: a + 1, heldBy: { seq: q, scope: {} } });
		expect((await house.timeline.gc(keeping(1))).retainedFrom).toBeGreaterThan(q);
	});

	test("in a record of a kind that nobody knows here, but not in one that lies outside", async () => {
		await using house = await House.open({ known: [said.kind] });
		const [a = 0] = await told(house, ["a"]);
		const unknown = house.do("by somebody else");
		await told(house, ["b", "c"]);
		expect(await house.timeline.gc(keeping(1))).toMatchObject({
			retainedFrom: a + 1,
			heldBy: { seq: unknown, kind: did.kind, scope: main },
		});
		await using knowing = await house.reopen({ known: [said.kind, did.kind] });
		knowing.append(noted({ text: "a fact" }), main);
		await told(knowing, ["d", "e"]);
		const done = await knowing.timeline.gc(keeping(1));
		expect(done.retainedFrom).toBeGreaterThan(unknown);
		expect(done).not.toHaveProperty("heldBy");
	});

	test("in what a reset behind the cut went back to, though it was left again", async () => {
		await using house = await opened();
		const [a = 0] = await told(house, ["a"]);
		const q = house.ask("q");
		const [b = 0] = await told(house, ["b"]);
		house.answer("q");
		const [, , e = 0] = await told(house, ["c", "d", "e"]);
		await house.timeline.checkout(b);
		await told(house, ["f"]);
		await house.timeline.checkout(e);
		await told(house, ["g"]);
		expect(await house.timeline.gc(keeping(3))).toMatchObject({ retainedFrom: a + 1, heldBy: { seq: q } });
	});
});

test("a state that is being read when its front is taken away is made of what is kept instead", async () => {
	const engine = memoryEngine();
	const { promise: cut, resolve } = Promise.withResolvers<void>();
	let isWaiting = false;
	/** The next read of the log waits for the cut. */
	let isNext = false;
	const slow: LogEngine = {
		...engine,
		log: (realm) =>
			new Proxy(engine.log(realm), {
				get: (log, name) => {
					if (name !== "read" || !isNext) return Reflect.get(log, name).bind(log);
					isNext = false;
					return async function* (...range: Parameters<typeof log.read>) {
						isWaiting = true;
						await cut;
						yield* log.read(...range);
					};
				},
			}),
	};
	await using house = await House.open({ engine: slow });
	await told(house, ["a", "b", "c"]);
	for (const name of await house.snapshots.rootNames()) await house.snapshots.removeRoot(name);
	isNext = true;
	const reading = house.told();
	while (!isWaiting) await new Promise((resolve) => setImmediate(resolve));
	expect((await house.timeline.gc(keeping(1))).first).toBeGreaterThan(1);
	resolve();
	expect(await reading).toBe("a b c");
});

describe("while the log is appended to", () => {
	test("and read: nothing that was acknowledged is lost, and each state is whole", async () => {
		const directory = await mkdtemp(join(tmpdir(), "reyn-gc-"));
		try {
			const over = () => ({
				engine: fileEngine(join(directory, "log"), { segmentBytes: 4096, allocateBytes: 1024 }),
				snapshots: new SnapshotStore(fileBlobs(join(directory, "snapshots"))),
				kept: fileBlobs(join(directory, "kept")),
			});
			const house = await House.open(over());
			const acknowledged = new Map<Seq, string>();
			const lines: string[] = [];
			let isOver = false;
			const writing = (async () => {
				while (!isOver) {
					const record = house.append({ kind: "said", data: { text: `${lines.length}` } }, main);
					lines.push(`${lines.length}`);
					if (lines.length % 20 === 0) await house.mark("on");
					// Each twentieth has waited for all before it.
					if (lines.length % 20 === 0)
						for await (const { seq, crc } of house.wal.read({ after: record.seq - 1 })) acknowledged.set(seq, crc);
				}
			})();
			const reading = (async () => {
				while (!isOver) {
					const had = lines.length;
					const view = await house.timeline.at(house.wal.tip, main);
					expect(view.get(story).length).toBeGreaterThanOrEqual(had);
					await new Promise((resolve) => setImmediate(resolve));
				}
			})();
			for (let n = 0; n < sample(4, 12); n++) {
				for (const had = lines.length; lines.length < had + 40; ) await new Promise((resolve) => setImmediate(resolve));
				await house.timeline.gc(keeping(2));
			}
			isOver = true;
			await Promise.all([writing, reading]);
			expect(house.wal.first).toBeGreaterThan(1);
			const { tip } = house.wal;
			await house.wal.close();
			const again = await House.open(over());
			const found = new Map((await again.records()).map(({ seq, crc }) => [seq, crc]));
			for (const [seq, crc] of acknowledged) if (seq >= again.wal.first) expect(found.get(seq)).toBe(crc);
			expect(found.size).toBe(again.wal.tip - again.wal.first + 1);
			expect(await again.told(tip)).toBe(lines.join(" "));
			await again.wal.close();
		} finally {
			await rm(directory, { recursive: true });
		}
	});

	test.each([1, 2, 3, 4, 5, 6])(
		"and the power cut at any operation: nothing that was acknowledged is lost (seed %i)",
		async (seed) => {
			const random = seeded(seed);
			const over = (disk: MemoryDisk) => ({
				engine: fileEngine("/state/log", { disk, segmentBytes: 1024, allocateBytes: 256 }),
				snapshots: new SnapshotStore(fileBlobs("/state/snapshots", { disk })),
				kept: fileBlobs("/state/kept", { disk }),
				keptScopes: () => [main],
			});
			const disk = new CrashDisk();
			const house = await House.open(over(disk));
			await told(house, ["a", "b", "c"]);
			const acknowledged: { readonly seq: Seq; readonly crc: string; readonly cut: number }[] = [];
			let isOver = false;
			const writing = (async () => {
				for (let n = 0; !isOver || n < 10; n++) {
					const { record, durable } = house.wal.append({ kind: "said", data: { text: `${n} `.repeat(20) } }, main);
					if (random.chance(0.5)) await durable;
					else await new Promise((resolve) => setImmediate(resolve));
					await durable;
					if (random.chance(0.2)) await house.mark("on");
					acknowledged.push({ seq: record.seq, crc: record.crc, cut: disk.cuts });
				}
			})();
			for (let n = 0; n < 3; n++) await house.timeline.gc(keeping(1));
			isOver = true;
			await writing;
			expect(house.wal.first).toBeGreaterThan(1);
			for (let cut = 0; cut <= disk.cuts; cut += 1 + random.below(6)) {
				for (const left of disk.states(cut, { limit: 1, random })) {
					const again = await House.open(over(left));
					const found = new Map((await again.records()).map(({ seq, crc }) => [seq, crc]));
					for (const each of acknowledged)
						if (each.cut <= cut && each.seq >= again.wal.first) expect(found.get(each.seq)).toBe(each.crc);
					expect(again.wal.first).toBeLessThanOrEqual(again.timeline.retainedFrom);
					await again.told();
					await again.wal.close();
				}
			}
		},
	);
});

test("of the last 0 days nothing stays for its age, what was made in this moment neither", () => {
	const checkpoints = [1, 2, 3].map((seq) => ({ seq, ts: 1000 }));
	expect(firstToKeep(checkpoints, { keepDays: 0, keepCheckpoints: 1, now: 1000 })).toBe(3);
	expect(firstToKeep(checkpoints, { keepDays: 1, keepCheckpoints: 1, now: 1000 })).toBeUndefined();
});
