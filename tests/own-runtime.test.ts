/**
 * A runtime of one's own, put together from wal, snapshot, timetravel and journal as their READMEs say: what is known to have
 * happened is not made again, however one goes back to where it had only begun, and wherever the process dies meanwhile.
 */
import {
	journal,
	journalRecords,
	Lane,
	laneClosed,
	recall,
	type StepEvent,
	stepOutcomes,
	stepStarted,
} from "@reyn/journal";
import { memorySnapshots, type View } from "@reyn/snapshot";
import { openTimeline, stepLate, type Timeline, timetravelRecords } from "@reyn/timetravel";
import { type Appended, type Appender, fileEngine, openWal, type Scope, type Wal, type WalRecord } from "@reyn/wal";
import { MortalDisk } from "@reyn/wal/testing";
import { describe, expect, test } from "vitest";

const main: Scope = { agent: "clerk", session: "main" };
const side: Scope = { agent: "clerk", session: "side" };

/** What is outside, and outlives every process. */
class World {
	disk: MortalDisk;
	/** The key of each charge. */
	readonly charged: string[] = [];
	readonly told: StepEvent[] = [];
	/** How the far side answers. */
	answer: () => Promise<void> = async () => {};

	constructor(image: Image = [[], []]) {
		this.disk = new MortalDisk(...image);
	}

	/** The next process finds what is on the disk. */
	copy(): World {
		return new World(imageOf(this.disk));
	}

	get inDoubt(): number {
		return this.told.filter(({ type }) => type === "in_doubt").length;
	}
}

type Image = readonly [files: readonly (readonly [string, Uint8Array])[], directories: readonly string[]];

const imageOf = ({ files, directories }: MortalDisk): Image => [
	[...files].map(([path, inode]) => [path, new Uint8Array(inode.bytes)] as const),
	[...directories],
];

/** Where the steps of a session are recorded, and what is known of them. */
interface Place {
	readonly view: View;
	log(): Appender;
}

/** Of a runtime: how it comes by the state of a session. */
type Follow = (own: Own, scope: Scope) => Promise<Place>;

/** The timeline follows. */
const live: Follow = async ({ timeline }, scope) => {
	const session = await timeline.live(scope);
	return {
		get view() {
			return session.view;
		},
		log: () => session.handle(),
	};
};

/** It folds by itself, and takes the state anew after a rewind. */
const byItself: Follow = async (own, scope) => {
	let view: View;
	const take = async (): Promise<void> => {
		view = await own.timeline.at(own.wal.tip, scope);
	};
	await take();
	own.rebuilds.push(take);
	return {
		get view() {
			return view;
		},
		log: () => {
			const handle = own.timeline.handle();
			return {
				append(draft, at): Appended {
					const appended = handle.append(draft, at);
					view = view.apply(appended.record);
					return appended;
				},
			};
		},
	};
};

/** The runtime: a job that charges and then mails, and goes on where it was. */
class Own {
	readonly world: World;
	readonly wal: Wal;
	readonly timeline: Timeline;
	readonly rebuilds: (() => Promise<void>)[];
	readonly #stop: { now: AbortController };

	private constructor(
		world: World,
		wal: Wal,
		timeline: Timeline,
		rebuilds: Own["rebuilds"],
		stop: { now: AbortController },
	) {
		this.world = world;
		this.wal = wal;
		this.timeline = timeline;
		this.rebuilds = rebuilds;
		this.#stop = stop;
	}

	static async open(world: World): Promise<Own> {
		const stop = { now: new AbortController() };
		const rebuilds: Own["rebuilds"] = [];
		const engine = fileEngine("/state", { disk: world.disk });
		const wal = await openWal(engine, { records: [...journalRecords, ...timetravelRecords] });
		const timeline = await openTimeline({
			wal,
			snapshots: memorySnapshots(),
			projections: [journal],
			outcomes: stepOutcomes,
		});
		timeline.attend({
			// It stops its work, and does not wait for a far side that does not listen.
			quiet: async () => {
				stop.now.abort(new Error("a rewind"));
				return () => {};
			},
			rebuild: async () => {
				for (const take of rebuilds) await take();
			},
		});
		await timeline.settle();
		return new Own(world, wal, timeline, rebuilds, stop);
	}

	async job(place: Place, scope: Scope = main, { fails = false } = {}): Promise<string> {
		this.#stop.now = new AbortController();
		const { world } = this;
		const lane = new Lane("job", scope, {
			log: place.log(),
			logId: this.wal.id,
			recall: (step) => recall(place.view.get(journal), step),
			whenInDoubt: () => "retry",
			signal: this.#stop.now.signal,
			observe: (event) => void world.told.push(event),
		});
		const receipt = await lane.perform({
			kind: "tool",
			name: "charge",
			args: {},
			purity: "side_effect",
			call: async ({ idempotencyKey = "" }) => {
				world.charged.push(idempotencyKey);
				await world.answer();
				if (fails) throw Object.assign(new Error("busy"), { retryable: true });
				return `receipt ${world.charged.length}`;
			},
		});
		return lane.perform({ kind: "tool", name: "mail", args: {}, purity: "side_effect", call: async () => receipt });
	}

	async records(kind: string): Promise<readonly WalRecord[]> {
		const all: WalRecord[] = [];
		for await (const record of this.wal.read({ kinds: { only: [kind] } })) all.push(record);
		return all;
	}

	/** The seq of the first start of the charge. */
	async start(scope: Scope = main): Promise<number> {
		const starts = await this.records(stepStarted.kind);
		return starts.find((each) => each.scope.session === scope.session)?.seq ?? 0;
	}
}

describe.each([
	["its states are live", live],
	["it follows its states itself", byItself],
] as const)("a rewind to the open start of an effect that is over, where %s", (_, follow) => {
	test("does not make it again, however often", async () => {
		const world = new World();
		const own = await Own.open(world);
		const place = await follow(own, main);
		expect(await own.job(place)).toBe("receipt 1");
		for (let again = 0; again < 3; again++) {
			await own.timeline.checkout(await own.start());
			expect(await own.job(place)).toBe("receipt 1");
		}
		expect([world.charged.length, world.inDoubt]).toEqual([1, 0]);
		await own.wal.close();
	});

	test("before it was begun it is another effect, with a key of its own", async () => {
		const world = new World();
		const own = await Own.open(world);
		const place = await follow(own, main);
		await own.job(place);
		await own.timeline.checkout((await own.start()) - 1);
		expect(await own.job(place)).toBe("receipt 2");
		expect(new Set(world.charged).size).toBe(2);
		await own.wal.close();
	});

	test("nor in any of its sessions, whose lanes have the same names", async () => {
		const world = new World();
		const own = await Own.open(world);
		const places = [await follow(own, main), await follow(own, side)] as const;
		await own.job(places[0], main);
		await own.job(places[1], side);
		await own.timeline.checkout(await own.start(main), { scope: main });
		await own.timeline.checkout(await own.start(side), { scope: side });
		expect(await own.job(places[0], main)).toBe("receipt 1");
		expect(await own.job(places[1], side)).toBe("receipt 2");
		expect([world.charged.length, world.inDoubt]).toEqual([2, 0]);
		await own.wal.close();
	});

	test("and does not where the process dies at any point of it, and of its finish", async () => {
		const before = new World();
		const own = await Own.open(before);
		await own.job(await follow(own, main));
		const start = await own.start();
		await own.wal.close();

		const points = { move: 0, finish: 0 };
		for (let n = 1; ; n++) {
			const world = before.copy();
			const moving = await Own.open(world);
			await follow(moving, main);
			world.disk.dieAt(n);
			await moving.timeline.checkout(start).catch(() => undefined);
			if (!world.disk.dead) break;
			points.move++;
			world.disk.live();
			for (let m = 1; ; m++) {
				const again = world.copy();
				again.disk.dieAt(m);
				await Own.open(again).catch(() => undefined);
				const isFinished = !again.disk.dead;
				again.disk.live();
				await expectKnown(again.copy(), start, follow);
				if (isFinished) break;
				points.finish++;
			}
		}
		expect(Math.min(points.move, points.finish)).toBeGreaterThan(2);
	});

	/** The rewind has happened or not: asked for again, it leaves nothing in doubt and makes nothing. */
	async function expectKnown(world: World, start: number, how: Follow): Promise<void> {
		const own = await Own.open(world);
		const place = await how(own, main);
		expect(await own.job(place)).toBe("receipt 1");
		await own.timeline.checkout(start);
		expect(await own.job(place)).toBe("receipt 1");
		expect([world.charged, world.inDoubt]).toEqual([[], 0]);
		await own.wal.close();
	}
});

describe("a session that was not live when the rewind moved it", () => {
	test("knows the outcome when it is opened, in this process or the next", async () => {
		const world = new World();
		const own = await Own.open(world);
		await own.job(await live(own, side), side);
		const start = await own.start(side);
		await own.wal.close();
		const next = await Own.open(world);
		await live(next, main);
		await next.timeline.checkout(start);
		for (const process of [next, undefined]) {
			const at = process ?? (await Own.open(world));
			expect(await at.job(await live(at, side), side)).toBe("receipt 1");
			await at.wal.close();
		}
		expect([world.charged.length, world.inDoubt]).toEqual([1, 0]);
	});

	test("is opened without a record where nothing is known, or nobody has moved", async () => {
		const world = new World();
		const own = await Own.open(world);
		const gone = own.job(await live(own, main));
		await gone;
		const { tip } = own.wal;
		await live(own, side);
		await live(own, {});
		expect(own.wal.tip).toBe(tip);
		await own.wal.close();
	});
});

describe("an outcome that comes after the rewind", () => {
	/** The far side has been asked, and answers when it is let. */
	async function asked(world = new World()) {
		const far = Promise.withResolvers<void>();
		world.answer = () => far.promise;
		const own = await Own.open(world);
		const place = await live(own, main);
		const late = own.job(place).catch((error: unknown) => (error as { code?: unknown }).code);
		await until(() => world.charged.length === 1);
		await own.timeline.label(1, "before"); // a checkout of the tip does nothing
		return { world, own, place, late, start: await own.start(), answer: () => far.resolve() };
	}

	test("is known where its start is", async () => {
		const { world, own, place, late, start, answer } = await asked();
		await own.timeline.checkout(start);
		answer();
		expect(await late).toBe("STALE_LINEAGE");
		expect(await own.job(place)).toBe("receipt 1");
		expect([world.charged.length, world.inDoubt]).toEqual([1, 0]);
		expect(await own.records(stepLate.kind)).toEqual([]);
		expect(place.view.hash()).toBe((await own.timeline.at(own.wal.tip, main)).hash());
		await own.wal.close();
	});

	test("is kept aside where its start is not, and known on the way back", async () => {
		const { world, own, place, late, start, answer } = await asked();
		await own.timeline.checkout(0);
		const before = place.view.hash();
		answer();
		expect(await late).toBe("STALE_LINEAGE");
		expect(place.view.hash()).toBe(before);
		const [aside] = await own.records(stepLate.kind);
		expect(aside).toMatchObject({ scope: main, data: { data: { started: start, result: "receipt 1" } } });
		await own.timeline.checkout(start);
		expect(await own.job(place)).toBe("receipt 1");
		expect([world.charged.length, world.inDoubt]).toEqual([1, 0]);
		await own.wal.close();
	});

	test("is known in the next process, or in doubt, wherever this one dies", async () => {
		const counts = { known: 0, inDoubt: 0 };
		for (const target of ["start", "genesis"] as const) {
			for (let n = 1; ; n++) {
				const { world, own, late, start, answer } = await asked();
				world.disk.dieAt(n);
				const moved = await own.timeline.checkout(target === "start" ? start : 0).catch(() => undefined);
				answer();
				await late;
				await own.wal.close().catch(() => undefined);
				const isDead = world.disk.dead;
				world.disk.live();
				const next = await Own.open(world);
				const place = await live(next, main);
				await next.timeline.checkout(start);
				const outcomes = await next.records("step_completed");
				const aside = await next.records(stepLate.kind);
				const isKnown = outcomes.length + aside.length > 0;
				world.answer = async () => {};
				expect(await next.job(place)).toBe(isKnown ? "receipt 1" : "receipt 2");
				expect([world.charged.length, world.inDoubt]).toEqual(isKnown ? [1, 0] : [2, 1]);
				// The far side is asked with the key that it knows.
				expect(new Set(world.charged).size).toBe(1);
				counts[isKnown ? "known" : "inDoubt"]++;
				await next.wal.close();
				if (!isDead) {
					expect([moved !== undefined, isKnown]).toEqual([true, true]);
					break;
				}
			}
		}
		expect(counts.known).toBeGreaterThan(2);
		expect(counts.inDoubt).toBeGreaterThan(2);
	});
});

test("a failure after which it was begun again is no last word: it is in doubt, as it was there", async () => {
	const world = new World();
	const own = await Own.open(world);
	const place = await live(own, main);
	await own.job(place, main, { fails: true }).catch(() => undefined);
	const far = Promise.withResolvers<void>();
	world.answer = () => far.promise;
	const again = own.job(place).catch((error: unknown) => (error as { code?: unknown }).code);
	await until(() => world.charged.length === 2);
	const start = await own.start();
	await own.timeline.checkout(start);
	world.answer = async () => {};
	await own.job(place);
	expect([world.charged.length, world.inDoubt]).toEqual([3, 1]);
	far.resolve();
	expect(await again).toBe("STALE_LINEAGE");
	await own.wal.close();
});

test("what a closed lane has forgotten is adopted by nobody", async () => {
	const world = new World();
	const own = await Own.open(world);
	const place = await live(own, main);
	await own.job(place);
	place.log().append(laneClosed({ lane: "job" }), main);
	const { tip } = own.wal;
	await own.timeline.label(tip, "over");
	await own.timeline.checkout(tip);
	expect((await own.records("step_completed")).filter(({ data }) => "adopts" in (data as object))).toEqual([]);
	await own.wal.close();
});

/** A condition that needs no time, only turns of the event loop. */
async function until(holds: () => boolean): Promise<void> {
	while (!holds()) await new Promise((resolve) => setImmediate(resolve));
}
