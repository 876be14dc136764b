/** Work goes on with the model that it was begun with, where that is to be had. */
import { PLAN_TOOL } from "@reyn/plan";
import { afterEach, beforeEach, expect, test } from "vitest";
import { cutAfter, kindsIn } from "./cut.ts";
import { lastOf, makeProject, open, type Project, scripted } from "./project.ts";

let project: Project;
beforeEach(async () => {
	project = await makeProject();
});
afterEach(() => project[Symbol.asyncDispose]());

const PLAN = {
	goal: "both",
	steps: [
		{ id: "a", description: "the first one", tools: [], depends_on: [] },
		{ id: "b", description: "the second one", tools: [], depends_on: ["a"] },
	],
};

const named = (id: string) =>
	Object.assign(
		scripted((request) => (lastOf(request) === "plan!" ? [{ name: PLAN_TOOL, args: PLAN }] : `${id} says so`)),
		{ id },
	) as ReturnType<typeof scripted>;

/** Goes on behind a record of a life with `first`, with an agent whose model is `second`. */
async function goneOn(prompt: string, kind: string, models: readonly ReturnType<typeof scripted>[]) {
	const { runtime } = await open(project, { model: named("first") });
	await runtime.prompt(prompt);
	await runtime.idle();
	await runtime.close();
	const state = await cutAfter(project, (await kindsIn(project)).indexOf(kind) + 1);
	const second = named("second");
	const opened = await open(
		{ ...project, state },
		{ model: second, models: (id) => models.find((each) => each.id === id) },
	);
	const restored = opened.runtime.restored();
	opened.runtime.resume();
	await opened.runtime.idle();
	await opened.runtime.close();
	return { ...opened, second, restored, changes: opened.events.filter(({ type }) => type === "model_changed") };
}

test("a turn", async () => {
	const first = named("first");
	const { second, restored, changes } = await goneOn("hello", "user_prompt", [first]);
	expect([first.asked.length, second.asked.length, changes]).toEqual([1, 0, []]);
	expect(restored.turns).toMatchObject([{ model: "first" }]);
});

test("a plan, and a plan of a turn that went on so", async () => {
	const first = named("first");
	const begun = await goneOn("plan!", "plan_started", [first]);
	expect([first.asked.length, begun.second.asked.length]).toEqual([2, 0]);
	expect(begun.restored.plans).toMatchObject([{ model: "first" }]);
	await using other = await makeProject();
	project = other;
	const later = named("first");
	const { second, shown } = await goneOn("plan!", "user_prompt", [later]);
	expect([later.asked.length, second.asked.length]).toEqual([3, 0]);
	expect(shown.at(-1)?.text).toContain("first says so");
});

test("where it is not to be had, the agent's own goes on, and an event says so", async () => {
	const { second, changes, runtime } = await goneOn("plan!", "plan_started", []);
	expect(second.asked.length).toBe(2);
	const scope = { agent: "default", session: "main" };
	const change = { type: "model_changed", scope, id: expect.any(String), from: "first", to: "second" };
	// The turn that had begun the plan was not over.
	expect(changes).toEqual([
		{ ...change, kind: "turn" },
		{ ...change, kind: "plan" },
	]);
	expect(runtime.restored().plans).toEqual([]);
});
