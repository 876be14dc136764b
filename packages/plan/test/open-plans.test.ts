/** Plans for people who take only this package: opened from its public surface, killed at every change of the disk, and opened again. */
import { mkdtempSync, readdirSync, rmSync, unlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileEngine, type LogEngine, memoryEngine } from "@reyn/wal";
import { MortalDisk } from "@reyn/wal/testing";
import { describe, expect, test } from "vitest";
import { FillingDisk } from "../../../tests/kit/filling-disk.ts";
import { type OpenPlansOptions, openPlans, type PlanEnd, type Plans } from "../src/index.ts";
import { failing, PauselessTime, type Script, scripted } from "./plan-process.ts";

const plan = {
	goal: "Find out",
	steps: [
		{ id: "s1", description: "Do s1" },
		{ id: "s2", description: "Do s2" },
		{ id: "s3", description: "Do s3", depends_on: ["s1", "s2"] },
	],
};

/** One life: opens, works, closes. */
async function live<T>(
	at: string | LogEngine,
	options: Partial<OpenPlansOptions>,
	work: (plans: Plans, told: PlanEnd[]) => Promise<T>,
): Promise<T> {
	const told: PlanEnd[] = [];
	const deliver = (end: PlanEnd): void => void told.push(end);
	await using plans = await openPlans(at, { model: scripted({}), deliver, ...options });
	return await work(plans, told);
}

test("a plan is started, told with who waits for it, and then known", async () => {
	const engine = memoryEngine();
	await live(engine, {}, async (plans, told) => {
		await plans.start("p1", plan, { chain: "c7" });
		await plans.start("p1", "whatever");
		await plans.idle();
		expect(told).toEqual([
			{
				plan: "p1",
				chain: "c7",
				key: expect.stringMatching(/:\d+$/),
				outcome: "completed",
				text: "s3 done",
				failed: [],
			},
		]);
		expect(plans.list()).toMatchObject([["p1", { status: "completed", chain: "c7" }]]);
		expect((await plans.show("p1")).steps).toMatchObject([
			{ id: "s1", status: "completed" },
			{ id: "s2" },
			{ id: "s3" },
		]);
		expect(await plans.result("p1", "s1")).toBe("s1 done");
	});
	await live(engine, {}, async (plans, told) => {
		await plans.idle();
		expect(told).toEqual([]);
	});
});

test("to resume a plan that runs pays for nothing again", async () => {
	const held = Promise.withResolvers<string>();
	const model = scripted({ s1: () => held.promise });
	await live(memoryEngine(), { model }, async (plans, told) => {
		await plans.start("p1", plan);
		while (!model.paid.includes("s1/0")) await new Promise(setImmediate);
		expect(await plans.resume("p1")).toEqual([]);
		held.resolve("s1 done");
		await plans.idle();
		expect([[...model.paid].sort(), told.length]).toEqual([["s1/0", "s2/0", "s3/0"], 1]);
	});
});

describe("a proposal of the model", () => {
	const proposed = (...proposals: readonly unknown[]): Script =>
		scripted({ "": proposals.map((args) => ({ calls: [["plan", args]] as const })) });

	test("starts the plan; one that is no plan is told to the model, and mended once", async () => {
		const model = proposed({ goal: "Find out", steps: [] }, plan);
		await live(memoryEngine(), { model }, async (plans, told) => {
			await plans.ask("p1", "What is there?");
			await plans.idle();
			expect(told).toMatchObject([{ outcome: "completed", text: "s3 done" }]);
			const mending = model.requests[1]?.messages.at(-1);
			expect(mending).toMatchObject({ role: "tool", text: expect.stringMatching(/^ERROR: .*a plan has 2 to 7 steps/) });
		});
	});

	test("that is no plan again is refused, nothing is started, and the model is asked anew next time", async () => {
		const model = proposed({}, {}, plan);
		await live(memoryEngine(), { model }, async (plans) => {
			await expect(plans.ask("p1", "What?")).rejects.toMatchObject({ code: "PLAN_INVALID" });
			expect(plans.list()).toEqual([]);
			expect(model.paid).toEqual(["/0", "/1"]);
			await expect(plans.ask("p1", "What?")).rejects.toMatchObject({ code: "PLAN_INVALID" });
			expect(model.paid).toEqual(["/0", "/1", "/0", "/1"]);
		});
	});

	test("is asked for where the model has only talked", async () => {
		const model = scripted({ "": ["Let me think.", { calls: [["plan", plan]] }] });
		await live(memoryEngine(), { model }, async (plans, told) => {
			await plans.ask("p1", "What?");
			await plans.idle();
			expect(told).toHaveLength(1);
		});
		const talking = scripted({ "": "I would rather not." });
		await live(memoryEngine(), { model: talking }, async (plans) => {
			await expect(plans.ask("p1", "What?")).rejects.toThrow("I would rather not.");
		});
	});
});

describe("killed at any change of the disk, and opened again", () => {
	interface Lives {
		readonly disk: MortalDisk;
		readonly model: Script;
		/** What was told, in each life. */
		readonly told: PlanEnd[][];
		/** How many changes of the disk were left when something was told, the last time before a death. */
		left: number;
	}

	const lives = (): Lives => ({
		disk: new MortalDisk([], []),
		model: scripted({ "": { calls: [["plan", plan]] } }),
		told: [],
		left: 0,
	});

	/** Lives until the death, or to the end; a dead process asks nobody and tells nothing. */
	async function until(change: number, each: Lives, work: (plans: Plans) => Promise<unknown>) {
		const { disk, model, told } = each;
		disk.live();
		const mine: PlanEnd[] = [];
		told.push(mine);
		const alive = (): void => {
			if (disk.dead) throw failing("killed", { retryable: false });
		};
		if (change > 0) disk.dieAt(change);
		const options: OpenPlansOptions = {
			model: {
				id: model.id,
				generate(...request) {
					alive();
					return model.generate(...request);
				},
			},
			deliver(end) {
				alive();
				mine.push(end);
				if (change > 0) each.left = disk.left;
			},
		};
		let plans: Plans | undefined;
		try {
			plans = await openPlans(fileEngine("/state", { disk }), options);
			await work(plans);
			await plans.idle();
		} catch (error) {
			if (!disk.dead) throw error;
		}
		await plans?.close().catch(() => undefined);
	}

	async function changesOf(work: (plans: Plans) => Promise<unknown>): Promise<number> {
		const whole = lives();
		for (let change = 1; ; change += 10) {
			const each = lives();
			await until(change, each, work);
			if (!each.disk.dead) return change;
			expect(change, String(whole.told)).toBeLessThan(2000);
		}
	}

	test("each answer is told, twice only where the death was while it was told; what is finished is not paid again", async () => {
		const ask = (plans: Plans): Promise<void> => plans.ask("p1", "What is there?", { chain: "c7" });
		const changes = await changesOf(ask);
		expect(changes).toBeGreaterThan(20);
		const minimum = ["/0", "s1/0", "s2/0", "s3/0"];
		for (let change = 1; change <= changes; change++) {
			const all = lives();
			await until(change, all, ask);
			const paidBefore = all.model.paid.length;
			await until(0, all, ask);
			const [first = [], second = []] = all.told;
			expect(first.length + second.length, `told after a death at change ${change}`).toBeGreaterThanOrEqual(1);
			expect(second.length).toBeLessThanOrEqual(1);
			// The deaths from the telling until the record of it is durable: at the write, or at its sync.
			if (first.length + second.length > 1) expect(all.left, `told twice, ${change}`).toBeLessThanOrEqual(2);
			for (const end of [...first, ...second])
				expect(end).toEqual({
					...{ plan: "p1", chain: "c7", key: (first[0] ?? second[0])?.key },
					...{ outcome: "completed", text: "s3 done", failed: [] },
				});
			// What was told was paid: after it there is nothing to ask for.
			if (first.length > 0) expect(all.model.paid.length).toBe(paidBefore);
			expect(new Set(all.model.paid)).toEqual(new Set(minimum));
			// Two steps run at the same time, so two calls are open at most.
			expect(all.model.paid.length - minimum.length, `after ${change}`).toBeLessThanOrEqual(2);
			await until(0, all, ask);
			expect(all.told.at(-1), "told to nobody a third time").toEqual([]);
		}
	});

	test("a discard that was said is final, and each plan has one end", async () => {
		const work = async (plans: Plans): Promise<void> => {
			await plans.start("p1", plan);
			await plans.discard("p1", "not needed");
		};
		const changes = await changesOf(work);
		const outcomes = new Set<string>();
		for (let change = 1; change <= changes; change++) {
			const all = lives();
			let isSaid = false;
			await until(change, all, async (plans) => {
				await work(plans);
				isSaid = true;
			});
			await until(0, all, async (plans) => plans.start("p1", plan));
			await until(0, all, async (plans) => plans.start("p1", plan));
			expect(all.told.at(-1), "what was told is not told again").toEqual([]);
			const ends = all.told.flat();
			const [end] = ends;
			expect(ends.length).toBeGreaterThanOrEqual(1);
			expect(new Set(ends.map(({ key }) => key)).size, `ends after a death at change ${change}`).toBe(1);
			if (isSaid) expect(end).toMatchObject({ outcome: "discarded", text: expect.stringContaining("not needed") });
			outcomes.add(String(end?.outcome));
		}
		expect([...outcomes].sort()).toEqual(["completed", "discarded"]);
	});
});

describe("a person", () => {
	test("pauses a plan, amends it and lets it go on; from a step of one that is over", async () => {
		const engine = memoryEngine();
		const held = Promise.withResolvers<string>();
		const model = scripted({ s1: () => held.promise });
		await live(engine, { model, limits: { concurrency: 1 } }, async (plans) => {
			await plans.start("p1", plan);
			await expect.poll(() => model.paid).toEqual(["s1/0"]);
			held.resolve("one");
			await plans.pause("p1");
			await plans.amend("p1", { put: [{ id: "s2", description: "Do it otherwise" }] });
			await expect(plans.amend("p1", { drop: ["s9"] })).rejects.toMatchObject({ code: "PLAN_INVALID" });
		});
		await live(engine, { model }, async (plans, told) => {
			await plans.idle();
			expect(told, "it waits over a restart").toEqual([]);
			expect(await plans.show("p1")).toMatchObject({
				status: "paused",
				steps: [{}, { description: "Do it otherwise" }, {}],
			});
			await plans.resume("p1");
			await plans.idle();
			expect(told).toMatchObject([{ outcome: "completed" }]);
			expect(await plans.resume("p1", { from: "s2" })).toEqual(["s2", "s3"]);
			await plans.idle();
			expect(told.map(({ outcome }) => outcome)).toEqual(["completed", "completed"]);
			expect(new Set(told.map(({ key }) => key)).size, "another answer has another key").toBe(2);
			expect(model.paid.filter((call) => call === "s1/0").length).toBeLessThanOrEqual(2);
			await expect(plans.pause("p1")).rejects.toMatchObject({ code: "PLAN_UNKNOWN" });
			await expect(plans.show("p9")).rejects.toThrow("these are: p1");
		});
	});
});

test("of a plan whose last step fails the end says so, with what the others have found", async () => {
	await live(memoryEngine(), { model: scripted({ s3: failing("no key") }) }, async (plans, told) => {
		await plans.start("p1", plan);
		await plans.idle();
		expect(told).toMatchObject([{ outcome: "failed", failed: ["s3"], text: expect.stringContaining("s1 done") }]);
	});
});

test.each([
	["nothing", ""],
	["what JSON writes at length", "\u0001".repeat(1000)],
	["letters of two bytes", "é".repeat(600)],
	["just what fits into a record", "x".repeat(1022)],
	["more", "x".repeat(1023)],
	["a page", "x".repeat(3000)],
	["much", "x".repeat(2_000_000)],
])("a finished step takes at most 2 KB of the state, whatever it gives: %s", async (_what, result) => {
	const model = scripted({ s1: result, s2: result, s3: result });
	await live(memoryEngine(), { model }, async (plans, told) => {
		await plans.start("p1", plan);
		await plans.idle();
		expect(told).toMatchObject([{ outcome: "completed" }]);
		expect(told[0]?.text === result, "the answer is whole").toBe(true);
		const [[, run] = []] = plans.list();
		for (const step of Object.entries(run?.steps ?? {}))
			expect(Buffer.byteLength(JSON.stringify(step))).toBeLessThanOrEqual(2048);
		expect(Buffer.byteLength(JSON.stringify(run)) / 3).toBeLessThanOrEqual(2048);
	});
});

test("a limit is asked about, and the plan goes on, or waits", async () => {
	const time = new PauselessTime();
	const model = scripted({ s1: failing("busy", { retryable: true }) });
	const options = { model, timers: time, clock: time, limits: { retryLimit: 1 } } as const;
	await live(memoryEngine(), { ...options, atLimit: async () => "pause" }, async (plans, told) => {
		await plans.start("p1", plan);
		await plans.idle();
		expect([told, plans.list()[0]?.[1].status]).toEqual([[], "paused"]);
		await plans.discard("p1", "busy");
		expect(told).toMatchObject([{ outcome: "discarded" }]);
	});
});

test("what `deliver` throws is told to `failed`, and the answer is told at the next start", async () => {
	const engine = memoryEngine();
	const why: unknown[] = [];
	const refusing = {
		deliver: () => Promise.reject(new Error("mail is down")),
		failed: (...of: unknown[]) => void why.push(...of),
	};
	await live(engine, refusing, async (plans) => {
		await plans.start("p1", plan);
		await plans.idle();
	});
	expect(why).toMatchObject(["p1", { message: "mail is down" }]);
	await live(engine, {}, async (plans, told) => {
		await plans.idle();
		expect(told).toMatchObject([{ text: "s3 done" }]);
	});
});

test.each(["", "a/b", "../p", "p 1"])("an id that is no part of a path is refused: %j", async (id) => {
	await live(memoryEngine(), {}, async (plans) => {
		await expect(plans.start(id, plan)).rejects.toMatchObject({ code: "PLAN_INVALID" });
	});
});

test("in a directory snapshots are stored when due, a large result lies beside the log, and a lost decomposition is said", async () => {
	const at = mkdtempSync(join(tmpdir(), "reyn-plans-"));
	try {
		const long = "x".repeat(40_000);
		const model = scripted({ s1: long });
		await live(at, { model }, async (plans, told) => {
			for (let n = 0; n < 8; n++) await plans.start(`p${n}`, plan);
			await plans.idle();
			expect(told).toHaveLength(8);
			expect(await plans.result("p3", "s1")).toBe(long);
			expect(plans.list()[3]?.[1].steps.s1).toMatchObject({ spilled: { bytes: expect.any(Number) } });
		});
		expect(readdirSync(join(at, "blobs", "snapshots", "roots"))).toHaveLength(1);
		const stuck = failing("stuck", { retryable: false });
		await live(at, { model, deliver: () => Promise.reject(stuck) }, async (plans) => {
			await plans.start("p9", { ...plan, goal: "Another" });
			await plans.idle();
			const [, { decomposition: hash }] = plans.list().at(-1) ?? ["", { decomposition: "" }];
			unlinkSync(join(at, "blobs", "plans", hash.slice(0, 2), `${hash}.blob`));
		});
		await live(at, { model }, async (plans, told) => {
			await plans.idle();
			expect(told).toMatchObject([{ plan: "p9", outcome: "discarded", text: expect.stringContaining("is gone") }]);
			expect(plans.list()).toHaveLength(9);
		});
	} finally {
		rmSync(at, { recursive: true });
	}
});

test("where a result is lost after the answer was told, its step is paid again, and the answer is told with the same key", async () => {
	const at = mkdtempSync(join(tmpdir(), "reyn-plans-"));
	try {
		const model = scripted({ s1: "one ".repeat(1000), s3: "three ".repeat(1000) });
		const keys: string[] = [];
		const deliver = ({ key }: PlanEnd): void => void keys.push(key);
		const dying = async (end: PlanEnd): Promise<void> => {
			deliver(end);
			throw failing("killed", { retryable: false });
		};
		await live(at, { model, deliver: dying }, async (plans) => {
			await plans.start("p1", plan);
			await plans.idle();
		});
		for (const name of readdirSync(join(at, "blobs")))
			if (!["plans", "snapshots"].includes(name)) rmSync(join(at, "blobs", name), { recursive: true });
		await live(at, { model, deliver: dying }, async (plans) => plans.idle());
		await live(at, { model, deliver }, async (plans) => {
			await plans.idle();
			expect(keys).toEqual([keys[0], keys[0], keys[0]]);
			expect([...model.paid].sort()).toEqual(["s1/0", "s1/0", "s2/0", "s3/0", "s3/0"]);
			// A person asks for another answer.
			await plans.resume("p1", { from: "s3" });
			await plans.idle();
			expect([keys.length, new Set(keys).size]).toEqual([4, 2]);
		});
	} finally {
		rmSync(at, { recursive: true });
	}
});

describe("a disk that is full", () => {
	const opening = (disk: FillingDisk) => fileEngine("/state", { disk });
	/** Fills the disk while a step is asked for, once. */
	function filling(disk: FillingDisk, step: string): Script {
		let times = 0;
		const say = (): string => {
			disk.isFull = ++times === 1;
			return `${step} `.repeat(1000);
		};
		return scripted({ [step]: say });
	}

	test.each(["s1", "s3"])(
		"when %s has its result: the plan waits and says so, and goes on when there is space",
		async (step) => {
			const disk = new FillingDisk();
			const model = filling(disk, step);
			const full = Promise.withResolvers<void>();
			const observe: OpenPlansOptions["observe"] = ({ type }) => (type === "no_space" ? full.resolve() : undefined);
			await live(opening(disk), { model, observe }, async (plans, told) => {
				await plans.start("p1", plan);
				await full.promise;
				// What somebody asks for is refused, and nothing is changed.
				const refused = { code: "WAL_FULL", message: /not kept, and nothing was changed/ };
				await expect(plans.start("p2", plan)).rejects.toMatchObject(refused);
				const amendment = { describe: { s3: "say it" } };
				if (step === "s1") await expect(plans.amend("p1", amendment)).rejects.toMatchObject(refused);
				expect([plans.list().length, told]).toEqual([1, []]);
				disk.isFull = false;
				await plans.idle();
				await plans.start("p2", plan);
				await plans.idle();
				expect(told.map(({ plan: id, outcome }) => `${id} ${outcome}`).sort()).toEqual([
					"p1 completed",
					"p2 completed",
				]);
				expect([...model.paid].sort()).toEqual(["s1/0", "s1/0", "s2/0", "s2/0", "s3/0", "s3/0"]);
			});
		},
	);

	test("when its process ends: the next one is refused until there is space, and pays again for no more than what was open", async () => {
		const disk = new FillingDisk();
		const model = filling(disk, "s3");
		const deliver = (): void => {};
		const opened = await openPlans(opening(disk), { model, deliver });
		await opened.start("p1", plan);
		while (!disk.isFull) await new Promise(setImmediate);
		await expect(opened.close()).rejects.toMatchObject({ code: "WAL_FULL" });
		await expect(openPlans(opening(disk), { model, deliver })).rejects.toMatchObject({
			code: "WAL_IO",
			message: /ENOSPC/,
		});
		disk.isFull = false;
		await live(opening(disk), { model: scripted({}) }, async (plans, told) => {
			await plans.idle();
			expect(told).toMatchObject([{ outcome: "completed", text: "s3 done" }]);
		});
		expect([...model.paid].sort()).toEqual(["s1/0", "s2/0", "s3/0"]);
	});
});
