/** Sessions: what a move covers is stopped before it is written, what is asked for meanwhile waits, and both hold where the process dies. */
import { memorySnapshots } from "@reyn/snapshot";
import { fileEngine, openWal, type Timers, type Wal } from "@reyn/wal";
import { MortalDisk } from "@reyn/wal/testing";
import { describe, expect, test } from "vitest";
import {
	type Covers,
	moveWith,
	openSession,
	openTimeline,
	reset,
	resetSettled,
	type Session,
	type Timeline,
	timetravelRecords,
} from "../src/index.ts";
import { did, House, main, plan, said, side, story } from "./house.ts";

const by = { actor: "carol" };
const told = ({ view }: Session): string => view.get(story).join(" ");
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Work that says how it began and, once its signal aborts, that it has stopped: its last words. */
function listening(words: string[], may = Promise.resolve()) {
	return async (signal: AbortSignal, log: Session["log"]): Promise<void> => {
		words.push("begins");
		await new Promise((resolve) => signal.addEventListener("abort", resolve));
		await may;
		log.append(said({ text: "last" }), main);
		words.push("stops");
	};
}

test("who follows a session hears of each record that its state takes, from whatever log, also after a move, until that ends", async () => {
	await using house = await House.open();
	const session = await openSession(house.timeline, main);
	const heard: string[] = [];
	const texts = ({ data }: { data: unknown }): string => (data as { text?: string }).text ?? "";
	const end = session.follow((record) => heard.push(`${texts(record)}, of ${told(session)}`));
	session.log.append(said({ text: "a" }), main);
	const seq = house.say("b");
	house.say("elsewhere", side);
	session.log.append(did({ text: "c" }), plan);
	await house.timeline.checkout(seq, { scope: main });
	session.log.append(said({ text: "d" }), main);
	end();
	session.log.append(said({ text: "e" }), main);
	expect(heard.filter((each) => !each.startsWith(","))).toEqual(["a, of a", "b, of a b", "c, of a b c", "d, of a b d"]);
	await session.close();
});

describe("work", () => {
	test("begins at once, and is under way until it is over", async () => {
		await using house = await House.open();
		const session = await openSession(house.timeline, main);
		const far = Promise.withResolvers<void>();
		const ended = session.begin("turn", { scope: main }, () => far.promise);
		expect(session.works).toMatchObject([{ name: "turn", scope: main }]);
		far.resolve();
		expect(await ended).toBe("over");
		expect(session.works).toEqual([]);
		await session.idle();
	});

	test("of one name is done one after the other, of another beside it", async () => {
		await using house = await House.open();
		const session = await openSession(house.timeline, main);
		const order: string[] = [];
		const work = (name: string) => async (): Promise<void> => {
			order.push(`${name} begins`);
			await turn();
			order.push(`${name} ends`);
		};
		void session.begin("a", { scope: main }, work("1"));
		void session.begin("a", { scope: main }, work("2"));
		void session.begin("b", { scope: main }, work("3"));
		await session.idle();
		expect(order.filter((each) => !each.startsWith("3"))).toEqual(["1 begins", "1 ends", "2 begins", "2 ends"]);
		expect(order[1]).toBe("3 begins");
	});

	test("passes on what it throws, and the next of its name begins", async () => {
		await using house = await House.open();
		const session = await openSession(house.timeline, main);
		const failed = session.begin("a", { scope: main }, async () => {
			throw new RangeError("no");
		});
		const next = session.begin("a", { scope: main }, async () => {});
		await expect(failed).rejects.toThrow(RangeError);
		expect(await next).toBe("over");
	});

	test("appends what the view has at once, and cuts checkpoints of it", async () => {
		await using house = await House.open();
		const session = await openSession(house.timeline, main);
		await session.begin("turn", { scope: main }, async (_signal, log) => {
			log.append(said({ text: "a" }), main);
			expect(told(session)).toBe("a");
			await session.checkpoint("turn", "a");
			await session.checkpoint("plan_step", "p", plan);
		});
		expect(house.timeline.checkpoints(main).map(({ kind, title }) => [kind, title])).toEqual([
			["turn", "a"],
			["plan_step", "p"],
		]);
	});
});

/** Each way to move: all stop the same. */
const ways: readonly (readonly [string, (timeline: Timeline, to: number) => Promise<unknown>])[] = [
	["checkout", (timeline, to) => timeline.checkout(to, { scope: main })],
	["rewindTo", (timeline, to) => timeline.rewindTo(to, { scope: main })],
	["undo", (timeline) => timeline.undo()],
	[
		"moveWith",
		async (timeline, to) => {
			const nothing = { quiet: async () => () => {}, rebuild: async () => {} };
			return moveWith(nothing, timeline, await timeline.preview(to, { scope: main }), by);
		},
	],
];

describe.each(ways)("a move by %s", (_, move) => {
	test("is written when the work that it covers has stopped, and what is asked for meanwhile comes after it", async () => {
		await using house = await House.open({ begins: [] });
		const { timeline, wal } = house;
		const session = await openSession(timeline, main);
		const log = session.log;
		const a = log.append(said({ text: "a" }), main).seq;
		log.append(said({ text: "b" }), main);
		// Something to undo: away from `b`.
		await timeline.checkout(a, { scope: main });
		const words: string[] = [];
		const may = Promise.withResolvers<void>();
		const stopped = session.begin("turn", { scope: main }, listening(words, may.promise));
		const moving = move(timeline, a);
		while (!session.isHeld({ scope: main })) await turn();
		const asked = session.begin("plan", { scope: plan }, async (_signal, now) => {
			words.push(`plan at ${told(session)}`);
			now.append(did({ text: "p" }), plan);
		});
		for (let n = 0; n < 9; n++) await turn();
		expect(words).toEqual(["begins"]);
		may.resolve();
		await moving;
		expect(await stopped).toBe("stopped");
		expect(await asked).toBe("over");
		expect(words).toEqual(["begins", "stops", expect.stringMatching(/^plan at a/)]);
		const kinds = await recordsOf(wal);
		const last = kinds.findLastIndex(({ data }) => (data as { text?: string }).text === "last");
		const written = kinds.findLastIndex(({ kind }) => kind === reset.kind);
		const settled = kinds.findLastIndex(({ kind }) => kind === resetSettled.kind);
		const after = kinds.findLastIndex(({ data }) => (data as { text?: string }).text === "p");
		expect([last, written, settled, after]).toEqual([last, written, settled, after].toSorted((x, y) => x - y));
		expect(last).toBeGreaterThan(0);
		expect(session.view.hash()).toBe((await timeline.at(wal.tip, main)).hash());
	});
});

describe("a move", () => {
	test.each<[string, Covers, Parameters<Timeline["checkout"]>[1], boolean]>([
		["of all", { scope: main }, {}, true],
		["of its session", { scope: plan }, { scope: main }, true],
		["of another session", { scope: main }, { scope: side }, false],
		["of a run below it", { scope: main }, { scope: plan }, false],
		["of a kind that it writes", { scope: main, kinds: ["said", "did"] }, { drop: ["said"] }, true],
		["of a kind that it does not write", { scope: main, kinds: ["said"] }, { drop: ["did"] }, false],
		["of some kind, where it may write any", { scope: main }, { drop: ["did"] }, true],
	])("%s stops %o by %o: %s", async (_, covers, options, isStopped) => {
		await using house = await House.open();
		const [session, other] = [await openSession(house.timeline, main), await openSession(house.timeline, side)];
		const a = session.log.append(said({ text: "a" }), main).seq;
		for (const scope of [main, side, plan]) session.log.append(did({ text: "b" }), scope);
		const words: string[] = [];
		const far = Promise.withResolvers<void>();
		const ended = session.begin("turn", covers, (signal) => Promise.race([far.promise, untilAborted(signal, words)]));
		await house.timeline.checkout(a, options);
		expect(words).toEqual(isStopped ? ["aborted"] : []);
		far.resolve();
		expect(await ended).toBe(isStopped ? "stopped" : "over");
		expect(other.works).toEqual([]);
	});

	test("refuses later what the work before it appends by the log that it had", async () => {
		await using house = await House.open();
		const session = await openSession(house.timeline, main);
		const { log } = session;
		const a = log.append(said({ text: "a" }), main).seq;
		log.append(said({ text: "b" }), main);
		await house.timeline.checkout(a);
		expect(() => log.append(said({ text: "c" }), main)).toThrow(expect.objectContaining({ code: "STALE_LINEAGE" }));
		session.log.append(said({ text: "d" }), main);
		expect(told(session)).toBe("a d");
	});

	test("is not made where work does not stop in time, and what was asked for goes on", async () => {
		let late = (): void => {};
		const timers: Timers = {
			after(_ms, run) {
				late = run;
				return () => {};
			},
		};
		await using house = await House.open();
		const timeline = await openTimeline({ wal: house.wal, snapshots: memorySnapshots(), projections: [story], timers });
		const session = await openSession(timeline, main);
		const a = session.log.append(said({ text: "a" }), main).seq;
		session.log.append(said({ text: "b" }), main);
		const deaf = Promise.withResolvers<void>();
		const ended = session.begin("deaf", { scope: main }, () => deaf.promise);
		const { tip } = house.wal;
		const moving = timeline.checkout(a);
		while (!session.isHeld({ scope: main })) await turn();
		const asked = session.begin("next", { scope: main }, async () => told(session));
		late();
		await expect(moving).rejects.toMatchObject({
			code: "TIMETRAVEL_NOT_QUIET",
			detail: { still: ["deaf"], cancelled: ["deaf"] },
		});
		expect(await asked).toBe("over");
		expect(house.wal.tip).toBe(tip);
		deaf.resolve();
		expect(await ended).toBe("stopped");
		await timeline.checkout(a);
		expect(told(session)).toBe("a");
	});

	test("lets work begin again where what lies beside the sessions refuses it", async () => {
		await using house = await House.open({
			quiesce: async () => {
				throw new RangeError("not now");
			},
		});
		const session = await openSession(house.timeline, main);
		const a = session.log.append(said({ text: "a" }), main).seq;
		session.log.append(said({ text: "b" }), main);
		const stopped = session.begin("turn", { scope: main }, (signal) => untilAborted(signal, []));
		await expect(house.timeline.checkout(a)).rejects.toThrow("not now");
		expect([await stopped, told(session)]).toEqual(["stopped", "a b"]);
		expect(await session.begin("turn", { scope: main }, async () => {})).toBe("over");
	});
});

describe("a session", () => {
	test("is one for its scope, until it is closed", async () => {
		await using house = await House.open();
		const [one, same] = await Promise.all([
			openSession(house.timeline, main),
			openSession(house.timeline, { ...main }),
		]);
		expect(same).toBe(one);
		const words: string[] = [];
		const ended = one.begin("turn", { scope: main }, (signal) => untilAborted(signal, words));
		const waiting = one.begin("turn", { scope: main }, async () => void words.push("never"));
		const closed = one.close();
		const next = await openSession(house.timeline, main);
		expect(next).not.toBe(one);
		await closed;
		expect([await ended, await waiting, words]).toEqual(["stopped", "stopped", ["aborted"]]);
		expect(await one.begin("turn", { scope: main }, async () => void words.push("never"))).toBe("stopped");
		next.log.append(said({ text: "a" }), main);
		expect([told(one), told(next)]).toEqual(["", "a"]);
	});
});

test("wherever the process dies while a move stops work, the next one finds the line of before with the last words, or the one after it", async () => {
	const seen = { before: 0, unsettled: 0, after: 0 };
	for (let n = 1; ; n++) {
		const disk = new MortalDisk([], []);
		const first = await openOn(disk);
		const session = await openSession(first.timeline, main);
		const a = session.log.append(said({ text: "a" }), main).seq;
		await session.log.append(said({ text: "b" }), main).durable;
		const words: string[] = [];
		const ended = session.begin("turn", { scope: main }, listening(words)).catch(() => undefined);
		disk.dieAt(n);
		await first.timeline.checkout(a, { scope: main }).catch(() => undefined);
		await session.close().catch(() => undefined);
		await ended;
		await first.wal.close().catch(() => undefined);
		const isDead = disk.dead;
		disk.live();
		const next = await openOn(disk);
		const again = await openSession(next.timeline, main);
		const isMoved = (await recordsOf(next.wal)).some(({ kind }) => kind === reset.kind);
		const isUnsettled = next.timeline.unsettled().length > 0;
		await next.timeline.settle();
		expect(next.timeline.unsettled()).toEqual([]);
		expect(told(again)).toMatch(isMoved ? /^a$/ : /^a b( last)?$/);
		expect(again.view.hash()).toBe((await next.timeline.at(next.wal.tip, main)).hash());
		expect(await again.begin("turn", { scope: main }, async (_, log) => log.append(said({ text: "c" }), main))).toBe(
			"over",
		);
		expect(told(again)).toMatch(/ c$/);
		seen[isUnsettled ? "unsettled" : isMoved ? "after" : "before"]++;
		await next.wal.close();
		if (!isDead) break;
	}
	expect(Math.min(seen.before, seen.unsettled, seen.after)).toBeGreaterThan(0);
});

async function openOn(disk: MortalDisk): Promise<{ wal: Wal; timeline: Timeline }> {
	const wal = await openWal(fileEngine("/state", { disk }), { records: [said, did, ...timetravelRecords] });
	return { wal, timeline: await openTimeline({ wal, snapshots: memorySnapshots(), projections: [story] }) };
}

async function recordsOf(wal: Wal): Promise<readonly { kind: string; data: unknown }[]> {
	const all = [];
	for await (const record of wal.read()) all.push(record);
	return all;
}

async function untilAborted(signal: AbortSignal, words: string[]): Promise<void> {
	await new Promise((resolve) => signal.addEventListener("abort", resolve));
	words.push("aborted");
}
