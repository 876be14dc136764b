/** Undo and redo of what a person does to a plan, and results that come after a rewind: each state is exactly what it was. */
import type { Tool } from "@reyn/journal";
import { PLAN_TOOL, planIn, planRuns } from "@reyn/plan";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { mainSession, type Runtime } from "../src/index.ts";
import { gate, lastOf, makeProject, open, type Project, type Script, scripted, until } from "./project.ts";

let project: Project;
beforeEach(async () => {
	project = await makeProject();
});
afterEach(() => project[Symbol.asyncDispose]());

const step = (id: string, ...depends_on: string[]) => ({ id, description: `do ${id}`, tools: [], depends_on });
const plan = { goal: "the goal", steps: [step("a"), step("b", "a"), step("c", "b")] };

/** Its answers are numbered: no two are alike. */
function numbered(held: (step: string) => Promise<void> | undefined = () => undefined) {
	let answers = 0;
	const script: Script = async (request) => {
		if (lastOf(request) === "plan!") return [{ name: PLAN_TOOL, args: plan }];
		const [, id = ""] = /^Step (\w+):/m.exec(lastOf(request)) ?? [];
		await held(id);
		return `${id} ${++answers}`;
	};
	return scripted(script);
}

const runOf = (runtime: Runtime, plan: string) => planIn(runtime.view().get(planRuns), plan);

/** What is in memory is what a restart would make of the log. */
const expectLive = async (runtime: Runtime): Promise<void> =>
	expect(runtime.view().hash()).toBe((await runtime.timeline.at(runtime.wal.tip, mainSession)).hash());

interface Deed {
	readonly name: string;
	/** Is the plan over before, or paused after its first step? */
	readonly from: "over" | "paused";
	does(runtime: Runtime, plan: string): Promise<unknown>;
}

const deeds: readonly Deed[] = [
	{ name: "a discard", from: "paused", does: (runtime, plan) => runtime.discardPlan(plan) },
	{
		name: "an amend that changes a step",
		from: "paused",
		does: (runtime, plan) => runtime.amendPlan(plan, { put: [{ ...step("c", "b"), description: "do c anew" }] }),
	},
	{
		name: "an amend that drops and adds steps",
		from: "paused",
		does: (runtime, plan) => runtime.amendPlan(plan, { put: [step("d"), step("e", "b", "d")], drop: ["c"] }),
	},
	{ name: "a retry of a paused plan", from: "paused", does: (runtime, plan) => runtime.resumePlan(plan, "a") },
	{ name: "a retry of one that is over", from: "over", does: (runtime, plan) => runtime.resumePlan(plan, "b") },
	{ name: "a retry of its last step", from: "over", does: (runtime, plan) => runtime.resumePlan(plan, "c") },
];

describe.each(deeds)("$name", ({ from, does }) => {
	test("is taken back and done again exactly, in this process and in the next", async () => {
		const held = gate();
		if (from === "over") held.open();
		const model = numbered((id) => (id === "b" ? held.opened : undefined));
		const { runtime } = await open(project, { model });
		const id = `p${await runtime.prompt("plan!")}`;
		if (from === "over") await runtime.idle();
		else {
			await until(() => model.asked.some((request) => /^Step b/m.test(lastOf(request))));
			await runtime.pausePlan(id);
		}
		await runtime.idle();
		held.open();
		const before = runOf(runtime, id);
		await does(runtime, id);
		await runtime.idle();
		const after = { hash: runtime.view().hash(), run: runOf(runtime, id), asked: model.asked.length };
		expect(after.run).not.toEqual(before);
		for (let times = 0; times < 2; times++) {
			await runtime.undo("test");
			await runtime.idle();
			expect(runOf(runtime, id)).toEqual(before);
			await expectLive(runtime);
			await runtime.redo("test");
			await runtime.idle();
			expect(runtime.view().hash()).toBe(after.hash);
			await expectLive(runtime);
		}
		// Nothing was paid for the way there and back.
		expect(model.asked.length).toBe(after.asked);
		await runtime.undo("test");
		await runtime.close();
		const { runtime: next } = await open(project, { model });
		expect(runOf(next, id)).toEqual(before);
		await next.redo("test");
		expect(next.view().hash()).toBe(after.hash);
		next.resume();
		await next.idle();
		expect([next.view().hash(), model.asked.length]).toEqual([after.hash, after.asked]);
		await next.close();
	});
});

test("a model that does not hear of a rewind keeps it from happening; its answer lands on its own line, and on no other", async () => {
	const held = gate();
	let asked = 0;
	const model = scripted(
		async (request) => {
			if (lastOf(request) === "plan!") return [{ name: PLAN_TOOL, args: plan }];
			const [, id = ""] = /^Step (\w+):/m.exec(lastOf(request)) ?? [];
			if (id !== "b") return `${id} done`;
			if (++asked === 1) await held.opened;
			return `b ${asked}`;
		},
		{ deaf: true },
	);
	const { runtime, shown } = await open(project, { model, quietMs: 50 });
	const id = `p${await runtime.prompt("plan!")}`;
	await until(() => asked === 1);
	const inside = runtime.timeline.checkpoints().findLast(({ kind }) => kind === "plan_step")?.seq ?? 0;
	const before = runOf(runtime, id);
	const alone = { ...mainSession, run: id };
	await expect(runtime.checkout(inside, "test", alone)).rejects.toMatchObject({ code: "RUNTIME_NOT_QUIET" });
	expect(runOf(runtime, id)).toEqual(before);
	held.open();
	await runtime.idle();
	await runtime.checkout(inside, "test", alone);
	expect(runOf(runtime, id)?.steps).not.toHaveProperty("b");
	if (runOf(runtime, id)?.status === "paused") await runtime.resumePlan(id);
	await runtime.idle();
	expect(runOf(runtime, id)?.steps.b).toMatchObject({ result: `b ${asked}` });
	expect(asked).toBeGreaterThan(1);
	expect(shown.at(-1)?.text).toBe("c done");
	await expectLive(runtime);
	await runtime.close();
});

test("an effect that ends after its limit of time and a rewind is no result of the other line", async () => {
	const late = gate();
	const paid: string[] = [];
	const pay: Tool = {
		...{ name: "pay", description: "pays", parameters: { type: "object" }, purity: "side_effect", timeoutMs: 50 },
		async call() {
			const time = paid.push("paid");
			if (time > 1) return `paid, time ${time}`;
			await late.opened;
			return "paid, too late";
		},
	};
	const paying = { ...step("a"), tools: ["pay"] };
	const model = scripted((request) => {
		const last = lastOf(request);
		if (last === "plan!") return [{ name: PLAN_TOOL, args: { goal: "pay", steps: [paying, step("b", "a")] } }];
		const [, id] = /^Step (\w+):/m.exec(last) ?? [];
		return id === "a" ? [{ name: "pay", args: {} }] : last.slice(-15);
	});
	const { runtime, shown } = await open(project, { model, tools: [pay] });
	const id = `p${await runtime.prompt("plan!")}`;
	await runtime.idle();
	expect(paid).toHaveLength(1);
	const [turn] = runtime.timeline.checkpoints();
	await runtime.checkout(turn?.seq ?? 0, "test", { ...mainSession, run: id });
	expect(runOf(runtime, id)?.steps).toEqual({});
	late.open();
	for (let turns = 0; turns < 20; turns++) await new Promise(setImmediate);
	expect(runOf(runtime, id)?.steps).toEqual({});
	await runtime.resumePlan(id);
	await runtime.idle();
	// The second payment is another one: the line that has it never knew of the first.
	expect(runOf(runtime, id)?.steps.a).toMatchObject({ result: expect.stringContaining("paid, time 2") });
	expect(shown.at(-1)?.text).toContain("paid, time 2");
	await expectLive(runtime);
	await runtime.close();
});
