/** States of now: whatever is appended and wherever one goes, each is what the log would make of it. `REYN_SEED` sets which histories. */
import { memorySnapshots } from "@reyn/snapshot";
import { type Draft, type LogEngine, memoryEngine, openWal, type RealmLog, type Scope, type Seq } from "@reyn/wal";
import { expect, test } from "vitest";
import { SEED, seeded } from "../../../tests/kit/seeded.ts";
import { type Live, openTimeline, type Timeline, timetravelRecords } from "../src/index.ts";
import { alice, bob, did, House, main, plan, said, side, story } from "./house.ts";

const say = (text: string): Draft => said({ text });
const told = ({ view }: Live): string => view.get(story).join(" ");
const expectTrue = async (timeline: Timeline, tip: Seq, live: Live): Promise<void> =>
	expect(told(live)).toBe((await timeline.at(tip, live.scope)).get(story).join(" "));

test("it follows what any handle appends in its scope, at once", async () => {
	await using house = await House.open();
	const { timeline } = house;
	const [whole, session] = [await timeline.live({}), await timeline.live(main)];
	timeline.handle().append(say("a"), main);
	session.handle().append(say("p"), plan);
	whole.handle().append(say("b"), bob);
	expect([told(whole), told(session)]).toEqual(["a p b", "a p"]);
});

test("there is one for each scope, until it is closed", async () => {
	await using house = await House.open();
	const { timeline } = house;
	const [one, same] = await Promise.all([timeline.live(main), timeline.live({ ...main })]);
	expect(same).toBe(one);
	one.close();
	timeline.handle().append(say("a"), main);
	const next = await timeline.live(main);
	expect([told(one), told(next)]).toEqual(["", "a"]);
	one.close();
	expect(await timeline.live(main)).toBe(next);
});

test.each<{ of: Scope; rewound: Scope; drop?: readonly string[]; tells: string }>([
	{ of: main, rewound: {}, tells: "a" },
	{ of: main, rewound: main, tells: "a" },
	{ of: main, rewound: plan, tells: "a b" },
	{ of: main, rewound: side, tells: "a p b" },
	{ of: main, rewound: {}, drop: [said.kind], tells: "a p" },
	{ of: alice, rewound: main, tells: "a s" },
	{ of: {}, rewound: alice, tells: "a x" },
])("$of goes along with a rewind of $drop in $rewound", async ({ of, rewound, drop, tells }) => {
	await using house = await House.open();
	const { timeline } = house;
	const live = await timeline.live(of);
	const log = live.handle();
	const a = log.append(say("a"), main).seq;
	log.append(did({ text: "p" }), plan);
	log.append(say("b"), main);
	log.append(say("s"), side);
	log.append(say("x"), bob);
	await timeline.checkout(a, { scope: rewound, ...(drop && { drop }) });
	expect(told(live)).toBe(tells);
	await expectTrue(timeline, house.wal.tip, live);
});

test("a checkpoint of other work between a move and its rebuild stores no state of before the move", async () => {
	const house = await House.open({ engine: slowEngine() });
	const { timeline } = house;
	const live = await timeline.live(main);
	const log = timeline.handle();
	const a = log.append(did({ text: "a" }), plan).seq;
	log.append(did({ text: "b" }), plan);
	const checkpoints: Promise<Seq>[] = [];
	const moving = timeline.checkout(a, { scope: plan });
	let isOver = false;
	void moving.finally(() => {
		isOver = true;
	});
	while (!isOver) {
		log.append(say("c"), main);
		checkpoints.push(timeline.checkpoint("turn", "c", main, live.view));
		await turn();
	}
	const { seq: move } = await moving;
	const seqs = await Promise.all(checkpoints);
	expect(seqs.filter((seq) => seq > move).length).toBeGreaterThan(1);
	await using again = await house.reopen();
	// The log alone, without what was stored of it.
	const bare = await openTimeline({
		wal: again.wal,
		snapshots: memorySnapshots(),
		projections: [story],
		readOnly: true,
	});
	for (const seq of seqs) {
		const [stored, folded] = [await again.timeline.at(seq, main), await bare.at(seq, main)];
		expect(stored.get(story)).toEqual(folded.get(story));
	}
});

test("what is appended while it is opened, or made anew, is in it", async () => {
	await using house = await House.open({ engine: slowEngine() });
	const { timeline } = house;
	const log = timeline.handle();
	const a = log.append(say("a"), main).seq;
	const opening = timeline.live(main);
	log.append(say("b"), main);
	const live = await opening;
	expect(told(live)).toBe("a b");
	log.append(did({ text: "p" }), plan);
	let isOver = false;
	const moving = timeline.checkout(a, { scope: plan }).finally(() => {
		isOver = true;
	});
	for (let n = 0; !isOver; n++) {
		log.append(say(`c${n}`), main);
		await turn();
	}
	await moving;
	expect(told(live)).toMatch(/^a b c0 c1 /);
	await expectTrue(timeline, house.wal.tip, live);
});

test("its handle is of the line that its state is of: while it is made anew, that is the one before", async () => {
	await using house = await House.open({ engine: slowEngine() });
	const { timeline } = house;
	const live = await timeline.live(main);
	const a = live.handle().append(say("a"), main).seq;
	live.handle().append(say("b"), main);
	const refused: unknown[] = [];
	let isOver = false;
	const moving = timeline.checkout(a).finally(() => {
		isOver = true;
	});
	while (timeline.lineage.resets.length === 0) await turn();
	// The state is still that of the line that was left.
	while (!isOver && told(live) === "a b") {
		try {
			live.handle().append(say("too early"), main);
		} catch (error) {
			refused.push((error as { code?: unknown }).code);
		}
		await turn();
	}
	await moving;
	live.handle().append(say("c"), main);
	expect(new Set(refused)).toEqual(new Set(["STALE_LINEAGE"]));
	expect(told(live)).toBe("a c");
});

test("a rewind that overtakes its opening is in it", async () => {
	const held = Promise.withResolvers<void>();
	let waits = (): Promise<void> => Promise.resolve();
	await using house = await House.open({ engine: slowEngine(() => waits()) });
	const { timeline } = house;
	const a = timeline.handle().append(say("a"), main).seq;
	timeline.handle().append(say("b"), main);
	let isReading = false;
	waits = () => {
		isReading = true;
		waits = () => Promise.resolve();
		return held.promise;
	};
	const opening = timeline.live(main);
	while (!isReading) await turn();
	await timeline.checkout(a);
	held.resolve();
	const live = await opening;
	live.handle().append(say("c"), main);
	expect(told(live)).toBe("a c");
});

test("where one only reads it is as it was when it was opened", async () => {
	const engine = memoryEngine();
	const house = await House.open({ engine });
	house.say("a");
	await house.wal.close();
	const wal = await openWal(engine, { records: [said, did, ...timetravelRecords], readOnly: true });
	const timeline = await openTimeline({ wal, snapshots: house.snapshots, projections: [story], readOnly: true });
	expect(told(await timeline.live(main))).toBe("a");
	await wal.close();
});

test("in random histories each is at every moment what the log makes of it", async () => {
	const random = seeded(SEED);
	const scopes: readonly Scope[] = [{}, alice, main, side, plan, bob];
	for (let history = 0; history < 60; history++) {
		await using house = await House.open({ engine: slowEngine() });
		const { timeline, wal } = house;
		const lives = new Map<Scope, Live>();
		const moving: Promise<unknown>[] = [];
		const check = async (): Promise<void> => {
			await Promise.all(moving);
			for (const live of lives.values()) await expectTrue(timeline, wal.tip, live);
		};
		for (let step = 0; step < 40; step++) {
			const scope = random.pick(scopes);
			const what = random();
			if (what < 0.55) {
				const log = lives.get(scope)?.handle() ?? timeline.handle();
				const draft = random.pick([say, (text: string) => did({ text })])(`${step}`);
				try {
					log.append(draft, random.pick([main, side, plan, bob]));
				} catch (error) {
					expect(error).toMatchObject({ code: "STALE_LINEAGE" });
				}
			} else if (what < 0.7) lives.set(scope, await timeline.live(scope));
			else if (what < 0.75) {
				lives.get(scope)?.close();
				lives.delete(scope);
			} else if (what < 0.9) {
				const target = random.below(wal.tip + 1);
				const drop = random() < 0.3 ? { drop: [said.kind] } : {};
				const move = timeline.checkout(target, { scope, ...drop }).catch((error: unknown) => {
					expect(error).toMatchObject({ code: "TIMETRAVEL_BUSY" });
				});
				moving.push(move);
				if (random.chance(0.5)) await move;
			} else await check();
		}
		await check();
	}
});

/** A log that waits before each reading; by default for a turn of the event loop. */
function slowEngine(wait: () => Promise<void> = turn): LogEngine {
	const engine = memoryEngine();
	const slow = (log: RealmLog): RealmLog =>
		new Proxy(log, {
			get(of, name) {
				const own: unknown = Reflect.get(of, name, of);
				if (name !== "read") return typeof own === "function" ? own.bind(of) : own;
				return async function* (...range: Parameters<RealmLog["read"]>) {
					await wait();
					yield* of.read(...range);
				};
			},
		});
	return { ...engine, log: (realm) => slow(engine.log(realm)) };
}

/** A turn of the event loop. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
