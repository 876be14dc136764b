/** The timeline: checkpoints, states at any seq, checkouts, branches. */
import { SnapshotStore, View } from "@reyn/snapshot";
import { memoryBlobs, memoryEngine, openWal, type Scope, type Seq, type Wal } from "@reyn/wal";
import { mortalEngine } from "@reyn/wal/testing";
import { describe, expect, test } from "vitest";
import {
	type CheckoutOptions,
	checkpoint,
	openTimeline,
	reset,
	resetSettled,
	timetravelRecords,
} from "../src/index.ts";
import { alice, bob, collect, did, House, type HouseOptions, main, plan, said, side, story } from "./house.ts";

describe("a checkpoint", () => {
	test("is durable, and addresses a snapshot of its scope", async () => {
		await using house = await House.open();
		house.say("a");
		const seq = await house.mark("first turn");
		expect(house.wal.durableTip).toBe(seq);
		expect(await house.snapshots.roots(main)).toEqual([seq]);
		expect(house.timeline.checkpoints()).toEqual([
			{ seq, ts: expect.any(Number), scope: main, kind: "turn", title: "first turn", active: true },
		]);
	});

	test("stores the state as of its own seq, whatever comes while it becomes durable", async () => {
		await using house = await House.open();
		house.say("a");
		await house.live(main);
		const cut = house.mark("first turn");
		house.say("later");
		const seq = await cut;
		expect(await house.snapshots.root(main, seq)).toContain('["a"]');
		expect(await house.told(seq)).toBe("a");
		expect(await house.told()).toBe("a later");
	});

	test("leaves no snapshot when its record cannot be kept", async () => {
		const disk = mortalEngine();
		await using house = await House.open({ engine: disk });
		house.say("a");
		await house.live(main);
		disk.die();
		await expect(house.mark("first turn")).rejects.toMatchObject({ code: "WAL_POISONED" });
		expect(await house.snapshots.roots(main)).toEqual([]);
	});

	test("is stored when its record is on disk, and no sooner", async () => {
		const behind: Seq[] = [];
		let wal: Wal | undefined;
		const blobs = memoryBlobs();
		const snapshots = new SnapshotStore({
			...blobs,
			async put(name, bytes) {
				const seq = Number(/\d{20}$/.exec(name)?.[0] ?? 0);
				if (seq > (wal as Wal).durableTip) behind.push(seq);
				await blobs.put(name, bytes);
			},
		});
		await using house = await House.open({ snapshots });
		wal = house.wal;
		house.say("a");
		const seq = await house.mark("first turn");
		expect([await snapshots.roots(main), behind]).toEqual([[seq], []]);
	});

	test("that a rewind left behind is still listed, as abandoned, in this process and the next", async () => {
		await using house = await House.open();
		const a = house.say("a");
		const left = await house.mark("left behind");
		await house.timeline.checkout(a);
		const kept = await house.mark("kept");
		const listed = [
			[left, false],
			[kept, true],
		];
		expect(house.timeline.checkpoints().map(({ seq, active }) => [seq, active])).toEqual(listed);
		await using next = await house.reopen();
		expect(next.timeline.checkpoints().map(({ seq, active }) => [seq, active])).toEqual(listed);
	});

	test("is listed for every scope that it lies in", async () => {
		await using house = await House.open();
		const turn = await house.mark("turn", { scope: main });
		const step = await house.mark("step", { scope: plan, of: main, kind: "plan_step" });
		const other = await house.mark("other", { scope: side });
		const seqs = (scope?: Scope) => house.timeline.checkpoints(scope).map(({ seq }) => seq);
		expect(seqs()).toEqual([turn, step, other]);
		expect(seqs(main)).toEqual([turn, step]);
		expect(seqs(plan)).toEqual([step]);
		expect(seqs(bob)).toEqual([]);
	});
});

describe("the state at a seq", () => {
	test("is that of its own line of history, abandoned or not, checkpoint or not", async () => {
		await using house = await House.open();
		const [a, b] = [house.say("a"), house.say("b")];
		await house.mark("turn");
		const c = house.say("c");
		const { seq: first } = await house.timeline.checkout(a);
		const d = house.say("d");
		await house.timeline.checkout(c);
		const e = house.say("e");
		const told = async (seq: Seq) => [seq, await house.told(seq)];
		expect(await Promise.all([0, a, b, c, first, d, e].map(told))).toEqual([
			[0, ""],
			[a, "a"],
			[b, "a b"],
			[c, "a b c"],
			[first, "a"],
			[d, "a d"],
			[e, "a b c e"],
		]);
	});

	test("has the records of its scope and of those below", async () => {
		await using house = await House.open();
		house.say("a", main);
		house.do("p", plan);
		house.say("s", side);
		house.say("b", bob);
		const told = await Promise.all([{}, alice, main, plan, side].map((scope) => house.told(house.wal.tip, scope)));
		expect(told).toEqual(["a p s b", "a p s", "a p", "p", "s"]);
	});

	test.each([-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 99])(
		"%d is refused with the range that there is, and nothing is written or cancelled",
		async (seq) => {
			const stopped: Scope[] = [];
			await using house = await House.open({ quiesce: async (scope) => void stopped.push(scope) });
			house.say("a");
			const before = await house.records();
			const { timeline, wal } = house;
			const refused = { code: "TIMETRAVEL_OUT_OF_RANGE", detail: { seq, first: 0, last: wal.tip } };
			await expect(timeline.at(seq, main)).rejects.toMatchObject(refused);
			await expect(timeline.preview(seq)).rejects.toMatchObject(refused);
			await expect(timeline.checkout(seq)).rejects.toMatchObject(refused);
			await expect(timeline.rewindTo(seq)).rejects.toMatchObject(refused);
			await expect(timeline.rewindTo(seq)).rejects.toThrow(`0 (genesis) to ${wal.tip} (the tip)`);
			expect([await house.records(), stopped]).toEqual([before, []]);
		},
	);
});

describe("a checkout", () => {
	test("of an ancestor is an undo, and one record", async () => {
		await using house = await House.open();
		const a = house.say("a");
		const b = house.say("b");
		const done = await house.timeline.checkout(a);
		expect(done).toEqual({ kind: "undo", seq: b + 1, target: a });
		expect(await house.told()).toBe("a");
		const [written, settled, ...more] = await collect(house.wal.read({ after: b }));
		expect(written).toMatchObject({ seq: done.seq, kind: reset.kind, scope: {}, data: { target: a, actor: "user" } });
		expect(settled).toMatchObject({ kind: resetSettled.kind, data: { reset: done.seq } });
		expect(more).toEqual([]);
	});

	test("of an abandoned seq is a switch to its branch, and its state comes back as it was", async () => {
		await using house = await House.open();
		const a = house.say("a");
		await house.mark("turn");
		house.do("b");
		const left = house.wal.tip;
		const leftBehind = (await house.timeline.at(left, main)).hash();
		await house.timeline.checkout(a);
		house.say("c");
		expect((await house.timeline.at(house.wal.tip, main)).hash()).not.toBe(leftBehind);
		expect(await house.timeline.checkout(left)).toMatchObject({ kind: "fork_switch", target: left });
		expect((await house.timeline.at(house.wal.tip, main)).hash()).toBe(leftBehind);
		expect((await house.live(main)).hash()).toBe(leftBehind);
	});

	test("of the tip writes and cancels nothing", async () => {
		const stopped: Scope[] = [];
		await using house = await House.open({ quiesce: async (scope) => void stopped.push(scope) });
		const tip = house.say("a");
		const before = await house.records();
		expect(await house.timeline.checkout(tip)).toEqual({ kind: "none", seq: tip, target: tip });
		expect([await house.records(), stopped]).toEqual([before, []]);
	});

	test("of genesis leaves nothing, and can be left again", async () => {
		await using house = await House.open();
		const a = house.say("a");
		expect(await house.timeline.checkout(0)).toMatchObject({ kind: "undo", target: 0 });
		expect(await house.told(house.wal.tip, {})).toBe("");
		expect(await house.timeline.checkout(a)).toMatchObject({ kind: "fork_switch", target: a });
		expect(await house.told(house.wal.tip, {})).toBe("a");
	});

	test("in a scope moves that scope alone, and says for that scope what it is", async () => {
		await using house = await House.open();
		const a = house.say("a", main);
		const s = house.say("s", side);
		house.say("b", main);
		expect(await house.timeline.checkout(a, { scope: main })).toMatchObject({ kind: "undo" });
		expect([await house.told(house.wal.tip, main), await house.told(house.wal.tip, side)]).toEqual(["a", "s"]);
		// Abandoned for main, and so for the process; for the other session it is its past.
		expect((await house.timeline.preview(s, { scope: main })).kind).toBe("fork_switch");
		expect((await house.timeline.preview(s)).kind).toBe("fork_switch");
		expect((await house.timeline.preview(s, { scope: side })).kind).toBe("undo");
	});

	test("of the process takes every session along", async () => {
		await using house = await House.open();
		const a = house.say("a", main);
		house.say("s", side);
		house.say("b", bob);
		await house.timeline.checkout(a);
		expect(await house.told(house.wal.tip, {})).toBe("a");
	});

	test("of some kinds moves those alone, and says for those what it is", async () => {
		await using house = await House.open();
		const a = house.say("a");
		const x = house.do("x");
		house.say("b");
		house.do("y");
		expect(await house.timeline.checkout(a, { drop: [said.kind] })).toMatchObject({ kind: "undo" });
		expect(await house.told()).toBe("a x y");
		expect((await house.timeline.preview(x)).kind).toBe("fork_switch");
		expect((await house.timeline.preview(x, { drop: [did.kind] })).kind).toBe("undo");
		await house.timeline.checkout(x, { drop: [did.kind] });
		expect(await house.told()).toBe("a x");
	});

	test("keeps in its record who asked for what", async () => {
		await using house = await House.open();
		const a = house.say("a", main);
		house.say("b", main);
		const asked = { scope: main, drop: [said.kind], actor: "carol", mode: "conversation_only", counts: { said: 1 } };
		const { seq } = await house.timeline.checkout(a, asked);
		const [record] = await collect(house.wal.read({ after: seq - 1, through: seq }));
		const { scope, ...data } = asked;
		expect(record).toMatchObject({ kind: reset.kind, scope, data: { target: a, ...data } });
	});

	test("stops the work first, then writes, then rebuilds on what is durable", async () => {
		const order: string[] = [];
		let house: House;
		const resets = async () => (await collect(house.wal.read({ kinds: { only: [reset.kind] } }))).length;
		house = await House.open({
			async quiesce(scope) {
				order.push(`quiesce ${scope.session} with ${await resets()} resets`);
				house.say("the last word of what was stopped");
			},
			async rebuild(seq, scope) {
				expect(house.wal.durableTip).toBe(seq);
				order.push(`rebuild ${scope.session} with ${await resets()} resets`);
				expect(await house.told()).toBe("a");
			},
		});
		const a = house.say("a");
		house.say("b");
		await house.timeline.checkout(a, { scope: main });
		expect(order).toEqual(["quiesce main with 0 resets", "rebuild main with 1 resets"]);
		await house.wal.close();
	});

	test("writes nothing when something will not stop, and may be tried again", async () => {
		let stubborn = true;
		await using house = await House.open({
			async quiesce() {
				if (stubborn) throw new Error("plan p1 did not stop");
			},
		});
		const a = house.say("a");
		house.say("b");
		const before = await house.records();
		await expect(house.timeline.checkout(a)).rejects.toThrow("plan p1 did not stop");
		await expect(house.timeline.rewindTo(a)).rejects.toThrow("plan p1 did not stop");
		expect(await house.records()).toEqual(before);
		expect(await house.told()).toBe("a b");
		stubborn = false;
		expect(await house.timeline.checkout(a)).toMatchObject({ kind: "undo" });
	});

	test("is refused while another one is under way", async () => {
		const quiet = Promise.withResolvers<void>();
		await using house = await House.open({ quiesce: () => quiet.promise });
		const a = house.say("a");
		const b = house.say("b");
		house.say("c");
		const first = house.timeline.checkout(a);
		await expect(house.timeline.checkout(b)).rejects.toMatchObject({ code: "TIMETRAVEL_BUSY" });
		await expect(house.timeline.rewindTo(b)).rejects.toMatchObject({ code: "TIMETRAVEL_BUSY" });
		quiet.resolve();
		expect(await first).toMatchObject({ kind: "undo", target: a });
		expect(await collect(house.wal.read({ kinds: { only: [reset.kind] } }))).toHaveLength(1);
	});
});

describe("a rewind", () => {
	test("is an undo", async () => {
		await using house = await House.open();
		const a = house.say("a");
		house.say("b");
		expect(await house.timeline.rewindTo(a, { actor: "carol" })).toMatchObject({ kind: "undo", target: a });
		expect(await house.timeline.rewindTo(house.wal.tip)).toMatchObject({ kind: "none" });
	});

	test("refuses to leave the current line, names the branch, and writes nothing", async () => {
		await using house = await House.open();
		const a = house.say("a");
		const left = house.say("b");
		const { seq } = await house.timeline.checkout(a);
		const leftToo = house.say("c");
		await house.timeline.checkout(a);
		const before = await house.records();
		await expect(house.timeline.rewindTo(left)).rejects.toMatchObject({
			code: "TIMETRAVEL_NOT_ACTIVE",
			detail: { seq: left, branch: "main" },
		});
		await expect(house.timeline.rewindTo(leftToo)).rejects.toMatchObject({
			code: "TIMETRAVEL_NOT_ACTIVE",
			detail: { seq: leftToo, branch: `b${seq}` },
		});
		expect(await house.records()).toEqual(before);
	});
});

test("history is what counts at the tip: after a seq, in a scope", async () => {
	await using house = await House.open();
	const a = house.say("a", main);
	const s = house.say("s", side);
	house.say("b", main);
	await house.timeline.checkout(a, { scope: main });
	const c = house.say("c", main);
	const told = async (after?: Seq, scope?: Scope) =>
		(await collect(house.timeline.history(after, scope))).filter(said.is).map(({ seq }) => seq);
	expect(await told()).toEqual([a, s, c]);
	expect(await told(a)).toEqual([s, c]);
	expect(await told(0, main)).toEqual([a, c]);
	expect(await told(0, side)).toEqual([s]);
});

describe("a move that was cut short between its reset and the rebuild", () => {
	const crash = { rebuild: () => Promise.reject(new Error("killed")) };
	/** Writes down what is rebuilt. */
	const noting = (rebuilt: [Seq, Scope][]): HouseOptions => ({
		rebuild: async (seq, scope) => void rebuilt.push([seq, scope]),
	});

	test("is finished at the next start, once", async () => {
		const dead = await House.open(crash);
		const a = dead.say("a");
		const b = dead.say("b");
		await expect(dead.timeline.checkout(a, { scope: main })).rejects.toThrow("killed");

		const rebuilt: [Seq, Scope][] = [];
		await using house = await dead.reopen(noting(rebuilt));
		expect(await house.told()).toBe("a");
		await house.timeline.settle();
		expect(rebuilt).toEqual([[b + 1, main]]);
		const settled = await house.records();
		await house.timeline.settle();
		await using next = await house.reopen(noting(rebuilt));
		await next.timeline.settle();
		expect(rebuilt).toHaveLength(1);
		expect((await next.records()).slice(0, settled.length)).toEqual(settled);
		expect(await collect(next.wal.read({ kinds: { only: [resetSettled.kind] } }))).toHaveLength(1);
	});

	test("is done again when the finish is killed too, with the same outcome", async () => {
		let dead = await House.open(crash);
		const a = dead.say("a");
		dead.say("b");
		await expect(dead.timeline.checkout(a)).rejects.toThrow("killed");
		dead = await dead.reopen();
		await expect(dead.timeline.settle()).rejects.toThrow("killed");
		await using house = await dead.reopen({});
		await house.timeline.settle();
		expect(await house.told()).toBe("a");
		expect(await collect(house.wal.read({ kinds: { only: [reset.kind] } }))).toHaveLength(1);
	});

	test("is not forgotten because another one came after it", async () => {
		let dies = true;
		const rebuilt: [Seq, Scope][] = [];
		await using house = await House.open({
			async rebuild(seq, scope) {
				if (dies) throw new Error("killed");
				rebuilt.push([seq, scope]);
			},
		});
		const a = house.say("a", side);
		house.say("b", side);
		house.say("c", main);
		await house.live(side);
		await expect(house.timeline.checkout(a)).rejects.toThrow("killed");
		const first = house.wal.tip;
		dies = false;
		const { seq: second } = await house.timeline.checkout(0, { scope: main });
		expect(rebuilt).toEqual([
			[first, {}],
			[second, main],
		]);
		expect((await house.live(side)).get(story)).toEqual(["a"]);
	});

	test("does nothing in a log that was never rewound", async () => {
		const rebuilt: [Seq, Scope][] = [];
		await using house = await House.open(noting(rebuilt));
		house.say("a");
		const before = await house.records();
		await house.timeline.settle();
		expect([rebuilt, await house.records()]).toEqual([[], before]);
	});
});

describe("a handle", () => {
	test("refuses once a rewind has left its line, and what it was given is not in the log", async () => {
		await using house = await House.open();
		const old = house.timeline.handle();
		const a = old.append(said({ text: "a" }), main).seq;
		old.append(said({ text: "b" }), main);
		const { seq } = await house.timeline.checkout(a);
		const before = await house.records();
		expect(() => old.append(said({ text: "too late" }), main)).toThrowError(
			expect.objectContaining({ code: "STALE_LINEAGE", detail: { reset: seq, kind: said.kind } }),
		);
		expect(await house.records()).toEqual(before);
		house.timeline.handle().append(said({ text: "c" }), main);
		expect(await house.told()).toBe("a c");
	});

	test.each<{ of: Scope; rewound: Scope; drop?: readonly string[]; stale: boolean }>([
		{ of: main, rewound: {}, stale: true },
		{ of: main, rewound: alice, stale: true },
		{ of: main, rewound: main, stale: true },
		{ of: plan, rewound: main, stale: true },
		{ of: main, rewound: main, drop: [said.kind, did.kind], stale: true },
		{ of: main, rewound: main, drop: [did.kind], stale: false },
		// What a session says itself is no record of its run.
		{ of: main, rewound: plan, stale: false },
		{ of: {}, rewound: side, stale: false },
		{ of: main, rewound: side, stale: false },
		{ of: main, rewound: bob, stale: false },
		{ of: plan, rewound: { ...main, run: "p2" }, stale: false },
	])("for $of is stale after a rewind of $drop in $rewound: $stale", async ({ of, rewound, drop, stale }) => {
		await using house = await House.open();
		const a = house.say("a");
		house.say("b");
		const handle = house.timeline.handle();
		await house.timeline.checkout(a, { scope: rewound, ...(drop && { drop }) });
		const write = () => handle.append(said({ text: "c" }), of);
		if (stale) expect(write).toThrowError(expect.objectContaining({ code: "STALE_LINEAGE" }));
		else expect(write).not.toThrow();
	});

	test("is refused from the moment of the reset, not only after the rebuild", async () => {
		const refused: unknown[] = [];
		let write = (): unknown => undefined;
		await using house = await House.open({
			async rebuild() {
				try {
					write();
				} catch (error) {
					refused.push((error as { code?: unknown }).code);
				}
			},
		});
		const a = house.say("a");
		house.say("b");
		const handle = house.timeline.handle();
		write = () => handle.append(said({ text: "c" }), main);
		await house.timeline.checkout(a);
		expect(refused).toEqual(["STALE_LINEAGE"]);
	});

	test("of the next process is bound to the line that it finds", async () => {
		await using house = await House.open();
		const a = house.say("a");
		house.say("b");
		await house.timeline.checkout(a);
		await using next = await house.reopen();
		next.timeline.handle().append(said({ text: "c" }), main);
		expect(await next.told()).toBe("a c");
	});
});

describe("inside a tool cycle", () => {
	test("a checkout goes to just before its calls, and says so; the state itself can be looked at", async () => {
		await using house = await House.open();
		house.say("a");
		await house.mark("turn");
		const before = house.say("b");
		const open = house.ask("search");
		house.answer("search");
		expect(await house.told(open)).toBe("a b");
		expect(await house.timeline.preview(open)).toEqual({
			kind: "undo",
			coverage: { scope: {} },
			target: before,
			snappedFrom: open,
			tip: house.wal.tip,
		});
		expect(await house.timeline.checkout(open)).toMatchObject({ kind: "undo", target: before, snappedFrom: open });
		expect(await house.told()).toBe("a b");
	});

	test("a move that covers nothing goes to the very seq, leaves the state, begins no branch, and is undone and redone", async () => {
		await using house = await House.open();
		house.say("a");
		const open = house.ask("search");
		house.answer("search");
		const [told, branches] = [await house.told(), house.timeline.branches().length];
		expect(await house.timeline.checkout(open, { drop: [] })).toMatchObject({ kind: "undo", target: open });
		await house.timeline.undo();
		await house.timeline.redo();
		expect([await house.told(), house.timeline.branches().length]).toEqual([told, branches]);
		expect(house.timeline.branches().at(-1)).toMatchObject({ name: "main", last: house.wal.tip, active: true });
	});

	test("neither before the call nor after its answer is inside", async () => {
		await using house = await House.open();
		await house.mark("turn");
		const before = house.say("a");
		house.ask("search");
		const after = house.answer("search");
		house.say("b");
		expect(await house.timeline.preview(before)).toEqual({
			kind: "undo",
			coverage: { scope: {} },
			target: before,
			tip: house.wal.tip,
		});
		expect(await house.timeline.preview(after)).toEqual({
			kind: "undo",
			coverage: { scope: {} },
			target: after,
			tip: house.wal.tip,
		});
	});

	test("the first of a new session takes nothing from the others", async () => {
		await using house = await House.open();
		house.say("a");
		await house.mark("turn");
		const before = house.say("b", bob);
		house.ask("search", bob);
		const inside = house.say("c", bob);
		const after = house.answer("search", bob);
		const targets = [before, inside, after].map((seq) => house.timeline.preview(seq));
		expect((await Promise.all(targets)).map(({ target }) => target)).toEqual([before, before, after]);
		await house.timeline.checkout(inside);
		expect([await house.told(), await house.told(house.wal.tip, bob)]).toEqual(["a", "b"]);
	});

	test("between the cycles of a turn there is a place to go to, and others may write there", async () => {
		await using house = await House.open();
		house.ask("search");
		house.answer("search");
		const between = house.say("s", side);
		house.ask("look");
		const open = house.ask("read");
		house.answer("look");
		expect(await house.timeline.preview(open)).toMatchObject({ target: between, snappedFrom: open });
		expect(await house.timeline.preview(house.wal.tip)).toMatchObject({ target: between });
	});

	test("a place that a rewind of a part has left is none", async () => {
		await using house = await House.open();
		const first = house.say("a");
		house.say("b");
		await house.timeline.checkout(first, { drop: [said.kind] });
		await house.timeline.checkout(first + 1, { drop: [said.kind] });
		house.ask("search");
		await house.timeline.checkout(first, { drop: [said.kind] });
		const inside = house.say("c");
		expect(await house.timeline.preview(inside)).toMatchObject({ target: first, snappedFrom: inside });
	});

	test("the place is one on that line of history, not on the current one", async () => {
		await using house = await House.open();
		const first = await house.mark("first");
		house.ask("search");
		const inside = house.say("a");
		await house.timeline.checkout(0);
		await house.mark("on another line");
		expect(await house.timeline.preview(inside)).toMatchObject({ target: first, snappedFrom: inside });
	});

	test("only the session that owns the record is asked", async () => {
		await using house = await House.open();
		const turn = await house.mark("turn");
		house.ask("search", main);
		const s = house.say("s", side);
		const p = house.do("p", plan);
		const { seq: process } = house.append(checkpoint({ kind: "turn", title: "of all" }), {});
		house.say("end", side);
		expect(await house.timeline.preview(s)).toEqual({
			kind: "undo",
			coverage: { scope: {} },
			target: s,
			tip: house.wal.tip,
		});
		expect(await house.timeline.preview(process)).toEqual({
			kind: "undo",
			coverage: { scope: {} },
			target: process,
			tip: house.wal.tip,
		});
		// A run is a part of its session.
		expect(await house.timeline.preview(p)).toMatchObject({ target: turn, snappedFrom: p });
	});

	test("a checkpoint that lies inside it too, cut by a plan in the background, is passed over", async () => {
		await using house = await House.open();
		const turn = await house.mark("turn");
		house.ask("search", main);
		const step = await house.mark("step", { scope: plan, of: main, kind: "plan_step" });
		const open = house.say("b", main);
		house.answer("search", main);
		expect(await house.timeline.preview(open)).toMatchObject({ target: turn, snappedFrom: open });
		expect(await house.timeline.preview(step)).toMatchObject({ target: turn, snappedFrom: step });
	});
});

test("the tree of branches follows the checkouts", async () => {
	await using house = await House.open();
	const a = house.say("a");
	house.say("b");
	const { seq } = await house.timeline.checkout(a, { scope: main } satisfies CheckoutOptions);
	expect(house.timeline.branches()).toMatchObject([
		{ id: 0, name: "main", last: seq - 1, active: false },
		{ id: seq, name: `b${seq}`, parent: 0, forkedAt: a, scope: main, last: house.wal.tip, active: true },
	]);
});

test("a checkpoint stands though its snapshot could not be stored; who asked to be told is told", async () => {
	const put = () => Promise.reject(new Error("no space left on device"));
	const sources = { snapshots: new SnapshotStore({ ...memoryBlobs(), put }), snapshotDue: () => true };
	await using wal = await openWal(memoryEngine(), { records: [said, ...timetravelRecords] });
	const projections = [story];
	const { seq, durable } = wal.append(said({ text: "a" }), main);
	await durable;
	const view = (at: number) => View.empty(main, projections).at(at);
	const silent = await openTimeline({ wal, projections, ...sources });
	await expect(silent.checkpoint("turn", "one", main, view(seq))).rejects.toMatchObject({
		code: "SNAPSHOT_NOT_STORED",
	});
	const told: string[] = [];
	const snapshotFailed = ({ code }: { code: string }) => told.push(code);
	const timeline = await openTimeline({ wal, projections, ...sources, snapshotFailed });
	const second = await timeline.checkpoint("turn", "two", main, view(seq));
	expect(told).toEqual(["SNAPSHOT_NOT_STORED"]);
	expect(timeline.checkpoints().map(({ seq }) => seq)).toEqual([second - 1, second]);
	expect((await timeline.at(second, main)).get(story)).toEqual(["a"]);
});

test("a checkpoint of a state that a rewind has left is refused: it would be stored as that of the new line", async () => {
	await using house = await House.open();
	const one = house.say("one");
	const stale = await house.timeline.at(house.say("two"), main);
	await house.timeline.rewindTo(one);
	const before = await house.records();
	await expect(house.timeline.checkpoint("turn", "late", main, stale)).rejects.toMatchObject({
		code: "STALE_LINEAGE",
		detail: { seq: stale.seq },
	});
	expect(await house.records()).toEqual(before);
	await house.mark("in time");
	expect(await house.told()).toBe("one");
});

describe("what is to move", () => {
	test("is a list of kinds in a scope that somebody has; all else is refused, and nothing is written", async () => {
		await using house = await House.open();
		const a = house.say("a");
		house.do("b", plan);
		house.say("c", side);
		const before = await house.records();
		const wrong = [
			{ drop: "said" },
			{ drop: [1] },
			{ scope: { session: 7 } },
			{ scope: { room: "x" } },
			{ scope: null },
		];
		for (const part of wrong as unknown as CheckoutOptions[])
			for (const go of ["preview", "checkout", "rewindTo"] as const)
				await expect(house.timeline[go](a, part)).rejects.toMatchObject({ code: "TIMETRAVEL_COVERAGE" });
		for (const scope of [
			{ agent: "nobody" },
			{ ...main, session: "none" },
			{ ...main, run: "p2" },
			{ ...side, run: "p1" },
		])
			await expect(house.timeline.assertKnown(scope)).rejects.toMatchObject({ code: "TIMETRAVEL_COVERAGE" });
		for (const scope of [{}, alice, main, side, plan]) await house.timeline.assertKnown(scope);
		expect(await house.records()).toEqual(before);
	});

	test("is known of who lost all records to a collection", async () => {
		await using house = await House.open();
		house.do("b", plan);
		for (const each of ["a", "b", "c"]) {
			house.say(each, bob);
			await house.mark(each, { scope: bob });
		}
		await house.timeline.gc({ keepDays: 0, keepCheckpoints: 1, now: Number.MAX_SAFE_INTEGER });
		for (const scope of [alice, main, plan, bob]) await house.timeline.assertKnown(scope);
		await expect(house.timeline.assertKnown(side)).rejects.toMatchObject({ code: "TIMETRAVEL_COVERAGE" });
	});
});
