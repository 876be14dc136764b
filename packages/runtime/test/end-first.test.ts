/** The end of background work is durable before anybody is told of it, and it is told once: cut at every record. */
import { journal } from "@reyn/journal";
import { lanesOf } from "@reyn/journal/internal";
import { PLAN_TOOL, planAborted } from "@reyn/plan";
import { defineSkill, done, next, skillResumeSchema, skillRunDiscarded } from "@reyn/skill-resume";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Runtime, RuntimeOptions } from "../src/index.ts";
import { copyState, cutAfter, eachCut, kindsIn, removeState } from "./cut.ts";
import {
	emptyArea,
	gate,
	lastOf,
	makeProject,
	type Opened,
	open,
	type Project,
	type Script,
	scripted,
	until,
} from "./project.ts";
import { echo, five, runToEnd } from "./script-runs.ts";

let project: Project;
beforeEach(async () => {
	project = await makeProject();
});
afterEach(() => project[Symbol.asyncDispose]());

const PLAN = {
	goal: "the goal",
	steps: [
		{ id: "a", description: "first", tools: [], depends_on: [] },
		{ id: "b", description: "last", tools: [], depends_on: ["a"] },
	],
};

const planning: Script = (request) => {
	const last = lastOf(request);
	if (last === "plan!") return [{ name: PLAN_TOOL, args: PLAN }];
	return last.startsWith("Goal:") ? `did ${/Step (\w+)/.exec(last)?.[1]}` : `echo: ${last}`;
};

/** What somebody was told of an end, and how far the log was durable then. */
interface Told {
	readonly what: string;
	readonly durable: number;
}

/** Notes each end that is told, by a message or an event. */
async function listening(options: Partial<RuntimeOptions>): Promise<Opened & { readonly told: Told[] }> {
	const told: Told[] = [];
	let runtime: Runtime | undefined;
	const note = (what: string): void => void told.push({ what, durable: runtime?.wal.durableTip ?? 0 });
	const shown: Opened["shown"] = [];
	const events: Opened["events"] = [];
	const opened = await open(project, {
		...options,
		async onMessage(message) {
			shown.push(message);
			note(message.text);
		},
		onEvent(event) {
			events.push(event);
			if ((event.type === "plan_end" || event.type === "skill_end") && event.outcome !== "stopped") note(event.type);
			if (event.type === "script" && event.event.type === "ended") note(event.event.type);
		},
	});
	runtime = opened.runtime;
	return { runtime, events, shown, told };
}

const inFlight = ({ plans, runs }: ReturnType<Runtime["restored"]>): number => plans.length + runs.length;

/** Whoever was told of the end finds it, however little more than that was durable. */
async function expectToldIsDurable(told: readonly Told[], options: Partial<RuntimeOptions>): Promise<void> {
	expect(told.length).toBeGreaterThan(0);
	await eachCut(project, Math.min(...told.map(({ durable }) => durable)), async (state, kinds) => {
		const { runtime } = await open({ ...project, state }, options);
		expect(inFlight(runtime.restored()), `told ${told[0]?.what}; cut after ${kinds.at(-1)}`).toBe(0);
		await runtime.close();
	});
}

const messagesIn = (runtime: Runtime): readonly string[] =>
	runtime
		.conversation()
		.items.toArray()
		.flatMap((item) => (item.type === "message" ? [item.text] : []));

describe("a plan", () => {
	/** A plan whose first step waits for ever. */
	async function heldPlan() {
		const model = scripted(async (request) => {
			if (/Step a/.test(lastOf(request))) await gate().opened;
			return planning(request);
		});
		const opened = await listening({ model });
		await opened.runtime.prompt("plan!");
		await until(() => model.asked.some((request) => /Step a/.test(lastOf(request))));
		return { ...opened, plan: opened.runtime.restored().plans[0]?.plan ?? "" };
	}

	test("that is discarded is told so when that is durable", async () => {
		const { runtime, plan, told, shown } = await heldPlan();
		await runtime.discardPlan(plan);
		told.push({ what: "the caller", durable: runtime.wal.durableTip });
		await runtime.close();
		expect(shown.map(({ text }) => text)).toEqual([
			`Plan ${plan} was discarded: discarded by the user. Ask again if you still need the answer.`,
		]);
		await expectToldIsDurable(told, { model: scripted(planning) });
	});

	test("that is discarded is over or goes on, wherever the process dies, and says one thing", async () => {
		const { runtime, plan } = await heldPlan();
		const from = runtime.wal.tip;
		await runtime.discardPlan(plan);
		await runtime.close();
		await eachCut(project, from, async (state, kinds) => {
			for (let life = 0; life < 2; life++) {
				const model = scripted(planning);
				const { runtime: next, shown } = await open({ ...project, state }, { model });
				const waiting = next.restored().undelivered.map(({ text }) => text);
				next.resume();
				await next.idle();
				const isOver = kinds.includes(planAborted.kind);
				// What is announced as not seen yet is what is shown then.
				if (isOver) expect(shown.map(({ text }) => text)).toEqual(waiting);
				expect(messagesIn(next), `cut after ${kinds.at(-1)}`).toEqual([
					isOver ? expect.stringContaining("was discarded") : "did b",
				]);
				if (isOver) expect(model.asked).toEqual([]);
				expect(next.restored()).toMatchObject({ plans: [], undelivered: [] });
				await next.close();
			}
		});
	});

	test("whose steps are lost is told so when that is durable, and wherever the process dies then", async () => {
		const { runtime } = await heldPlan();
		await runtime.close();
		await emptyArea(project.state, "plans");
		const next = await listening({ model: scripted(planning) });
		const from = next.runtime.wal.tip;
		next.runtime.resume();
		await next.runtime.idle();
		await next.runtime.close();
		expect(next.shown).toHaveLength(1);
		await expectToldIsDurable(next.told, { model: scripted(planning) });
		await eachCut(project, from, async (state, kinds) => {
			const model = scripted(planning);
			const { runtime: last } = await open({ ...project, state }, { model });
			last.resume();
			await last.idle();
			expect(messagesIn(last), `cut after ${kinds.at(-1)}`).toEqual([expect.stringContaining("steps are lost")]);
			expect(model.asked).toEqual([]);
			await last.close();
		});
	});

	test("that is finished is told so when that is durable, also by the life after", async () => {
		const { runtime, told, shown } = await listening({ model: scripted(planning) });
		await runtime.prompt("plan!");
		await runtime.idle();
		await runtime.close();
		expect(shown.map(({ text }) => text)).toEqual(["did b"]);
		await expectToldIsDurable(told, { model: scripted(planning) });
		const kinds = await kindsIn(project);
		// The life before has recorded the answer, and died before it could record that the plan is over.
		const state = await cutAfter(project, kinds.lastIndexOf("assistant_message") + 1);
		await removeState(project.state);
		await copyState(state, project.state);
		const next = await listening({ model: scripted(planning) });
		next.runtime.resume();
		await next.runtime.idle();
		await next.runtime.close();
		expect(next.shown.map(({ text }) => text)).toEqual(["did b"]);
		await expectToldIsDurable(next.told, { model: scripted(planning) });
	});

	test("whose answer is recorded is over, and is told: whoever discards it is told that", async () => {
		const { runtime } = await open(project, { model: scripted(planning) });
		await runtime.prompt("plan!");
		await runtime.idle();
		await runtime.close();
		const all = await kindsIn(project);
		const [plan, answered] = [`p${all.indexOf("user_prompt") + 1}`, all.lastIndexOf("assistant_message")];
		await eachCut(project, answered + 1, async (state, kinds) => {
			const { runtime: next, shown } = await open({ ...project, state }, { model: scripted(planning) });
			await expect(next.discardPlan(plan), `cut after ${kinds.at(-1)}`).rejects.toMatchObject({ code: "PLAN_UNKNOWN" });
			next.resume();
			await next.idle();
			expect(next.restored()).toMatchObject({ plans: [], undelivered: [] });
			if (kinds.at(-1) !== "message_delivered") expect(shown.map(({ text }) => text)).toEqual(["did b"]);
			await next.close();
			expect(await kindsIn({ ...project, state })).not.toContain(planAborted.kind);
		});
	});

	test("that has ended meanwhile is not discarded a second time", async () => {
		const deaf = gate();
		const model = scripted(
			async (request) => {
				if (/Step b/.test(lastOf(request))) await deaf.opened;
				return planning(request);
			},
			{ deaf: true },
		);
		const { runtime, shown } = await open(project, { model });
		await runtime.prompt("plan!");
		await until(() => model.asked.some((request) => /Step b/.test(lastOf(request))));
		const plan = runtime.restored().plans[0]?.plan ?? "";
		const first = runtime.discardPlan(plan);
		const second = runtime.discardPlan(plan).catch((error: unknown) => error);
		deaf.open();
		await first;
		expect(await second).toMatchObject({ code: "PLAN_UNKNOWN" });
		expect(shown).toHaveLength(1);
		await runtime.close();
	});
});

describe("a skill run", () => {
	const effects: string[] = [];
	/** Two effects, of which the second waits until `held` resolves. */
	const skillOf = (held: Promise<void>) =>
		defineSkill({
			name: "pay",
			description: "pays twice",
			input: { "~standard": { version: 1, vendor: "test", validate: (value) => ({ value }) } },
			start: "one",
			phases: {
				one: async ({ step }) =>
					next("two", await step("one", async () => void effects.push("one"), { purity: "external" })),
				two: async ({ step, signal }) => {
					await step(
						"two",
						async () => {
							effects.push("two");
							await Promise.race([held, new Promise((_, reject) => signal.addEventListener("abort", reject))]);
						},
						{ purity: "external" },
					);
					return done("paid");
				},
			},
		});
	const never = gate().opened;
	beforeEach(() => void effects.splice(0));

	async function heldRun() {
		const opened = await listening({ skills: [skillOf(never)] });
		const run = await opened.runtime.runSkill("pay", {});
		await until(() => effects.includes("two"));
		return { ...opened, run };
	}

	test("that is discarded is told so when that is durable", async () => {
		const { runtime, run, told, shown } = await heldRun();
		await runtime.discardSkillRun(run);
		told.push({ what: "the caller", durable: runtime.wal.durableTip });
		await runtime.close();
		expect(shown.map(({ text }) => text)).toEqual([`The skill run ${run} was discarded: discarded by the user.`]);
		await expectToldIsDurable(told, { skills: [skillOf(never)] });
	});

	test("that policy discards at the start is told so when that is durable, once, wherever the process dies then", async () => {
		const { runtime } = await heldRun();
		await runtime.close();
		const options = {
			skills: [skillOf(Promise.resolve())],
			skillResume: skillResumeSchema.parse({ default: "discard_skill" }),
		};
		const next = await listening(options);
		const from = next.runtime.wal.tip;
		next.runtime.resume();
		await next.runtime.idle();
		await next.runtime.close();
		expect(next.shown.map(({ text }) => text)).toEqual([
			expect.stringMatching(/two was started before .* nobody knows whether it happened/),
		]);
		await expectToldIsDurable(next.told, options);
		effects.splice(0);
		await eachCut(project, from, async (state, kinds) => {
			for (let life = 0; life < 2; life++) {
				const { runtime: last, shown } = await open({ ...project, state }, options);
				last.resume();
				await last.idle();
				expect(messagesIn(last), `cut after ${kinds.at(-1)}`).toHaveLength(1);
				expect(shown.length).toBeLessThanOrEqual(1);
				expect(effects).toEqual([]);
				await last.close();
			}
		});
	});

	test("that is over is told so when that is durable", async () => {
		const options = { skills: [skillOf(Promise.resolve())] };
		const { runtime, told, shown } = await listening(options);
		await runtime.runSkill("pay", {});
		await runtime.idle();
		await runtime.close();
		expect(shown.map(({ text }) => text)).toEqual(["paid"]);
		await expectToldIsDurable(told, options);
	});

	test("that a person has started goes on after a rewind, though nothing else was asked of this process", async () => {
		const held = gate();
		const { runtime, shown } = await listening({ skills: [skillOf(held.opened)] });
		const run = await runtime.runSkill("pay", {});
		await until(() => effects.includes("two"));
		const [{ seq } = { seq: 0 }] = runtime.timeline.checkpoints();
		await runtime.checkout(seq, "test");
		held.open();
		await runtime.idle();
		expect(shown.map(({ from, text }) => ({ from, text }))).toEqual([{ from: run, text: "paid" }]);
		expect(runtime.restored().runs).toEqual([]);
		await runtime.close();
	});

	test("that was discarded and lost its last record keeps no lane open", async () => {
		const { runtime, run } = await heldRun();
		await runtime.discardSkillRun(run);
		await runtime.close();
		const kinds = await kindsIn(project);
		const state = await cutAfter(project, kinds.lastIndexOf(skillRunDiscarded.kind) + 1);
		const { runtime: last } = await open({ ...project, state }, { skills: [skillOf(never)] });
		expect(lanesOf(last.view().get(journal))).not.toEqual([]);
		last.resume();
		await last.idle();
		expect(lanesOf(last.view().get(journal))).toEqual([]);
		await last.close();
	});
});

test("a script run that is over is told so when that is durable", async () => {
	const { runtime, told } = await listening({ model: echo() });
	const { run } = await runToEnd(runtime, five());
	await runtime.close();
	expect(told.map(({ what }) => what)).toEqual(["ended"]);
	await eachCut(project, told[0]?.durable ?? 0, async (state) => {
		const { runtime: next } = await open({ ...project, state });
		expect(next.scripts.list()).toMatchObject([{ run, status: "completed" }]);
		await next.close();
	});
});

test("what was not gone on with in this process is not gone on with after a rewind, whatever else was asked of it", async () => {
	const model = scripted(async (request) => {
		if (/Step a/.test(lastOf(request))) await gate().opened;
		return planning(request);
	});
	const first = await open(project, { model });
	await first.runtime.prompt("plan!");
	await until(() => model.asked.some((request) => /Step a/.test(lastOf(request))));
	await first.runtime.close();

	const later = scripted(planning);
	const { runtime } = await open(project, { model: later });
	const before = runtime.wal.tip;
	await runtime.prompt("hello");
	await runtime.idle();
	await runtime.checkout(before, "test");
	await runtime.idle();
	expect(later.asked).toHaveLength(1);
	expect(runtime.restored().plans).toMatchObject([{ status: "running" }]);
	await runtime.close();
});
