/** The limit of tokens of a whole plan: one is asked for all steps, and what was said outlives a restart and a cut, and goes with a rewind. */
import { PLAN_TOOL, planIn, planRuns, planStepExtended } from "@reyn/plan";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Runtime, RuntimeOptions } from "../src/index.ts";
import { seal } from "./kept-files.ts";
import { lastOf, makeProject, type Opened, open, type Project, scripted, until } from "./project.ts";

let project: Project;
beforeEach(async () => {
	project = await makeProject();
});
afterEach(() => project[Symbol.asyncDispose]());

const steps = [
	{ id: "a", description: "look here" },
	{ id: "b", description: "look there" },
	{ id: "c", description: "look on", depends_on: ["a"] },
	{ id: "d", description: "say it", depends_on: ["b", "c"] },
];

/** Each of its answers takes 11 tokens. */
const planning = (held?: Promise<unknown>) =>
	scripted(async (request) => {
		const [, step] = /^Step (\w):/m.exec(lastOf(request)) ?? [];
		if (step === "b") await held;
		if (step) return `${step} done`;
		return lastOf(request) === "plan!" ? [{ name: PLAN_TOOL, args: { goal: "Find out", steps } }] : "hello";
	});

/** The steps that a model was asked for. */
const askedFor = ({ asked }: ReturnType<typeof planning>): string =>
	asked.map((request) => /^Step (\w):/m.exec(lastOf(request))?.[1] ?? "").join("");

const limits = { planTokens: 20 };

async function opened(model: ReturnType<typeof planning>, more: Partial<RuntimeOptions> = {}): Promise<Opened> {
	const next = await open(project, { model, limits, unanswered: "stop", tools: [], ...more });
	next.runtime.resume();
	await next.runtime.idle();
	return next;
}

async function begun(model: ReturnType<typeof planning>, more: Partial<RuntimeOptions> = {}) {
	const first = await opened(model, more);
	const plan = `p${await first.runtime.prompt("plan!")}`;
	await first.runtime.idle();
	return { ...first, plan };
}

const countedIn = (runtime: Runtime, plan: string) => {
	const { tokens, extended } = planIn(runtime.view().get(planRuns), plan) ?? {};
	return [tokens, extended];
};

/** Answers the only question there is. */
async function answer({ runtime }: Pick<Opened, "runtime">, text: string): Promise<void> {
	const [question, ...others] = runtime.questions();
	expect(others).toEqual([]);
	await runtime.answer(question?.seq ?? 0, text, "ada");
	await runtime.idle();
}

test("one is asked for all of its steps, in any process, and nothing new begins until that is answered", async () => {
	const { runtime, plan } = await begun(planning());
	expect(runtime.questions()).toMatchObject([
		{
			from: { kind: "plan", id: plan },
			question: `Plan ${plan} has used 22 tokens. Extend the limit by 20 tokens, let the steps that would go on fail, or pause the plan?`,
			choices: ["extend", "fail", "pause"],
		},
	]);
	expect((await runtime.planSteps(plan)).map(({ status }) => status)).toEqual([
		...["completed", "completed", "pending", "pending"],
	]);
	// What has not begun can be made cheaper first.
	await runtime.amendPlan(plan, { describe: { c: "look on, in short" } });
	await runtime.close();
	const model = planning();
	const next = await opened(model);
	expect([askedFor(model), next.runtime.questions().length]).toEqual(["", 1]);
	await answer(next, "extend");
	expect([askedFor(model), countedIn(next.runtime, plan)]).toEqual(["cd", [44, 1]]);
	expect(next.shown.map(({ text }) => text)).toEqual(["d done"]);
	expect(next.runtime.plans()).toMatchObject([{ allTokens: 44, extended: 1 }]);
	await next.runtime.close();
});

test("an extension outlives a restart, and a cut of its record; a rewind to before it takes it back", async () => {
	const asked = { planTokens: 11 };
	let last = await begun(planning(), { limits: asked });
	const { plan } = last;
	const before = last.runtime.wal.tip;
	await answer(last, "extend");
	// 22 tokens of 22.
	expect([countedIn(last.runtime, plan), last.runtime.questions().length]).toEqual([[22, 1], 1]);
	await last.runtime.checkout(before, "ada");
	expect(countedIn(last.runtime, plan)).toEqual([22, undefined]);
	await last.runtime.resumePlan(plan);
	await last.runtime.idle();
	await answer(last, "extend");
	await last.runtime.close();
	last = { ...(await opened(planning(), { limits: asked })), plan };
	for (const extended of [1, 2]) {
		expect(countedIn(last.runtime, plan)).toEqual([11 + 11 * extended, extended]);
		await answer(last, "extend");
	}
	expect(countedIn(last.runtime, plan)).toEqual([44, 3]);
	for (let day = 0; day < 3; day++) {
		await last.runtime.close();
		await seal(project.state);
		last = { ...(await opened(planning(), { limits: asked })), plan };
		for (let n = 0; n < 2; n++) await last.runtime.prompt(`hello ${n} ${"x".repeat(20_000)}`);
		await last.runtime.idle();
	}
	await last.runtime.gc({ keepDays: 0, keepCheckpoints: 1 });
	const left = [];
	for await (const record of last.runtime.wal.read()) if (planStepExtended.is(record)) left.push(record);
	expect([left, countedIn(last.runtime, plan)]).toEqual([[], [44, 3]]);
	await last.runtime.resumePlan(plan, "d");
	await last.runtime.idle();
	await answer(last, "extend");
	expect(countedIn(last.runtime, plan)).toEqual([55, 4]);
	await last.runtime.close();
});

test("what was not to go on has failed, once for all; a step that runs again is asked about anew", async () => {
	const model = planning();
	const { runtime, plan, ...first } = await begun(model);
	await answer({ runtime }, "fail");
	expect(runtime.plans()).toMatchObject([{ status: "failed", finished: 2, failed: 2 }]);
	expect(first.shown.map(({ text }) => text)).toEqual([
		expect.stringMatching(/^This plan has no answer: .*d, failed: the plan has used 22 tokens of 20, so nothing more/),
	]);
	await runtime.resumePlan(plan, "c");
	await runtime.idle();
	await answer({ runtime }, "pause");
	expect(runtime.plans()).toMatchObject([{ status: "paused", why: "it has come to its limit of tokens" }]);
	await runtime.resumePlan(plan);
	await runtime.idle();
	expect([askedFor(model).slice(2), countedIn(runtime, plan)]).toEqual(["cd", [44, 1]]);
	await runtime.close();
});

test("where nobody can be asked it is extended as often as is said, and then its steps fail", async () => {
	const model = planning();
	const { runtime } = await begun(model, {
		limits: { planTokens: 11, concurrency: 1 },
		...{ unanswered: "deny", onLimit: { unattended: "extend", times: 2 } },
	});
	expect([askedFor(model).trim(), runtime.plans()]).toMatchObject(["abc", [{ status: "failed", failed: 1 }]]);
	await runtime.close();
});

test("of a plan that is under way a step that runs again is asked about anew, too", async () => {
	const here = Promise.withResolvers<void>();
	const model = planning(here.promise);
	const { runtime } = await open(project, { model, limits: { planTokens: 11 }, unanswered: "wait", tools: [] });
	const plan = `p${await runtime.prompt("plan!")}`;
	const isAsked = () => until(() => runtime.questions().length === 1);
	const statusOfC = () => planIn(runtime.view().get(planRuns), plan)?.steps.c?.status;
	await isAsked();
	await runtime.answer(runtime.questions()[0]?.seq ?? 0, "fail", "ada");
	await until(() => statusOfC() === "failed");
	await runtime.resumePlan(plan, "c");
	await isAsked();
	expect(statusOfC()).toBe("pending");
	here.resolve();
	await runtime.close();
});
