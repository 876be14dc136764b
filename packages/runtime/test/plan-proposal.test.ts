/** A plan that a model proposes in vain: it is asked once more where that can help, and then the person is told. */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { PLAN_TOOL } from "@reyn/plan";
import { afterEach, beforeEach, expect, test } from "vitest";
import { layoutOf, type Runtime } from "../src/index.ts";
import { areaIn } from "../src/stores/layout.ts";
import { cutAfter, eachCut, kindsIn, removeState } from "./cut.ts";
import { filesTest } from "./files-test.ts";
import { lastOf, makeProject, open, type Project, scripted, until } from "./project.ts";

let project: Project;
beforeEach(async () => {
	project = await makeProject();
});
afterEach(() => project[Symbol.asyncDispose]());

const plan = {
	goal: "the goal",
	steps: [
		{ id: "a", description: "first" },
		{ id: "b", description: "last", depends_on: ["a"] },
	],
};

/** A model that proposes this plan, whatever it is told. */
const stubborn = (args: unknown) =>
	scripted((request) => (lastOf(request).startsWith("Goal:") ? "done" : [{ name: PLAN_TOOL, args }]));

const repliesIn = (runtime: Runtime): readonly string[] =>
	runtime
		.conversation()
		.items.toArray()
		.flatMap((item) => (item.type === "reply" ? [item.text] : []));

test("one that stays invalid is asked for once more, and then the turn says so, once, wherever the process dies", async () => {
	const model = stubborn({ goal: "x", steps: [] });
	const { runtime, events } = await open(project, { model });
	const turn = await runtime.prompt("plan!");
	await runtime.idle();
	expect(model.asked).toHaveLength(2);
	const said = [expect.stringMatching(/^No plan was started: .*2 to 7 steps/)];
	expect(repliesIn(runtime)).toEqual(said);
	expect(events.flatMap((event) => (event.type === "text" ? [event.delta] : []))).toEqual(said);
	expect(events).toContainEqual(expect.objectContaining({ type: "turn_end", turn, outcome: "completed" }));
	expect(runtime.restored()).toMatchObject({ turns: [], plans: [] });
	await runtime.close();
	await eachCut(project, turn, async (state, kinds) => {
		const again = stubborn({ goal: "x", steps: [] });
		const { runtime: next } = await open({ ...project, state }, { model: again });
		next.resume();
		await next.idle();
		expect(repliesIn(next), `cut after ${kinds.at(-1)}`).toEqual(said);
		expect(next.restored().turns).toEqual([]);
		const kept = kinds.filter((kind) => kind === "step_completed").length;
		expect(again.asked.length).toBeLessThanOrEqual(2 - Math.ceil(kept / 2));
		await next.close();
	});
});

test.each([0, 3])("it may be mended %s times, where that is said", async (invalidRetries) => {
	const model = stubborn({ goal: "x", steps: [] });
	const { runtime } = await open(project, { model, plans: { invalidRetries } });
	await runtime.prompt("plan!");
	await runtime.idle();
	expect(model.asked).toHaveLength(1 + invalidRetries);
	expect(repliesIn(runtime)).toEqual([expect.stringMatching(/^No plan was started: /)]);
	await runtime.close();
});

test.each([-1, 0.5, Number.NaN])("%s times are refused", async (invalidRetries) => {
	await expect(open(project, { plans: { invalidRetries } })).rejects.toThrow(
		"plans.invalidRetries is a whole number from 0 on",
	);
});

test("a step is done by the model of its class; one that there is not is told with those that there are", async () => {
	const classed = (model: string) => ({ ...plan, steps: plan.steps.map((step) => ({ ...step, model })) });
	const model = scripted((request) => [
		{ name: PLAN_TOOL, args: classed(lastOf(request) === "plan!" ? "huge" : "small") },
	]);
	const [small, large] = [scripted(() => "said by the small one"), scripted(() => "said by the large one")];
	const { runtime, shown } = await open(project, { model, plans: { models: { small, large } } });
	await runtime.prompt("plan!");
	await runtime.idle();
	expect(lastOf(model.asked[1] ?? { system: "", messages: [], tools: [] })).toContain(
		'step "a" wants the model "huge"; there are small, large',
	);
	expect([model.asked.length, small.asked.length, large.asked.length]).toEqual([2, 2, 0]);
	expect(shown.map(({ text }) => text)).toEqual(["said by the small one"]);
	await runtime.close();
});

test("none is asked for where plans are not offered, and one that comes all the same starts nothing", async () => {
	const model = scripted((request) =>
		lastOf(request).startsWith("ERROR: there is no tool") ? "so not" : [{ name: PLAN_TOOL, args: plan }],
	);
	const { runtime } = await open(project, { model, plans: { offer: "never" } });
	await runtime.prompt("plan!");
	await runtime.idle();
	expect(model.asked[0]?.tools.map(({ name }) => name)).not.toContain(PLAN_TOOL);
	expect(repliesIn(runtime)).toEqual(["so not"]);
	expect(await kindsIn(project)).not.toContain("plan_started");
	await runtime.close();
});

test("one that can be run is started once, wherever the process dies between its record and the end of its turn", async () => {
	const { runtime } = await open(project, { model: stubborn(plan) });
	await runtime.prompt("plan!");
	await runtime.idle();
	await runtime.close();
	const kinds = await kindsIn(project);
	for (let seq = kinds.indexOf("plan_started") + 1; seq <= kinds.indexOf("turn_completed") + 1; seq++) {
		const state = await cutAfter(project, seq);
		const { runtime: next, shown } = await open({ ...project, state }, { model: stubborn(plan) });
		next.resume();
		await next.idle();
		// It is not proposed again, nor refused.
		expect([seq, repliesIn(next)]).toEqual([seq, []]);
		await next.close();
		const starts = (await kindsIn({ ...project, state })).filter((kind) => kind === "plan_started");
		expect([seq, starts.length, shown.map(({ text }) => text)]).toEqual([seq, 1, ["done"]]);
		await removeState(state);
	}
});

test("of two in one answer the first is started, and the other is told so", async () => {
	const other = { ...plan, goal: "another goal" };
	const model = scripted((request) =>
		lastOf(request).startsWith("Goal:") ? "done" : [plan, other].map((args) => ({ name: PLAN_TOOL, args })),
	);
	const { runtime, shown } = await open(project, { model });
	const turn = await runtime.prompt("plan!");
	await runtime.idle();
	expect(shown.map(({ text }) => text)).toEqual(["done"]);
	expect((await kindsIn(project)).filter((kind) => kind === "plan_started")).toHaveLength(1);
	const results = runtime
		.conversation()
		.items.toArray()
		.flatMap((item) => (item.type === "result" ? [item.text] : []));
	expect(results).toEqual([
		expect.stringContaining(`plan p${turn} started`),
		`ERROR: plan p${turn} has started; one turn starts one plan`,
	]);
	await runtime.close();
});

test("two in one answer are refused as one", async () => {
	const invalid = { name: PLAN_TOOL, args: { goal: "x", steps: [] } };
	const model = scripted((request) => {
		if (lastOf(request).startsWith("Goal:")) return "done";
		return model.asked.length === 1 ? [invalid, invalid] : [{ name: PLAN_TOOL, args: plan }];
	});
	const { runtime, shown } = await open(project, { model });
	await runtime.prompt("plan!");
	await runtime.idle();
	expect(shown).toMatchObject([{ text: "done" }]);
	await runtime.close();
});

filesTest("a file where a directory is needed")(
	"one whose steps cannot be kept is not asked for again: the person is told why, and nothing has begun",
	async () => {
		const model = stubborn(plan);
		const { runtime, events } = await open(project, { model });
		const path = areaIn(layoutOf(project.state), "plans");
		await mkdir(dirname(path), { recursive: true });
		await writeFile(path, "a file where a directory is needed");
		await runtime.prompt("plan!");
		await runtime.idle();
		expect(model.asked).toHaveLength(1);
		const said = [expect.stringMatching(/^No plan was started: .*is not used: expected a directory/)];
		expect(repliesIn(runtime)).toEqual(said);
		expect(events.flatMap((event) => (event.type === "text" ? [event.delta] : []))).toEqual(said);
		expect(runtime.restored()).toMatchObject({ turns: [], plans: [] });
		await runtime.close();
	},
);

test("one that a turn has just started is left for the next start when the runtime is closed", async () => {
	const model = scripted(async (request) => {
		if (lastOf(request) === "plan!") return [{ name: PLAN_TOOL, args: plan }];
		await new Promise(() => {});
		return "never";
	});
	const { runtime } = await open(project, { model });
	await runtime.prompt("plan!");
	await until(() => runtime.restored().plans.length > 0);
	await runtime.close();
	const next = await open(project, { readOnly: true });
	expect(next.runtime.restored().plans).toHaveLength(1);
	await next.runtime.close();
});
