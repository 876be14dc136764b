/** What becomes of what a crash cut, as it was said beforehand: plans, and calls in doubt. */
import type { Tool } from "@reyn/journal";
import { PLAN_TOOL } from "@reyn/plan";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { RuntimeOptions } from "../src/index.ts";
import { cutAfter, everyCut, kindsIn } from "./cut.ts";
import { lastOf, makeProject, type Opened, open, type Project, payingPlan, scripted } from "./project.ts";
import { script } from "./script-runs.ts";

let project: Project;
beforeEach(async () => {
	project = await makeProject();
});
afterEach(() => project[Symbol.asyncDispose]());

const pay = (more: Partial<Tool> = {}): Tool & { paid: number } => {
	const tool: Tool & { paid: number } = {
		...{ name: "pay", description: "pays", parameters: {}, purity: "external" as const, paid: 0, ...more },
		call: async () => `receipt ${++tool.paid}`,
	};
	return tool;
};

const model = () =>
	scripted((request) => {
		const { messages } = request;
		if (messages.at(-1)?.role === "tool") return `told: ${lastOf(request)}`;
		return lastOf(request) === "plan!" ? [{ name: PLAN_TOOL, args: payingPlan }] : [{ name: "pay", args: {} }];
	});

describe("a call in doubt", () => {
	/** Goes on behind the durable start of a payment, whose process died then. */
	async function goneOn(
		inDoubt: RuntimeOptions["inDoubt"],
		more: Partial<Tool> = {},
	): Promise<Opened & { paid: number }> {
		const { runtime } = await open(project, { model: model(), tools: [pay(more)] });
		await runtime.prompt("pay");
		await runtime.idle();
		await runtime.close();
		const state = await cutAfter(project, (await kindsIn(project)).indexOf("step_started") + 1);
		const tool = pay(more);
		const next = await open({ ...project, state }, { model: model(), tools: [tool], ...(inDoubt && { inDoubt }) });
		next.runtime.resume();
		await next.runtime.idle();
		await next.runtime.close();
		return { ...next, paid: tool.paid };
	}

	test.each([
		["is made again where nothing is said", undefined, {}, { paid: 1, decision: "retry" }],
		["is skipped where that is said of all", { default: "skip" }, {}, { paid: 0, decision: "skip" }],
		[
			"is as its tool says, whatever is said of all",
			{ default: "retry" },
			{ inDoubt: "skip" },
			{ paid: 0, decision: "skip" },
		],
		[
			"is as is said of its tool, whatever that says",
			{ tools: { pay: "retry" } },
			{ inDoubt: "skip" },
			{ paid: 1, decision: "retry" },
		],
		["is not as is said of another tool", { tools: { toString: "skip" } }, {}, { paid: 1, decision: "retry" }],
	] as const)("%s", async (_, inDoubt, more, { paid, decision }) => {
		const { events, ...next } = await goneOn(inDoubt, more);
		expect(next.paid).toBe(paid);
		expect(events).toContainEqual(expect.objectContaining({ type: "in_doubt", name: "pay", decision }));
		expect(events.find(({ type }) => type === "turn_end")).toMatchObject({ outcome: "completed" });
	});

	test("waits where it is to be asked about, and nobody is there who decides", async () => {
		const { events, paid } = await goneOn({ default: "ask" });
		expect(paid).toBe(0);
		expect(events.find(({ type }) => type === "turn_end")).toMatchObject({ outcome: "stopped" });
	});

	test("of a script is as is said of its tool, unless its resume says otherwise", async () => {
		const { runtime } = await open(project, { model: model(), tools: [pay()] });
		await (await runtime.scripts.start(script('return await ctx.tool("pay", {});'), undefined)).end;
		await runtime.close();
		const state = await cutAfter(project, (await kindsIn(project)).indexOf("step_started") + 1);
		const tool = pay();
		const next = await open(
			{ ...project, state },
			{ model: model(), tools: [tool], inDoubt: { tools: { pay: "ask" } } },
		);
		const [{ run } = { run: "" }] = next.runtime.scripts.list();
		expect(await (await next.runtime.scripts.resume(run)).end).toMatchObject({ status: "waiting" });
		const { end } = await next.runtime.scripts.resume(run, { whenInDoubt: "skip" });
		expect([await end, tool.paid]).toEqual([{ status: "completed", result: "" }, 0]);
		await next.runtime.close();
	});
});

describe("a plan that its process left, where such are discarded", () => {
	const ended = ({ events }: Opened) => events.filter(({ type }) => type === "plan_end");

	test("is given up once, wherever it was cut, and says to ask again; what has its answer only comes to its end", async () => {
		const { runtime } = await open(project, { model: model(), tools: [pay()] });
		await runtime.prompt("plan!");
		await runtime.idle();
		await runtime.close();
		const seen = { discarded: 0, completed: 0 };
		await everyCut(project, async (state, kinds) => {
			if (!kinds.includes("plan_started") || kinds.includes("plan_completed")) return;
			const [asked, tool] = [model(), pay()];
			const next = await open({ ...project, state }, { model: asked, tools: [tool], planResume: "discard" });
			next.runtime.resume();
			await next.runtime.idle();
			await next.runtime.close();
			const isAnswered = kinds.includes("assistant_message");
			seen[isAnswered ? "completed" : "discarded"]++;
			expect(ended(next)).toMatchObject([{ outcome: isAnswered ? "completed" : "discarded" }]);
			expect(tool.paid).toBe(0);
			if (!isAnswered)
				expect(next.shown.map(({ text }) => text)).toEqual([
					expect.stringMatching(/plan_resume says discard. Ask again/),
				]);
			expect(next.runtime.restored().plans).toEqual([]);
			const last = await open({ ...project, state }, { model: asked, tools: [tool], planResume: "discard" });
			last.runtime.resume();
			await last.runtime.idle();
			await last.runtime.close();
			expect([ended(last), last.shown]).toEqual([[], []]);
		});
		expect(seen.discarded).toBeGreaterThan(3);
		expect(seen.completed).toBeGreaterThan(0);
	});

	test("goes on where this process has begun it, or a person resumes it by name", async () => {
		const here = await open(project, { model: model(), tools: [pay()], planResume: "discard" });
		await here.runtime.prompt("plan!");
		await here.runtime.idle();
		expect(ended(here)).toMatchObject([{ outcome: "completed" }]);
		await here.runtime.close();
		const state = await cutAfter(project, (await kindsIn(project)).indexOf("plan_step_completed") + 1);
		const next = await open({ ...project, state }, { model: model(), tools: [pay()], planResume: "discard" });
		const [{ plan } = { plan: "" }] = next.runtime.restored().plans;
		await next.runtime.resumePlan(plan);
		next.runtime.resume();
		await next.runtime.idle();
		expect(ended(next)).toMatchObject([{ outcome: "completed" }]);
		await next.runtime.close();
	});
});
