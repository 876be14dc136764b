/** A text from the background that nobody could be shown: no crash, no other end of its work, and it waits. */
import { PLAN_TOOL } from "@reyn/plan";
import { defineSkill, done } from "@reyn/skill-resume";
import { type LogEngine, memoryEngine } from "@reyn/wal";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { engineStore, type Runtime, type RuntimeEvent } from "../src/index.ts";
import { gate, lastOf, makeProject, type Opened, open, type Project, scripted, until } from "./project.ts";

let project: Project;
let engine: LogEngine;
beforeEach(async () => {
	project = await makeProject();
	engine = memoryEngine();
});
afterEach(() => project[Symbol.asyncDispose]());

const skill = defineSkill<unknown>({
	name: "count",
	description: "",
	input: z.unknown(),
	start: "a",
	phases: { a: async () => done("counted") },
});

const PLAN = {
	goal: "the goal",
	steps: [
		{ id: "a", description: "first", tools: [], depends_on: [] },
		{ id: "b", description: "last", tools: [], depends_on: ["a"] },
	],
};

const planning = () =>
	scripted((request) => (lastOf(request) === "plan!" ? [{ name: PLAN_TOOL, args: PLAN }] : "planned"));

const down = (): never => {
	throw new Error("the chat server is down");
};

/** How a listener fails. */
const failures: Record<string, () => Promise<void>> = { rejects: async () => down(), throws: () => down() };

const life = (more: Parameters<typeof open>[1] = {}, over = engine): Promise<Opened> =>
	open(project, { model: planning(), skills: [skill], ...more }, engineStore(over));

const work = {
	"a plan": { begin: (runtime: Runtime) => runtime.prompt("plan!"), end: "plan_end", text: "planned" },
	"a skill run": { begin: (runtime: Runtime) => runtime.runSkill("count", {}), end: "skill_end", text: "counted" },
} as const;

const of = (events: readonly RuntimeEvent[], type: RuntimeEvent["type"]) => events.filter((each) => each.type === type);

describe.each(Object.keys(failures))("where onMessage %s", (how) => {
	const onMessage = failures[how] as () => Promise<void>;

	test.each(Object.keys(work) as (keyof typeof work)[])("the end of %s is told once, as it ended", async (what) => {
		const { begin, end, text } = work[what];
		const { runtime, events } = await life({ onMessage });
		await begin(runtime);
		await runtime.idle();
		expect(of(events, end)).toMatchObject([{ outcome: "completed", seq: expect.any(Number) }]);
		const [{ seq } = {}] = runtime.restored().undelivered;
		const undelivered = { message: seq, from: expect.any(String), reason: "the chat server is down" };
		expect(of(events, "undelivered")).toMatchObject([undelivered]);
		await runtime.close();

		const next = await life();
		next.runtime.resume();
		await next.runtime.idle();
		expect(next.shown).toMatchObject([{ text }]);
		expect(next.runtime.restored().undelivered).toEqual([]);
		await next.runtime.close();
	});

	test("what waits is tried at each resume, and stays undelivered", async () => {
		const first = await life({ onMessage });
		for (const _ of ["one", "two"]) await first.runtime.runSkill("count", {});
		await first.runtime.idle();
		await first.runtime.close();
		const { runtime, events } = await life({ onMessage });
		for (const times of [1, 2]) {
			runtime.resume();
			// Nobody waits for it: what it throws would end the process.
			await until(() => of(events, "undelivered").length === 2 * times);
		}
		await runtime.idle();
		expect(runtime.restored().undelivered).toHaveLength(2);
		await runtime.close();
	});

	test.each(["plan", "skill run"])("the discard of a %s resolves once it is durable", async (what) => {
		const held = gate();
		const waiting = defineSkill<unknown>({
			name: "wait",
			description: "",
			input: z.unknown(),
			start: "a",
			phases: {
				a: async ({ signal }) =>
					new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
			},
		});
		const model = scripted(async (request) => {
			if (lastOf(request) === "plan!") return [{ name: PLAN_TOOL, args: PLAN }];
			await held.opened;
			return "late";
		});
		const { runtime, events } = await life({ model, skills: [waiting], onMessage });
		if (what === "plan") await runtime.prompt("plan!");
		else await runtime.runSkill("wait", {});
		await until(() => runtime.restored().plans.length + runtime.restored().runs.length === 1);
		const { plans, runs } = runtime.restored();
		held.open();
		await (plans[0] ? runtime.discardPlan(plans[0].plan) : runtime.discardSkillRun(runs[0]?.run ?? ""));
		await runtime.idle();
		expect(runtime.restored()).toMatchObject({ plans: [], runs: [], undelivered: [{}] });
		expect(of(events, what === "plan" ? "plan_end" : "skill_end").at(-1)).toMatchObject({ outcome: "discarded" });
		await runtime.close();
	});
});

test("a text that is being shown is not shown again by a resume meanwhile", async () => {
	const waiting = defineSkill<unknown>({
		name: "wait",
		description: "",
		input: z.unknown(),
		start: "a",
		phases: {
			a: ({ signal }) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
		},
	});
	const held = gate();
	const shown: string[] = [];
	const onMessage = async ({ text }: { readonly text: string }) => {
		shown.push(text);
		await held.opened;
	};
	const { runtime } = await life({ skills: [waiting], onMessage });
	await runtime.runSkill("wait", {});
	await until(() => runtime.restored().runs.length === 1);
	const discarding = runtime.discardSkillRun(runtime.restored().runs[0]?.run ?? "");
	await until(() => shown.length === 1);
	runtime.resume();
	for (let turns = 0; turns < 20; turns++) await new Promise((resolve) => setImmediate(resolve));
	held.open();
	await discarding;
	await runtime.idle();
	expect([shown.length, runtime.restored().undelivered]).toEqual([1, []]);
	await runtime.close();
});

test("a text that cannot be shown holds no other one up", async () => {
	const mute = await life({ onMessage: () => failures.rejects?.() as Promise<void> });
	for (const _ of ["one", "two"]) await mute.runtime.runSkill("count", {});
	await mute.runtime.idle();
	await mute.runtime.close();
	let shown = 0;
	const { runtime } = await life({ onMessage: async () => void (shown++ === 0 && down()) });
	runtime.resume();
	await runtime.idle();
	expect([shown, runtime.restored().undelivered.length]).toEqual([2, 1]);
	await runtime.close();
});

/** A log that takes nothing from the first write on that `isBroken` says so of. */
const breaking = (isBroken: (written: string) => boolean): LogEngine => ({
	...engine,
	log(realm) {
		const log = engine.log(realm);
		const append: typeof log.append = async (...args) => {
			if (isBroken(JSON.stringify(args))) throw new Error("the disk is gone");
			return log.append(...args);
		};
		return {
			append,
			acquire: (how) => log.acquire(how),
			renew: (lease) => log.renew(lease),
			release: (lease) => log.release(lease),
			tail: () => log.tail(),
			read: (...range) => log.read(...range),
			subscribe: (...how) => log.subscribe(...how),
			truncateBefore: (...how) => log.truncateBefore(...how),
		};
	},
});

test("a text whose record the log did not take is shown to nobody, and once in the next life", async () => {
	const shown: string[] = [];
	const onMessage = async ({ text }: { readonly text: string }) => void shown.push(text);
	let isBroken = false;
	const over = breaking((written) => {
		isBroken ||= written.includes("assistant_message");
		return isBroken;
	});
	const first = await life({ onMessage }, over);
	await first.runtime.runSkill("count", {});
	await until(() => isBroken);
	await first.runtime.idle().catch(() => {});
	await first.runtime.close().catch(() => {});
	expect(shown).toEqual([]);
	const { runtime } = await life({ onMessage });
	runtime.resume();
	await runtime.idle();
	await runtime.close();
	expect(shown).toEqual(["counted"]);
});

test("a text is undelivered where the log takes nothing any more, and nothing crashes", async () => {
	let isBroken = false;
	const first = await life({ onMessage: () => failures.rejects?.() as Promise<void> });
	await first.runtime.runSkill("count", {});
	await first.runtime.idle();
	await first.runtime.close();
	const onMessage = async (): Promise<void> => {
		isBroken = true;
	};
	const { runtime, events } = await life(
		{ onMessage },
		breaking(() => isBroken),
	);
	runtime.resume();
	await until(() => isBroken);
	// Nobody waits for it yet: what it throws would end the process.
	await new Promise((resolve) => setTimeout(resolve, 50));
	await runtime.idle();
	await expect(runtime.close()).rejects.toThrow("the disk is gone");
	expect(of(events, "undelivered")).toMatchObject([{ reason: expect.stringContaining("the disk is gone") }]);
});
