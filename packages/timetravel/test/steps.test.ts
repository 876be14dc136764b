/** A move in three steps: planned, written, settled; and what comes between them. */
import { type LogEngine, memoryEngine, type Scope, WalError } from "@reyn/wal";
import { describe, expect, test } from "vitest";
import { label, type MovePreview, moveWith, reset, resetSettled, settleWith, type UndoRules } from "../src/index.ts";
import { answered, asked, bob, House, type HouseOptions, keeping, main, said } from "./house.ts";

const undoRules: UndoRules = {
	[asked.kind]: () => "turn",
	[answered.kind]: ({ scope }) => ({ takenBackBy: { scope } }),
};
const by = { actor: "carol" };
const stale = { code: "TIMETRAVEL_STALE" };

/** In a house in which `a` and `b` were said: a preview to go back to `a`. */
async function planned(options: HouseOptions = {}): Promise<{ house: House; a: number; preview: MovePreview }> {
	const house = await House.open({ undoRules, begins: [said.kind], ...options });
	const a = house.say("a");
	house.say("b");
	return { house, a, preview: await house.timeline.preview(a, { scope: main }) };
}

/** What a runtime does in a move, told as it comes. */
function parts(house: House, told: string[] = [], rebuild: () => void = () => {}) {
	return {
		quiet: async ({ coverage }: MovePreview) => {
			told.push(`quiet ${coverage.scope.session}`);
			return () => void told.push("over");
		},
		rebuild: async ({ seq }: { seq: number }) => {
			const { view } = await house.timeline.live(main);
			rebuild();
			told.push(`rebuild ${seq} at ${view.seq}`);
		},
	};
}

/** The kinds of all records after a seq. */
const kindsAfter = async (house: House, seq: number): Promise<string[]> =>
	(await house.records()).filter((record) => record.seq > seq).map(({ kind }) => kind);

describe("a preview", () => {
	test("says what a checkout of it would do, and writes nothing", async () => {
		const { house, a, preview } = await planned();
		const { tip } = house.wal;
		expect(preview).toEqual({ kind: "undo", target: a, coverage: { scope: main }, tip });
		expect(await house.timeline.preview(tip)).toMatchObject({ kind: "none", coverage: { scope: {} } });
		expect(await house.timeline.preview(a, { drop: [] })).toMatchObject({ coverage: { scope: {}, drop: [] } });
		expect(house.wal.tip).toBe(tip);
		await house.wal.close();
	});

	test("is written as one durable reset, and settled by a record of its own", async () => {
		const { house, a, preview } = await planned();
		const { tip } = house.wal;
		const move = await house.timeline.write(preview, { ...by, mode: "test", counts: { all: 1 } });
		expect(move).toEqual({ seq: tip + 1, target: a, coverage: { scope: main } });
		expect(house.wal.durableTip).toBe(tip + 1);
		expect((await house.records()).at(-1)).toMatchObject({
			scope: main,
			data: { target: a, mode: "test", actor: "carol", counts: { all: 1 } },
		});
		expect(house.timeline.unsettled()).toEqual([move]);
		house.timeline.settled(move);
		house.timeline.settled(move);
		expect(house.timeline.unsettled()).toEqual([]);
		expect(await kindsAfter(house, tip)).toEqual([reset.kind, resetSettled.kind]);
		await house.wal.close();
	});

	test("of nothing is not written", async () => {
		await using house = await House.open();
		const { tip } = house.wal;
		const preview = await house.timeline.preview(tip);
		await expect(house.timeline.write(preview, by)).rejects.toThrow(RangeError);
		expect(await moveWith(parts(house), house.timeline, preview, by)).toBeUndefined();
		expect(house.wal.tip).toBe(tip);
	});

	test("by nobody is not written", async () => {
		const { house, preview } = await planned();
		const { tip } = house.wal;
		await expect(house.timeline.write(preview, { actor: " " })).rejects.toMatchObject({ code: "TIMETRAVEL_ACTOR" });
		expect(house.wal.tip).toBe(tip);
		await house.wal.close();
	});
});

describe("between preview and write", () => {
	test.each<[string, (house: House) => unknown]>([
		["another move", (house) => house.timeline.checkout(1, { scope: bob })],
		["a label", (house) => house.timeline.label(1, "x")],
		["a beginning", (house) => house.say("x")],
		["a turn", (house) => house.ask("x")],
		[
			"the same preview, written",
			async (house) => house.timeline.write(await house.timeline.preview(2, { scope: main }), by),
		],
	])("%s makes it stale, and nothing is written", async (_, between) => {
		const { house, preview } = await planned();
		await between(house);
		const before = await house.records();
		await expect(house.timeline.write(preview, by)).rejects.toMatchObject(stale);
		const told: string[] = [];
		await expect(moveWith(parts(house, told), house.timeline, preview, by)).rejects.toMatchObject(stale);
		expect(told).toEqual(["quiet main", "over"]);
		expect(await house.records()).toEqual(before);
		await house.wal.close();
	});

	test.each<[string, (house: House) => unknown]>([
		["progress", (house) => house.do("x")],
		["a beginning elsewhere", (house) => house.say("x", bob)],
		["a fact", (house) => house.note("x")],
	])("%s does not: it goes along", async (_, between) => {
		const { house, preview } = await planned();
		await between(house);
		await house.timeline.write(preview, by);
		expect(await house.told()).toBe("a");
		await house.wal.close();
	});

	test("a truncation that takes away what it needs refuses it", async () => {
		const { house, a } = await planned();
		await house.timeline.label(a, "gone");
		await house.timeline.undo();
		await house.timeline.label(a + 1, "kept");
		for (const each of ["c", "d", "e"]) {
			house.say(each);
			house.say(each, bob);
			await house.mark(each);
		}
		const { timeline } = house;
		// The seq itself; the seq that a label would name; and of a kept one a part, which nothing kept has beside the rest.
		const name: MovePreview = {
			kind: "label",
			target: a,
			coverage: { scope: {}, drop: [] },
			label: "gone",
			tip: house.wal.tip,
		};
		const previews = [await timeline.preview(a), name, await timeline.preview(a + 1, { scope: main })];
		await timeline.gc(keeping(1));
		const before = await house.records();
		for (const preview of previews)
			await expect(timeline.write(preview, by)).rejects.toMatchObject({ code: "TIMETRAVEL_PRUNED" });
		expect(await house.records()).toEqual(before);
		await house.wal.close();
	});
});

describe("moveWith", () => {
	test("stops, writes, takes live states along, rebuilds, settles, and lets go when another move may come", async () => {
		const { house, a, preview } = await planned();
		const { view } = await house.timeline.live(main);
		const told: string[] = [];
		let after: Promise<unknown> | undefined;
		const { quiet, rebuild } = parts(house, told);
		const seq = house.wal.tip + 1;
		const moved = await moveWith(
			{
				rebuild,
				quiet: async (each) => {
					const over = await quiet(each);
					return () => {
						over();
						after = house.timeline.label(a, "again");
					};
				},
			},
			house.timeline,
			preview,
			by,
		);
		expect(moved).toMatchObject({ seq, target: a });
		expect(told).toEqual(["quiet main", `rebuild ${seq} at ${seq}`, "over"]);
		expect(view.seq).toBe(seq - 1);
		await after;
		expect(await kindsAfter(house, seq - 1)).toEqual([reset.kind, resetSettled.kind, label.kind]);
		expect(await house.told()).toBe("a");
		await house.wal.close();
	});

	test("runs alone: another move, another preview and a truncation are busy, and stop nothing", async () => {
		const { house, a, preview } = await planned();
		const other = await house.timeline.preview(a);
		const { promise, resolve } = Promise.withResolvers<void>();
		const told: string[] = [];
		const { rebuild } = parts(house);
		const moving = moveWith({ rebuild, quiet: () => promise.then(() => () => {}) }, house.timeline, preview, by);
		const busy = { code: "TIMETRAVEL_BUSY" };
		for (const another of [preview, other])
			await expect(moveWith(parts(house, told), house.timeline, another, by).then(() => "done")).rejects.toMatchObject(
				busy,
			);
		await expect(house.timeline.write(other, by)).rejects.toMatchObject(busy);
		await expect(house.timeline.undo()).rejects.toMatchObject(busy);
		await expect(house.timeline.gc(keeping(1))).rejects.toMatchObject(busy);
		expect(told).toEqual([]);
		const { tip } = house.wal;
		resolve();
		await moving;
		expect(await kindsAfter(house, tip)).toEqual([reset.kind, resetSettled.kind]);
		await house.wal.close();
	});

	test("of two that are written at once one is, and the other wrote nothing", async () => {
		const { house, a, preview } = await planned();
		const { tip } = house.wal;
		const other = await house.timeline.preview(a);
		const ends = await Promise.allSettled([preview, other].map((each) => house.timeline.write(each, by)));
		expect(ends.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
		expect(await kindsAfter(house, tip)).toEqual([reset.kind]);
		await house.wal.close();
	});

	test("that cannot get quiet writes nothing, and frees the timeline", async () => {
		const { house, preview } = await planned();
		const { tip } = house.wal;
		const stubborn = { ...parts(house), quiet: () => Promise.reject(new Error("it does not stop")) };
		await expect(moveWith(stubborn, house.timeline, preview, by)).rejects.toThrow("it does not stop");
		expect(house.wal.tip).toBe(tip);
		expect(await moveWith(parts(house), house.timeline, preview, by)).toBeDefined();
		await house.wal.close();
	});

	test("whose rebuild fails lets go, and the next one settles both, the older one first", async () => {
		const { house, preview } = await planned();
		const told: string[] = [];
		const first = house.wal.tip + 1;
		const failing = parts(house, told, () => {
			throw new Error("no");
		});
		await expect(moveWith(failing, house.timeline, preview, by)).rejects.toThrow("no");
		expect(told).toEqual(["quiet main", "over"]);
		const second = await house.timeline.write(await house.timeline.previewUndo(), by);
		expect(() => house.timeline.settled(second)).toThrow(`expected the move at seq ${first} to be settled first`);
		told.length = 0;
		await settleWith(parts(house, told).rebuild, house.timeline);
		expect(told).toEqual([`rebuild ${first} at ${first + 1}`, `rebuild ${second.seq} at ${first + 2}`]);
		expect(house.timeline.unsettled()).toEqual([]);
		await house.wal.close();
	});
});

test("a crash between write and settled is found at the next open, with what goes along", async () => {
	const { house, preview } = await planned();
	const along = { files: { restore: [{ path: "src/a.ts", to: "sha" }] } };
	const move = await house.timeline.write({ ...preview, along }, by);
	await using next = await house.reopen();
	expect(next.timeline.unsettled()).toEqual([{ ...move, along }]);
	// Another crash, before it is settled.
	await using third = await next.reopen();
	const told: string[] = [];
	await settleWith(parts(third, told).rebuild, third.timeline);
	expect(told).toEqual([`rebuild ${move.seq} at ${third.wal.tip - 1}`]);
	await using last = await third.reopen();
	expect(last.timeline.unsettled()).toEqual([]);
	expect(await last.told()).toBe("a");
});

describe("a full disk", () => {
	test("refuses the write; nothing is written or unsettled, what was stopped goes on, and later it is made", async () => {
		const disk = { isFull: false };
		const { house, a, preview } = await planned({ engine: filling(disk) });
		disk.isFull = true;
		const waiting = house.wal.append(answered({ text: "waits" }), bob).durable;
		await new Promise((resolve) => setImmediate(resolve));
		const elsewhere = { ...preview, tip: house.wal.tip };
		const told: string[] = [];
		await expect(moveWith(parts(house, told), house.timeline, elsewhere, by)).rejects.toMatchObject({
			code: "WAL_FULL",
		});
		expect(told).toEqual(["quiet main", "over"]);
		expect([house.timeline.unsettled(), house.timeline.lineage.resets]).toEqual([[], []]);
		disk.isFull = false;
		expect(() => house.wal.append(answered({ text: "tries again" }), bob)).toThrow("full");
		await waiting;
		expect(await moveWith(parts(house), house.timeline, elsewhere, by)).toMatchObject({ target: a });
		expect(await house.told()).toBe("a");
		await house.wal.close();
	});

	function filling(disk: { isFull: boolean }): LogEngine {
		const engine = memoryEngine();
		const log = engine.log("main");
		const full: typeof log = new Proxy(log, {
			get: (target, name) => {
				if (name !== "append") return Reflect.get(target, name).bind(target);
				return async (...given: Parameters<typeof log.append>) => {
					if (disk.isFull) throw new WalError("WAL_FULL", "the disk is full");
					await target.append(...given);
				};
			},
		});
		return { ...engine, log: () => full };
	}
});

describe("undo and redo", () => {
	test("are planned like any move, and lead away and back", async () => {
		const { house, preview } = await planned();
		await expect(house.timeline.previewUndo()).rejects.toMatchObject({ code: "NOTHING_TO_UNDO" });
		const move = await moveWith(parts(house), house.timeline, preview, by);
		const seq = move?.seq as number;
		await expect(house.timeline.previewUndo({ of: seq - 1 })).rejects.toMatchObject(stale);
		await expect(house.timeline.previewRedo()).rejects.toMatchObject({ code: "NOTHING_TO_REDO" });
		const undo = await house.timeline.previewUndo({ of: seq });
		expect(undo).toEqual({
			kind: "fork_switch",
			target: seq - 1,
			coverage: { scope: main },
			tip: house.wal.tip,
			undoes: seq,
		});
		const undone = await moveWith(parts(house), house.timeline, undo, by);
		expect(await house.told()).toBe("a b");
		expect((await house.timeline.record(undone?.seq as number))?.data).toMatchObject({ undoes: seq, mode: "undo" });
		const redo = await house.timeline.previewRedo();
		expect(redo).toMatchObject({ kind: "fork_switch", redoes: undone?.seq });
		await moveWith(parts(house), house.timeline, redo, by);
		expect(await house.told()).toBe("a");
		expect((await house.timeline.moves()).past).toHaveLength(1);
		await house.wal.close();
	});

	test("that are written twice are stale", async () => {
		const { house, preview } = await planned();
		await moveWith(parts(house), house.timeline, preview, by);
		const undo = await house.timeline.previewUndo();
		await house.timeline.write(undo, by);
		const before = await house.records();
		await expect(house.timeline.write({ ...undo }, by)).rejects.toMatchObject(stale);
		expect(await house.records()).toEqual(before);
		await house.wal.close();
	});

	test("of a label stop nothing, rebuild nothing and leave nothing to settle", async () => {
		const { house, a } = await planned();
		await house.timeline.label(a, "start");
		const told: string[] = [];
		const undo = await house.timeline.previewUndo();
		expect(undo).toMatchObject({ kind: "label", label: "start", target: a, coverage: { scope: {}, drop: [] } });
		const gone = await moveWith(parts(house, told), house.timeline, undo, by);
		expect(await house.timeline.labels()).toEqual([]);
		expect(gone).toMatchObject({ seq: house.wal.tip, label: "start", undoes: undo.undoes });
		await moveWith(parts(house, told), house.timeline, await house.timeline.previewRedo(), by);
		expect(await house.timeline.labels()).toEqual([{ name: "start", seq: a }]);
		expect([told, house.timeline.unsettled()]).toEqual([[], []]);
		await house.wal.close();
	});

	test("do what a preview of the same does, by kinds and scope", async () => {
		const one = await planned();
		const other = await planned();
		const coverage: { scope: Scope; drop: string[] } = { scope: main, drop: [said.kind] };
		await one.house.timeline.checkout(one.a, { ...coverage, ...by });
		await one.house.timeline.undo(by);
		const { timeline } = other.house;
		await moveWith(parts(other.house), timeline, await timeline.preview(other.a, coverage), by);
		await moveWith(parts(other.house), timeline, await timeline.previewUndo(), by);
		const shape = async ({ house }: typeof one) =>
			(await house.records()).slice(1).map(({ kind, scope, data }) => ({ kind, scope, data }));
		expect(await shape(other)).toEqual(await shape(one));
		await Promise.all([one, other].map(({ house }) => house.wal.close()));
	});
});
