/** What a person does to plans: pauses, resumes, retries, amends and discards them, and answers at their limits. */
import { PLAN_TOOL, planIn, planRuns } from "@reyn/plan";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Runtime, RuntimeOptions } from "../src/index.ts";
import { lastOf, makeProject, type Opened, open, type Project, scripted, until } from "./project.ts";

let project: Project;
beforeEach(async () => {
	project = await makeProject();
});
afterEach(() => project[Symbol.asyncDispose]());

const proposal = {
	goal: "Find out",
	steps: [
		{ id: "a", description: "look here" },
		{ id: "b", description: "look there", depends_on: ["a"] },
		{ id: "c", description: "say it", depends_on: ["b"] },
	],
};

type Step = "a" | "b" | "c" | "d";
type Says = Partial<Record<Step, () => string | Promise<string>>>;

/** A model that makes a plan of each prompt, and says of a step `<id> done`, or what it is told to say. */
const planning = (says: Says = {}) =>
	scripted((request) => {
		const [, step] = /^Step (\w):/m.exec(lastOf(request)) ?? [];
		if (step === undefined) return [{ name: PLAN_TOOL, args: proposal }];
		return says[step as Step]?.() ?? `${step} done`;
	});

/** The steps that a model was asked for. */
const askedFor = ({ asked }: ReturnType<typeof planning>): string =>
	asked.map((request) => /^Step (\w):/m.exec(lastOf(request))?.[1] ?? "").join("");

const away = (): never => {
	throw Object.assign(new Error("503: away"), { retryable: true });
};

async function begun(says: Says, options: Partial<RuntimeOptions> = {}) {
	const model = planning(says);
	const opened = await open(project, { model, unanswered: "deny", tools: [], ...options });
	await opened.runtime.prompt("plan!");
	await until(() => opened.runtime.plans().length === 1);
	const [{ plan } = { plan: "" }] = opened.runtime.plans();
	return { ...opened, model, plan };
}

const said = ({ shown }: Pick<Opened, "shown">): readonly string[] => shown.map(({ text }) => text);

const statusOf = (runtime: Runtime): string =>
	runtime
		.plans()
		.map(({ status, finished }) => `${status} ${finished}`)
		.join();

test("a plan that has ended keeps its steps, and runs a step of it again with all behind it; undo takes that back", async () => {
	let times = 0;
	const { runtime, model, plan, ...opened } = await begun({ b: () => `b ${++times}`, c: () => `c ${times}` });
	await runtime.idle();
	expect(statusOf(runtime)).toBe("completed 3");
	expect((await runtime.planSteps(plan)).map(({ id, status }) => `${id} ${status}`)).toEqual([
		...["a completed", "b completed", "c completed"],
	]);
	const before = planIn(runtime.view().get(planRuns), plan);
	expect(await runtime.resumePlan(plan, "b")).toEqual(["b", "c"]);
	await runtime.idle();
	expect([askedFor(model), said(opened)]).toEqual(["abcbc", ["c 1", "c 2"]]);
	expect((await runtime.planSteps(plan)).map(({ attempt }) => attempt)).toEqual([0, 1, 1]);
	await runtime.undo("ada");
	expect(planIn(runtime.view().get(planRuns), plan)).toEqual(before);
	await runtime.close();
});

test("a plan that an outage has ended badly is retried from the step that failed, in another process too", async () => {
	const { runtime, plan, ...opened } = await begun({ b: away });
	await runtime.idle();
	expect(runtime.plans()).toMatchObject([{ status: "completed", finished: 2, failed: 1 }]);
	expect(said(opened)).toEqual(["c done"]);
	await runtime.close();
	const model = planning();
	const next = await open(project, { model, tools: [] });
	expect(await next.runtime.resumePlan(plan, "b")).toEqual(["b", "c"]);
	await next.runtime.idle();
	expect([askedFor(model), said(next), statusOf(next.runtime)]).toEqual(["bc", ["c done"], "completed 3"]);
	await next.runtime.close();
});

test("where the last step fails, the answer is what the others have found", async () => {
	const { runtime, events, ...opened } = await begun({ c: away });
	await runtime.idle();
	expect(said(opened)).toEqual([
		expect.stringMatching(/^This plan has no answer: its last step, c, failed: .*## b: look there\nb done$/s),
	]);
	expect(events).toContainEqual(expect.objectContaining({ type: "plan_end", outcome: "failed", failed: ["c"] }));
	expect(runtime.plans()).toMatchObject([{ status: "failed" }]);
	await runtime.close();
});

test("a paused plan waits, over a restart too, and goes on where it was", async () => {
	const here = Promise.withResolvers<string>();
	const { runtime, model, plan } = await begun({ b: () => here.promise });
	await until(() => askedFor(model) === "ab");
	await runtime.pausePlan(plan);
	expect(statusOf(runtime)).toBe("paused 1");
	runtime.resume();
	await runtime.idle();
	await runtime.close();
	const later = planning();
	const next = await open(project, { model: later, tools: [] });
	next.runtime.resume();
	await next.runtime.idle();
	expect([askedFor(later), statusOf(next.runtime)]).toEqual(["", "paused 1"]);
	expect(await next.runtime.resumePlan(plan)).toEqual([]);
	await next.runtime.idle();
	expect([askedFor(later), said(next)]).toEqual(["bc", ["c done"]]);
	await next.runtime.close();
});

test("to resume what runs pays for nothing again", async () => {
	const here = Promise.withResolvers<string>();
	const { runtime, model, plan } = await begun({ b: () => here.promise });
	await until(() => askedFor(model) === "ab");
	expect(await runtime.resumePlan(plan)).toEqual([]);
	here.resolve("b done");
	await runtime.idle();
	expect(askedFor(model)).toBe("abc");
	await runtime.close();
});

describe("an amendment", () => {
	const last = { id: "c", description: "say all of it", depends_on: ["b", "d"] };
	const more = { put: [{ id: "d", description: "look elsewhere" }, last] };

	test("gives a plan under way other steps; what is over or under way is paid once", async () => {
		const here = Promise.withResolvers<string>();
		const { runtime, model, plan, ...opened } = await begun({ b: () => here.promise });
		await until(() => askedFor(model) === "ab");
		await runtime.amendPlan(plan, more);
		here.resolve("b done");
		await runtime.idle();
		expect([...askedFor(model)].sort().join("")).toBe("abcd");
		expect(lastOf(model.asked.at(-1) as (typeof model.asked)[number])).toContain("Step c: say all of it");
		expect([said(opened), runtime.plans()[0]?.size]).toEqual([["c done"], 4]);
		await runtime.close();
	});

	test("may name a class of models, in what is looked at and in what is done", async () => {
		const here = Promise.withResolvers<string>();
		const small = planning();
		const { runtime, model, plan } = await begun({ b: () => here.promise }, { plans: { models: { small } } });
		await until(() => askedFor(model) === "ab");
		const amendment = { put: [{ ...proposal.steps[2], model: "small" }] };
		expect((await runtime.previewAmend(plan, amendment)).after.at(-1)).toMatchObject({ id: "c", model: "small" });
		await runtime.amendPlan(plan, amendment);
		here.resolve("b done");
		await runtime.idle();
		expect([askedFor(model), askedFor(small)]).toEqual(["ab", "c"]);
		await runtime.close();
	});

	test("that touches a step under way, or makes no plan, is refused with what can be changed; nothing is written", async () => {
		const here = Promise.withResolvers<string>();
		const { runtime, model, plan } = await begun({ b: () => here.promise });
		await until(() => askedFor(model) === "ab");
		const { tip } = runtime.wal;
		for (const [amendment, why] of [
			[{ drop: ["b"] }, /step "b" is running; these can be changed: c/],
			[{ put: [{ id: "a", description: "x" }] }, /step "a" is completed/],
			[{ drop: ["z"] }, /no step "z" to drop/],
			[
				{
					put: [
						{ id: "d", description: "x", depends_on: ["c"] },
						{ ...last, depends_on: ["b", "d"] },
					],
				},
				/wait for each other/,
			],
			[{ put: [{ id: "d", description: "x" }] }, /exactly one step comes last/],
			[{ put: ["no step"] }, /steps\.3/],
			[{}, /nothing is changed/],
		] as const)
			await expect(runtime.amendPlan(plan, amendment)).rejects.toMatchObject({
				code: "PLAN_INVALID",
				message: expect.stringMatching(why),
			});
		expect(runtime.wal.tip).toBe(tip);
		here.resolve("b done");
		await runtime.close();
	});
});

describe("at a limit", () => {
	const limits = { retryLimit: 0 };

	test("a person is asked, in any process; the plan goes on as they say", async () => {
		const { runtime, plan } = await begun({ b: away }, { limits, unanswered: "stop" });
		await runtime.idle();
		const [question] = runtime.questions();
		expect(question).toMatchObject({
			from: { kind: "plan", id: plan },
			question: expect.stringMatching(
				/^Step b of plan p\d+ got no answer of its model after 0 retries: .*503: away.* by 1 retry, let/,
			),
			choices: ["extend", "fail", "pause"],
		});
		await runtime.close();
		const model = planning();
		const next = await open(project, { model, limits, unanswered: "stop", tools: [] });
		next.runtime.resume();
		await next.runtime.idle();
		expect([askedFor(model), next.runtime.questions().length]).toEqual(["", 1]);
		await next.runtime.answer(question?.seq ?? 0, "extend", "ada");
		await next.runtime.idle();
		expect([askedFor(model), said(next)]).toEqual(["bc", ["c done"]]);
		await next.runtime.close();
	});

	test("where nobody can be asked it is extended as often as is said, and then the step fails", async () => {
		const { runtime, model } = await begun({ b: away }, { limits, onLimit: { unattended: "extend", times: 2 } });
		await runtime.idle();
		expect([askedFor(model), statusOf(runtime)]).toEqual(["abbbc", "completed 2"]);
		await runtime.close();
	});
});

test("what a step is shown is told as it begins, and is what its plan says of it; it is unknown until what it needs is over", async () => {
	const here = Promise.withResolvers<string>();
	const { runtime, model, plan, events } = await begun({ a: () => "found ".repeat(4000), b: () => here.promise });
	await until(() => askedFor(model) === "ab");
	const told = (): readonly object[] =>
		events.flatMap((event) =>
			event.type === "plan_step_context" ? [{ step: event.step, parts: event.parts, cut: event.cut }] : [],
		);
	const shown = async (): Promise<readonly object[]> =>
		(await runtime.planSteps(plan)).flatMap(({ id: step, context }) => (context ? [{ step, ...context }] : []));
	expect(await shown()).toEqual(told());
	const [first, second] = model.asked.filter((request) => lastOf(request).includes("Step "));
	expect(told()).toMatchObject([
		{ step: "a", cut: [], parts: { instructions: { characters: first?.system.length }, results: { tokens: 0 } } },
		{ step: "b", cut: ["a"], parts: { tools: { characters: JSON.stringify(second?.tools).length } } },
	]);
	expect(events.find(({ type }) => type === "plan_step_context")).not.toHaveProperty("seq");
	here.resolve("b done");
	await runtime.idle();
	expect(await shown()).toEqual(told());
	expect(told()).toHaveLength(3);
	await runtime.close();
	// What a step would be shown with tools that are not here nobody knows.
	const steps = [{ ...proposal.steps[0], tools: ["look"] }, ...proposal.steps.slice(1)];
	const look = {
		...{ name: "look", description: "looks", parameters: {} },
		purity: "world",
		call: async () => "",
	} as const;
	const args = { goal: "Find out", steps };
	const other = scripted((request) => (lastOf(request) === "look!" ? [{ name: PLAN_TOOL, args }] : "done"));
	const looking = await open(project, { model: other, tools: [look] });
	const id = `p${await looking.runtime.prompt("look!")}`;
	await looking.runtime.idle();
	expect((await looking.runtime.planSteps(id)).filter(({ context }) => context)).toHaveLength(3);
	await looking.runtime.close();
	const without = await open(project, { model: other, tools: [] });
	expect((await without.runtime.planSteps(id)).flatMap(({ id, context }) => (context ? [id] : []))).toEqual(["b", "c"]);
	await without.runtime.close();
});

test("a step that names a class of models and its tokens says so, as its plan starts and whenever it is looked at", async () => {
	const [a, ...others] = proposal.steps;
	const args = { ...proposal, steps: [{ ...a, model: "small", max_tokens: 5000 }, ...others] };
	const small = scripted(() => "a done");
	const model = scripted((request) => (lastOf(request) === "plan!" ? [{ name: PLAN_TOOL, args }] : "done"));
	const { runtime, events } = await open(project, { model, tools: [], plans: { models: { small } } });
	const plan = `p${await runtime.prompt("plan!")}`;
	await runtime.idle();
	const own = { id: "a", model: "small", max_tokens: 5000 };
	expect(events.find(({ type }) => type === "plan_started")).toMatchObject({ steps: [own, { id: "b" }, { id: "c" }] });
	const [first, second] = await runtime.planSteps(plan);
	expect(first).toMatchObject(own);
	expect(Object.keys(second ?? {})).not.toContain("model");
	await runtime.close();
});

test("a finished step takes less than 2 KB of the state, whatever it has found", async () => {
	const large = "found ".repeat(20_000);
	const { runtime, ...opened } = await begun({ a: () => large, b: () => large.slice(0, 20_000), c: () => large });
	await runtime.idle();
	expect(said(opened)).toEqual([large]);
	const { over } = runtime.view().get(planRuns);
	expect(JSON.stringify(over).length).toBeLessThan(3 * 2000);
	await runtime.close();
});
