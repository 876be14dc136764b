/** A run whose process dies in the same place at three starts, with nothing new recorded, is paused; a run that comes further never is. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { memorySnapshots } from "@reyn/snapshot";
import type { Timers, WalRecord } from "@reyn/wal";
import { expect, test } from "vitest";
import { z } from "zod";
import { startSource } from "../../../tests/kit/killable.ts";
import { SEED, seeded } from "../../../tests/kit/seeded.ts";
import { sample } from "../../../tests/sample.ts";
import { defineSkill, done, type FunctionPhase, next, type Skill, skillRunResumed } from "../src/index.ts";
import { Process, type ProcessOptions, session } from "./skill-process.ts";

const skillOf = (phases: Record<string, FunctionPhase<unknown>>, name = "report"): Skill => {
	const start = Object.keys(phases)[0] ?? "";
	return defineSkill({ name, description: "", input: z.unknown(), start, phases }) as Skill;
};

const codeOf = async (process: Process, skill: Skill): Promise<unknown> =>
	process.work(skill).catch((error: { code?: string; message: string }) => error.code ?? error.message);

/** Lives of so many records each, one after the other. @returns the last process, which has not worked yet */
async function died(skill: Skill, lives: readonly number[], options: ProcessOptions = {}): Promise<Process> {
	let process: Process | undefined;
	for (const appends of lives) {
		process = await (process ? process.next({ appends }) : Process.start({ ...options, appends }));
		expect(await codeOf(process, skill)).toBe("killed");
	}
	return (process as Process).next();
}

const reasonIn = (phase: string, starts = 3): string =>
	`its process died at ${starts} starts in phase "${phase}", visit 1, before anything new was recorded; it may have run out of memory, or a call has ended it`;

/** Makes so many steps. */
const steps =
	(n: number): FunctionPhase<unknown> =>
	async ({ step }) => {
		for (let i = 0; i < n; i++) await step(`s${i}`, async () => i, { purity: "external" });
		return done("so");
	};

test("three deaths before anything is recorded: it is paused, nothing is called, and it counts anew once it is resumed", async () => {
	let calls = 0;
	const skill = skillOf({
		a: async () => next("b", 1),
		b: async (context, ...more) => {
			calls++;
			return steps(1)(context, ...more);
		},
	});
	// The start of the run, phase a and its end, and the entry of b; then that a start goes on, and nothing else.
	await using process = await died(skill, [5, 1, 1]);
	expect(calls).toBe(3);
	expect(await codeOf(process, skill)).toBe("SKILL_PAUSED");
	expect([calls, process.run()]).toMatchObject([3, { status: "paused", why: reasonIn("b") }]);
	expect((await process.kinds()).slice(-3)).toEqual(["skill_run_went_on", "skill_run_went_on", "skill_run_paused"]);
	await process.append(skillRunResumed({ run: "r1" }), { ...session, run: "r1" }).durable;
	expect(process.run()).not.toHaveProperty("why");
	expect(process.run()).not.toHaveProperty("begun");
	expect(await codeOf(process, skill)).toBe("so");
});

test("the count is kept where the log was truncated", async () => {
	const skill = skillOf({ a: steps(1) });
	let process = await Process.start({ snapshots: memorySnapshots(), appends: 2 });
	for (let start = 1; start <= 3; start++) {
		expect(await codeOf(process, skill)).toBe("killed");
		process = await process.next();
		await process.forget();
		process = await process.next({ appends: 1 });
	}
	expect(await codeOf(process, skill)).toBe("SKILL_PAUSED");
	expect(process.run().why).toBe(reasonIn("a"));
	await process[Symbol.asyncDispose]();
});

test("in a call that ends the process, each start of which is recorded: only the first one is new", async () => {
	const skill = skillOf({ a: steps(1) });
	await using process = await died(skill, [3, 2, 2, 2]);
	expect((await process.kinds()).filter((kind) => kind === "step_started")).toHaveLength(4);
	expect(await codeOf(process, skill)).toBe("SKILL_PAUSED");
});

test("a world that says something else at each start is no progress", async () => {
	let now = 0;
	const skill = skillOf({
		a: async ({ step, model }) => {
			await step("look", async () => ++now, { purity: "world" });
			// Of the first look alone.
			await model({ system: "", messages: [], tools: [] });
			return done("never");
		},
	});
	await using process = await died(skill, [3, 2, 2, 2]);
	expect(now).toBe(4);
	expect(await codeOf(process, skill)).toBe("SKILL_PAUSED");
});

test("before its output is delivered: the reason says so", async () => {
	const skill = skillOf({ a: async () => done("so") });
	await using process = await died(skill, [4, 1, 1, 1]);
	expect(await codeOf(process, skill)).toBe("SKILL_PAUSED");
	expect(process.run().why).toMatch(/^its process died at 3 starts when its output was to be delivered, before/);
});

test("a run that comes one step further at each start goes on, however often it dies", async () => {
	const skill = skillOf({ a: steps(8) });
	// A step is its start and its end.
	await using process = await died(skill, [4, ...Array.from({ length: 7 }, () => 3)]);
	expect(process.run()).toMatchObject({ status: "running" });
	expect(await codeOf(process, skill)).toBe("so");
});

test("a step of a child is a step of the run", async () => {
	const child = skillOf({ x: steps(6) }, "sum");
	const skill = skillOf({ a: async ({ skill }) => done(await skill("sum")) });
	// The run and its phase, the call, the child and its phase, and a step; then that it goes on, the call again, and a step.
	await using process = await died(skill, [7, 4, 4, 4, 4, 4], { skills: [child] });
	expect(process.run()).toMatchObject({ status: "running" });
	expect(await codeOf(process, skill)).toBe("so");
});

test("a run that waits for a person may die as often as it likes", async () => {
	const skill = skillOf({ a: async ({ ask }) => done(await ask("who?")) });
	let [asked, isAnswered] = [0, false];
	const ask = async () => {
		asked++;
		return isAnswered ? "ada" : undefined;
	};
	let process = await Process.start({ ask });
	for (let start = 1; start <= 5; start++) {
		expect(await codeOf(process, skill)).toBe("CALL_WAITING");
		// As where it was killed meanwhile: that it waits is the last record.
		expect([asked, (await process.kinds()).at(-1)]).toEqual([start, "step_started"]);
		process = await process.next();
	}
	isAnswered = true;
	expect(await codeOf(process, skill)).toBe("ada");
	await process[Symbol.asyncDispose]();
});

test("a run that sleeps may die as often as it likes; once it has slept it counts", async () => {
	const skill = skillOf({
		a: async (context, ...more) => {
			await context.sleep(1000);
			return steps(1)(context, ...more);
		},
	});
	let now = 0;
	const clock = { now: () => now };
	let process = await Process.start();
	// The run and its phase, and until when it sleeps; then that it goes on. It is killed while it sleeps.
	for (const appends of [3, 1, 1, 1, 1]) {
		process = await process.next({ appends });
		const dying: Process = process;
		const timers: Timers = {
			after() {
				setImmediate(() => dying.cancel("killed"));
				return () => {};
			},
		};
		await expect(process.work(skill, {}, { clock, timers })).rejects.toThrow("killed");
	}
	expect(process.run()).toMatchObject({ status: "running", begun: 4, asleep: 1 });
	now = 1000;
	// That it goes on, has slept, and the call that ends it.
	for (const appends of [3, 2, 2, 2]) {
		process = await process.next({ appends });
		await expect(process.work(skill, {}, { clock })).rejects.toThrow("killed");
	}
	process = await process.next();
	expect(process.run()).not.toHaveProperty("asleep");
	expect(await codeOf(process, skill)).toBe("SKILL_PAUSED");
	await process[Symbol.asyncDispose]();
});

test("starts that are stopped in order, or fail, are no deaths; between two deaths they take none away", async () => {
	const skill = skillOf({ a: steps(1) });
	let process = await died(skill, [2, 1]);
	const stopped = async (): Promise<void> => {
		const stopping: Process = process;
		const cancelled = async (): Promise<never> => {
			stopping.cancel("closed");
			throw new Error("closed");
		};
		expect(await codeOf(process, skillOf({ a: cancelled }))).toBe("closed");
		process = await process.next();
	};
	for (let start = 0; start < 4; start++) await stopped();
	expect(process.run()).toMatchObject({ status: "running", begun: 2 });
	expect(await codeOf(process, skillOf({ a: () => Promise.reject(new Error("no")) }))).toBe("no");
	expect(process.run()).toMatchObject({ status: "running", begun: 2 });
	process = await process.next({ appends: 1 });
	expect(await codeOf(process, skill)).toBe("killed");
	process = await process.next();
	expect(await codeOf(process, skill)).toBe("SKILL_PAUSED");
	await process[Symbol.asyncDispose]();
});

test("a start that is stopped while it is begun calls nothing", async () => {
	let calls = 0;
	const skill = skillOf({ a: async () => done(++calls) });
	await using process = await Process.start();
	await process.start(skill);
	const working = codeOf(process, skill);
	process.cancel("closed");
	expect([await working, calls]).toEqual(["closed", 0]);
	expect((await process.kinds()).slice(1)).toEqual(["skill_phase_entered", "skill_run_stopped"]);
});

/** How many starts have died since something new was recorded, by the records alone. */
function deathsIn(records: readonly WalRecord[]): number {
	let begun = 0;
	for (const { kind, data } of records) {
		const { started } = data as { started?: number };
		if (kind === "skill_phase_entered") begun = 1;
		if (kind === "skill_run_went_on") begun++;
		if (kind === "skill_run_stopped") begun = Math.max(0, begun - 1);
		const isNew = kind === "step_completed" || (kind === "step_started" && started === undefined);
		if (isNew || kind === "skill_phase_completed" || kind === "skill_run_resumed") begun = 0;
	}
	return begun;
}

test("cut after any record, again and again: it is paused where the records say so, comes to its end, and makes no step twice for it", async () => {
	const runs = sample(15, 60);
	let pauses = 0;
	for (let run = 0; run < runs; run++) {
		const random = seeded(SEED * 100_003 + run);
		const made: string[] = [];
		const phase =
			(to?: string): FunctionPhase<unknown> =>
			async ({ step }) => {
				for (const name of ["x", "y"])
					await step(name, async () => made.push(`${to} ${name}`), {
						purity: "side_effect",
						reconcile: async () =>
							made.includes(`${to} ${name}`) ? { kind: "done", result: 0 } : { kind: "not_done" },
					});
				return to ? next(to, to) : done("so");
			};
		const skill = skillOf({ a: phase("b"), b: phase("c"), c: phase() });
		let process = await Process.start({ appends: 2 + random.below(3), snapshots: memorySnapshots() });
		const all: WalRecord[] = [];
		for (let life = 0; ; life++) {
			const deaths = deathsIn(all);
			const end = await codeOf(process, skill);
			const isPaused = process.run().status === "paused";
			expect([isPaused, isPaused && end], `run ${run}, life ${life}`).toEqual([
				deaths >= 3,
				deaths >= 3 && (process.isDead ? "killed" : "SKILL_PAUSED"),
			]);
			process = await process.next();
			const known = all.at(-1)?.seq ?? 0;
			all.push(...(await process.records()).filter(({ seq }) => seq > known));
			if (process.run().status === "completed") break;
			if (isPaused) {
				pauses++;
				await process.append(skillRunResumed({ run: "r1" }), { ...session, run: "r1" }).durable;
				all.push(...(await process.records()).slice(-1));
			}
			if (random.chance(0.3)) await process.forget();
			process = await process.next({ appends: 1 + random.below(3) });
		}
		expect(new Set(made).size).toBe(made.length);
		await process[Symbol.asyncDispose]();
	}
	expect(pauses).toBeGreaterThan(0);
});

test("a phase that ends its process at once is paused at the fourth start, and others go on", async () => {
	const directory = await mkdtemp(join(tmpdir(), "reyn-died-"));
	try {
		const told: string[][] = [];
		for (let start = 1; start <= 4; start++) {
			const { stdout } = await startSource(join(import.meta.dirname, "dying-skill.ts"), [directory]).ended;
			told.push(stdout.split("\n").filter((line) => line !== ""));
		}
		expect(told).toEqual([
			["calls"],
			["calls"],
			["calls"],
			[`dies is paused: ${reasonIn("only")}; resume it first`, "other fine"],
		]);
	} finally {
		await rm(directory, { recursive: true, force: true });
	}
});
