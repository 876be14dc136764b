/** Skills for people who take only this package: opened from its public surface, killed at every change of the disk, and opened again. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileEngine, type LogEngine, memoryEngine } from "@reyn/wal";
import { MortalDisk } from "@reyn/wal/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { type CutEngine, cutEngine } from "../../journal/test/order/cut-engine.ts";
import {
	defineSkill,
	done,
	next,
	type OpenSkillsOptions,
	openSkills,
	type PhaseContext,
	type SkillEnd,
	type Skills,
	type StepOptions,
} from "../src/index.ts";

const silent: OpenSkillsOptions["model"] = {
	id: "silent",
	// biome-ignore lint/correctness/useYield: it is never asked
	async *generate() {
		throw new Error("nobody asks this model");
	},
};

/** What has happened in the world, in order. */
class World {
	readonly done: string[] = [];
	isAlive = (): boolean => true;

	do(what: string): string {
		if (!this.isAlive()) throw new Error("killed");
		this.done.push(what);
		return what;
	}
}

/** Counts twice, and sends: each a call that asks the world whether it has happened. */
const reportOf = (world: World) => {
	const once = (what: string): StepOptions<string> => ({
		purity: "side_effect",
		reconcile: async () => (world.done.includes(what) ? { kind: "done", result: what } : { kind: "not_done" }),
	});
	return defineSkill({
		name: "report",
		description: "Counts, and sends what it has counted",
		input: z.object({ month: z.string() }),
		start: "count",
		phases: {
			count: async ({ step, visit }, { month }) => {
				const what = `count ${month} ${visit}`;
				const counted = await step("count", async () => world.do(what), once(what));
				return visit < 2 ? next("count", counted) : next("send", counted);
			},
			send: async ({ step }, _input, counted) => {
				const what = `send ${counted}`;
				return done(await step("send", async () => world.do(what), once(what)));
			},
		},
	});
};

/** One life: opens, works, closes. */
async function live<T>(
	at: string | LogEngine,
	options: Partial<OpenSkillsOptions>,
	work: (skills: Skills, told: SkillEnd[]) => Promise<T>,
): Promise<T> {
	const told: SkillEnd[] = [];
	const deliver = (end: SkillEnd): void => void told.push(end);
	await using skills = await openSkills(at, { skills: [], model: silent, deliver, ...options });
	return await work(skills, told);
}

test("a run is started, told once, and then known", async () => {
	const engine = memoryEngine();
	const world = new World();
	const skills = [reportOf(world)];
	await live(engine, { skills }, async (open, told) => {
		await open.start("r1", "report", { month: "May" });
		await open.start("r1", "whatever", "whatever");
		await open.idle();
		const key = expect.stringMatching(/:\d+$/);
		expect(told).toEqual([{ run: "r1", skill: "report", key, outcome: "completed", output: "send count May 2" }]);
		expect(open.list()).toMatchObject([["r1", { status: "completed", visits: { count: 2, send: 1 } }]]);
	});
	await live(engine, { skills }, async (open, told) => {
		await open.idle();
		expect(told).toEqual([]);
		await expect(open.discard("r1", "too late")).rejects.toMatchObject({ code: "SKILL_UNKNOWN_RUN" });
		await expect(open.resume("r1")).rejects.toMatchObject({ code: "SKILL_UNKNOWN_RUN" });
	});
	expect(world.done).toEqual(["count May 1", "count May 2", "send count May 2"]);
});

describe("nothing is written for", () => {
	test.each([
		["an input that does not fit", "r1", "report", { month: 5 }, "SKILL_INVALID_INPUT", "month"],
		["a skill that is not there", "r1", "reports", {}, "SKILL_UNKNOWN", "there are report"],
		["an id that is a path", "../r1", "report", { month: "May" }, "SKILL_INVALID_RUN", '"../r1"'],
		["an id of no letters", "", "report", { month: "May" }, "SKILL_INVALID_RUN", '""'],
	])("%s", async (_what, run, skill, input, code, named) => {
		const engine = memoryEngine();
		await live(engine, { skills: [reportOf(new World())] }, async (open) => {
			const start = open.start(run, skill, input);
			await expect(start).rejects.toMatchObject({ code, message: expect.stringContaining(named) });
			expect(open.list()).toEqual([]);
		});
		await live(engine, {}, async (open) => expect(open.list()).toEqual([]));
	});

	test("an id that a child of another run has", async () => {
		const phase = async ({ ask }: PhaseContext) => done(await ask("well?"));
		const asker = defineSkill({ name: "asker", description: "", input: z.unknown(), start: "a", phases: { a: phase } });
		const lead = async ({ skill }: PhaseContext) => done(await skill("asker"));
		const leader = defineSkill({ name: "lead", description: "", input: z.unknown(), start: "a", phases: { a: lead } });
		const children: string[] = [];
		const ask: OpenSkillsOptions["ask"] = async ({ lane }) =>
			void children.push(/.*skill\/([^/]+)/.exec(lane)?.[1] ?? "");
		const engine = memoryEngine();
		await live(engine, { skills: [leader, asker], ask, failed: () => {} }, async (open) => {
			await open.start("r1", "lead", {});
			await open.idle();
			const [child = ""] = children;
			await expect(open.start(child, "lead", {})).rejects.toMatchObject({
				code: "SKILL_INVALID_RUN",
				message: `${child} is a run that another one has started; take another id`,
			});
			expect(open.list().map(([run]) => run)).toEqual(["r1"]);
		});
	});

	test("a policy that there is not: it is not even opened", async () => {
		const policy = { per_skill: { report: "again" } } as unknown as NonNullable<OpenSkillsOptions["policy"]>;
		const opening = openSkills(memoryEngine(), { skills: [], model: silent, deliver: () => {}, policy });
		await expect(opening).rejects.toMatchObject({
			code: "SKILL_POLICY",
			message: expect.stringMatching(/per_skill\.report.*retry/),
		});
	});
});

describe("a run whose phase throws", () => {
	const mail = { isUp: false, tries: 0 };
	const send = defineSkill({
		name: "send",
		description: "Sends",
		input: z.string(),
		start: "send",
		phases: {
			send: async () => {
				mail.tries++;
				if (!mail.isUp) throw new Error("no mail");
				return done("sent");
			},
		},
	});

	test("is kept, and goes on when it is resumed, or at the next start", async () => {
		const engine = memoryEngine();
		const failed: string[] = [];
		const options = {
			skills: [send],
			failed: (run: string, { message }: Error) => void failed.push(`${run} ${message}`),
		};
		await live(engine, options, async (open, told) => {
			await open.start("r1", "send", "it");
			await open.idle();
			await open.resume("r1");
			await open.idle();
			expect([failed, told, mail.tries]).toEqual([["r1 no mail", "r1 no mail"], [], 2]);
			expect(open.list()).toMatchObject([["r1", { status: "running", phase: "send" }]]);
		});
		mail.isUp = true;
		await live(engine, options, async (open, told) => {
			await open.idle();
			expect(told).toMatchObject([{ run: "r1", outcome: "completed", output: "sent" }]);
		});
	});

	test("is kept as well where its skill is not given any more; others go on", async () => {
		const engine = memoryEngine();
		mail.isUp = false;
		await live(engine, { skills: [send] }, async (open) => {
			await open.start("r1", "send", "it");
			await open.start("r2", "send", "it");
			await open.idle();
			await open.discard("r2", "not wanted");
		});
		const failed: string[] = [];
		await live(engine, { failed: (run, { message }) => void failed.push(`${run}: ${message}`) }, async (open, told) => {
			await open.idle();
			expect([failed, told]).toEqual([['r1: no skill "send"; there is none'], []]);
		});
	});
});

test("a run that ends itself is over, with its reason, and told so once", async () => {
	const engine = memoryEngine();
	const skills = [
		defineSkill({
			...{ name: "check", description: "Checks", input: z.string(), start: "check" },
			phases: { check: async ({ abort }) => abort("nothing to check") },
		}),
	];
	await live(engine, { skills }, async (open, told) => {
		await open.start("r1", "check", "");
		await open.idle();
		expect(told).toMatchObject([{ run: "r1", outcome: "discarded", reason: "nothing to check" }]);
	});
	await live(engine, { skills }, async (open, told) => {
		await open.idle();
		expect([told, open.list()]).toMatchObject([[], [["r1", { status: "discarded" }]]]);
	});
});

test("a run that is discarded with a child open ends with it, wherever that is cut; else the same child goes on", async () => {
	const world = new World();
	let isHeld = true;
	const child = defineSkill({
		...{ name: "child", description: "sends, and waits", input: z.unknown(), start: "only" },
		phases: {
			only: async ({ step, ask }: PhaseContext) => {
				await step("send", async () => world.do("send"), { purity: "side_effect" });
				return done(await ask("and?"));
			},
		},
	});
	const around = defineSkill({
		...{ name: "around", description: "has a child", input: z.unknown(), start: "only" },
		phases: { only: async ({ skill }: PhaseContext) => done(await skill("child")) },
	});
	const opened = (engine: CutEngine, told: SkillEnd[] = []) =>
		openSkills(engine, {
			...{ skills: [around, child], model: silent, deliver: (end) => void told.push(end) },
			ask: async () => (isHeld ? undefined : "yes"),
		});
	const whole = cutEngine();
	const first = await opened(whole);
	await first.start("r1", "around", {});
	await first.idle();
	const from = whole.tip;
	await first.discard("r1", "enough");
	await first.close();
	isHeld = false;
	for (let after = from; after <= whole.tip; after++) {
		const engine = await whole.cut(after);
		const told: SkillEnd[] = [];
		const next = await opened(engine, told);
		await next.idle();
		await next.close();
		const begun = engine.lines.filter((line) => line.includes('"kind":"skill_run_started"'));
		expect([after, world.done, begun.length]).toEqual([after, ["send"], 2]);
		const [end] = told;
		if (end?.outcome !== "discarded" && after < whole.tip) expect([after, end?.output]).toEqual([after, "yes"]);
	}
});

describe("a run that a person discards", () => {
	const held = Promise.withResolvers<never>();
	const wait = defineSkill({
		...{ name: "wait", description: "Waits", input: z.string(), start: "wait" },
		phases: {
			wait: async ({ signal }) => {
				signal.addEventListener("abort", () => held.reject(signal.reason));
				return held.promise;
			},
		},
	});

	test("is stopped, and over before that is told", async () => {
		const engine = memoryEngine();
		await live(engine, { skills: [wait] }, async (open, told) => {
			await open.start("r1", "wait", "");
			await open.discard("r1", "not wanted");
			expect(told).toMatchObject([{ run: "r1", outcome: "discarded", reason: "not wanted" }]);
			await expect(open.discard("r1", "again")).rejects.toMatchObject({ code: "SKILL_UNKNOWN_RUN" });
		});
		await live(engine, { skills: [wait] }, async (open, told) => {
			await open.idle();
			expect(told).toEqual([]);
		});
	});
});

describe("killed at any change of the disk, and opened again", () => {
	interface Lives {
		readonly disk: MortalDisk;
		readonly world: World;
		/** What was told, in each life. */
		readonly told: SkillEnd[][];
	}

	const lives = (): Lives => ({ disk: new MortalDisk([], []), world: new World(), told: [] });

	/** Lives until the death, or to the end; a dead process does nothing, and tells nothing. */
	async function until(change: number, { disk, world, told }: Lives, work: (skills: Skills) => Promise<unknown>) {
		disk.live();
		world.isAlive = () => !disk.dead;
		const mine: SkillEnd[] = [];
		told.push(mine);
		if (change > 0) disk.dieAt(change);
		let skills: Skills | undefined;
		try {
			skills = await openSkills(fileEngine("/state", { disk }), {
				skills: [reportOf(world)],
				model: silent,
				deliver(end) {
					if (disk.dead) throw new Error("killed");
					mine.push(end);
				},
			});
			await work(skills);
			await skills.idle();
		} catch (error) {
			if (!disk.dead) throw error;
		}
		await skills?.close().catch(() => undefined);
	}

	async function changesOf(work: (skills: Skills) => Promise<unknown>): Promise<number> {
		for (let change = 1; ; change += 10) {
			const each = lives();
			await until(change, each, work);
			if (!each.disk.dead) return change;
			expect(change).toBeLessThan(2000);
		}
	}

	const start = (skills: Skills): Promise<void> => skills.start("r1", "report", { month: "May" });

	test("each effect is made once, and the output told, twice only where the death was while it was told", async () => {
		const changes = await changesOf(start);
		expect(changes).toBeGreaterThan(20);
		let twice = 0;
		for (let change = 1; change <= changes; change++) {
			const all = lives();
			await until(change, all, start);
			await until(0, all, start);
			expect(all.world.done).toEqual(["count May 1", "count May 2", "send count May 2"]);
			const ends = all.told.flat();
			expect(ends.length, `told after a death at change ${change}`).toBeGreaterThanOrEqual(1);
			if (ends.length > 1) twice++;
			const { key } = ends[0] as SkillEnd;
			const end = { run: "r1", skill: "report", key, outcome: "completed", output: "send count May 2" };
			for (const each of ends) expect(each).toEqual(end);
			await until(0, all, start);
			expect(all.told.at(-1), "told to nobody a third time").toEqual([]);
		}
		// The deaths from the telling until the record of it is durable: a write and its sync.
		expect(twice).toBeLessThanOrEqual(2);
	});

	test("a discard that was said is final, and each run has one end", async () => {
		const work = async (skills: Skills): Promise<void> => {
			await start(skills);
			await skills.discard("r1", "not needed");
		};
		const changes = await changesOf(work);
		const outcomes = new Set<string>();
		for (let change = 1; change <= changes; change++) {
			const all = lives();
			let isSaid = false;
			await until(change, all, async (skills) => {
				await work(skills);
				isSaid = true;
			});
			await until(0, all, start);
			await until(0, all, start);
			expect(all.told.at(-1), "what was told is not told again").toEqual([]);
			const ends = all.told.flat();
			expect(new Set(ends.map(({ key }) => key)).size, `ends after a death at change ${change}`).toBe(1);
			const [end] = ends;
			if (isSaid) expect(end).toMatchObject({ outcome: "discarded", reason: "not needed" });
			outcomes.add(String(end?.outcome));
		}
		expect([...outcomes].sort()).toEqual(["completed", "discarded"]);
	});
});

test("in a directory it goes on in the next process", async () => {
	const at = mkdtempSync(join(tmpdir(), "reyn-skills-"));
	try {
		const world = new World();
		world.isAlive = () => world.done.length < 1;
		const skills = [reportOf(world)];
		await live(at, { skills, failed: () => {} }, async (open) => {
			await open.start("r1", "report", { month: "May" });
			await open.idle();
		});
		world.isAlive = () => true;
		await live(at, { skills }, async (open, told) => {
			await open.idle();
			expect(told).toMatchObject([{ output: "send count May 2" }]);
		});
		expect(world.done).toEqual(["count May 1", "count May 2", "send count May 2"]);
	} finally {
		rmSync(at, { recursive: true });
	}
});
