/** Work goes on with the model that it was begun with, where that is to be had. */
import { PLAN_TOOL } from "@reyn/plan";
import { defineSkill, done } from "@reyn/skill-resume";
import { afterEach, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import type { Runtime, ScriptEnd } from "../src/index.ts";
import { cutAfter, kindsIn } from "./cut.ts";
import { lastOf, makeProject, open, type Project, scripted } from "./project.ts";
import { script } from "./script-runs.ts";

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

const twice = defineSkill({
	name: "twice",
	description: "asks its model twice",
	input: z.unknown(),
	start: "one",
	phases: {
		one: async ({ model }) => {
			const ask = (text: string) => model({ system: "", messages: [{ role: "user", text }], tools: [] });
			return done(`${(await ask("a")).text}, ${(await ask("b")).text}`);
		},
	},
});

const twoAgents = script('return [await ctx.agent("a"), await ctx.agent("b")];');

/** How a work is begun in a life with `first`, and what it comes to behind a cut. */
interface Life {
	begin(runtime: Runtime): Promise<unknown>;
	goOn?(runtime: Runtime): Promise<unknown>;
}

const prompt = (text: string): Life => ({ begin: (runtime) => runtime.prompt(text) });
const skill: Life = { begin: (runtime) => runtime.runSkill("twice", {}) };
const scriptRun: Life = {
	begin: async (runtime) => (await runtime.scripts.start(twoAgents, undefined)).end,
	goOn: async (runtime) => (await runtime.scripts.resume(runtime.restored().scripts[0]?.run ?? "")).end,
};

/** Goes on behind the nth record of a kind of a life with `first`, with an agent whose model is `second`. */
async function goneOn(
	{ begin, goOn }: Life,
	kind: string,
	models: readonly ReturnType<typeof scripted>[],
	of = project,
	nth = 0,
) {
	const { runtime } = await open(of, { model: named("first"), skills: [twice] });
	await begin(runtime);
	await runtime.idle();
	await runtime.close();
	const places = (await kindsIn(of)).flatMap((each, i) => (each === kind ? [i + 1] : []));
	const state = await cutAfter(of, places[nth] as number);
	return { ...(await goOnIn(state, models, goOn)), state };
}

async function goOnIn(state: string, models: readonly ReturnType<typeof scripted>[], goOn?: Life["goOn"]) {
	const second = named("second");
	const models_ = { model: second, models: (id: string) => models.find((each) => each.id === id) };
	const opened = await open({ ...project, state }, { ...models_, skills: [twice] });
	const restored = opened.runtime.restored();
	opened.runtime.resume();
	const end = (await goOn?.(opened.runtime)) as ScriptEnd | undefined;
	await opened.runtime.idle();
	await opened.runtime.close();
	return { ...opened, end, second, restored, changes: opened.events.filter(({ type }) => type === "model_changed") };
}

test("a turn", async () => {
	const first = named("first");
	const { second, restored, changes } = await goneOn(prompt("hello"), "user_prompt", [first]);
	expect([first.asked.length, second.asked.length, changes]).toEqual([1, 0, []]);
	expect(restored.turns).toMatchObject([{ model: "first" }]);
});

test("a plan, and a plan of a turn that went on so", async () => {
	const first = named("first");
	const begun = await goneOn(prompt("plan!"), "plan_started", [first]);
	expect([first.asked.length, begun.second.asked.length]).toEqual([2, 0]);
	expect(begun.restored.plans).toMatchObject([{ model: "first" }]);
	await using other = await makeProject();
	const later = named("first");
	const { second, shown } = await goneOn(prompt("plan!"), "user_prompt", [later], other);
	expect([later.asked.length, second.asked.length]).toEqual([3, 0]);
	expect(shown.at(-1)?.text).toContain("first says so");
});

test("where it is not to be had, the agent's own goes on, and an event says so", async () => {
	const { second, changes, runtime } = await goneOn(prompt("plan!"), "plan_started", []);
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

test("a skill run", async () => {
	const first = named("first");
	const { second, restored, changes, shown } = await goneOn(skill, "skill_run_started", [first]);
	expect([first.asked.length, second.asked.length, changes]).toEqual([2, 0, []]);
	expect(restored.runs).toMatchObject([{ model: "first" }]);
	expect(shown.at(-1)?.text).toBe("first says so, first says so");
});

test("a script run", async () => {
	const first = named("first");
	const { second, restored, changes, end } = await goneOn(scriptRun, "script_started", [first]);
	expect([first.asked.length, second.asked.length, changes]).toEqual([2, 0, []]);
	expect(restored.scripts).toMatchObject([{ model: "first" }]);
	expect(end).toEqual({ status: "completed", result: ["first says so", "first says so"] });
});

test("of a skill that another one goes on with, the open phase is asked anew, and an event says so", async () => {
	const { second, changes, shown } = await goneOn(skill, "step_completed", []);
	expect(changes).toMatchObject([{ type: "model_changed", kind: "skill", from: "first", to: "second" }]);
	expect([second.asked.length, shown.at(-1)?.text]).toEqual([2, "second says so, second says so"]);
});

test("a script that another one goes on with calls nothing twice: it is stopped, or goes on with that from then on", async () => {
	const changed = [{ type: "model_changed", kind: "script", from: "first", to: "second" }];
	// Behind the whole answer of an agent, of which the model's own is a part.
	const stopped = await goneOn(scriptRun, "step_completed", [], project, 1);
	expect(stopped.changes).toMatchObject(changed);
	expect(stopped.end).toMatchObject({ status: "stopped", reason: { code: "REPLAY_DIVERGENCE" } });
	expect(stopped.second.asked).toEqual([]);
	await using reader = (await open({ ...project, state: stopped.state }, { model: named("second"), readOnly: true }))
		.runtime;
	const [{ run: stands } = { run: "" }] = reader.scripts.list();
	// What the preview says is what has stopped it, and an edited one would go on.
	const { refused } = await reader.scripts.explain(stands);
	const { expected, got, path } = refused ?? {};
	expect([expected, got]).toEqual([expect.any(String), expect.any(String)]);
	expect((stopped.end?.status === "stopped" && stopped.end.reason.message) || "").toContain(
		`expected ${expected}; got ${got}`,
	);
	expect(path).toBe(`script/${stands}`);
	const edited = { ...twoAgents, source: twoAgents.source.replace("return", "void 0; return") };
	expect(await reader.scripts.explain(stands, { script: edited })).not.toHaveProperty("refused");

	await using other = await makeProject();
	const first = named("first");
	const begun = await goneOn(scriptRun, "script_started", [], other);
	expect(begun.changes).toMatchObject(changed);
	expect(begun.end).toMatchObject({ status: "completed", result: ["second says so", "second says so"] });
	const { runtime } = await open({ ...other, state: begun.state }, { model: first, models: () => named("second") });
	const [{ run } = { run: "" }] = runtime.scripts.list();
	expect((await runtime.scripts.verify(run)).divergences).toEqual([]);
	await runtime.close();
});
