/** Undo and redo of what a person does to a plan, and results that come after a rewind: each state is exactly what it was. */
import type { Tool } from "@reyn/journal";
import { PLAN_TOOL, planIn, planRuns } from "@reyn/plan";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { mainSession, type Runtime } from "../src/index.ts";
import { eachCut } from "./cut.ts";
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
const resultsIn = (runtime: Runtime, plan: string) =>
	Object.values(runOf(runtime, plan)?.steps ?? {}).flatMap((each) => ("result" in each ? [each.result] : []));

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

describe.each([
	["one that is over", "b"],
	["the last step of one that is over", "c"],
])("a retry of %s that is taken back while it runs", (_, retried) => {
	/** Over, with the step run again and held. */
	async function retrying() {
		let held = false;
		const [stuck, again] = [gate(), gate()];
		const model = numbered((id) => (held && id === retried ? Promise.race([stuck.opened, again.opened]) : undefined));
		const opened = await open(project, { model });
		const { runtime } = opened;
		const id = `p${await runtime.prompt("plan!")}`;
		await runtime.idle();
		const over = runOf(runtime, id);
		held = true;
		const { length } = model.asked;
		await runtime.resumePlan(id, retried);
		await until(() => model.asked.length === length + 1);
		return { ...opened, model, id, over, runs: runOf(runtime, id), again, asked: length + 1 };
	}

	test("runs again once it is done again, here at once, and undone once more it is over as it was", async () => {
		const { runtime, model, id, over, runs, again, asked } = await retrying();
		for (let times = 1; times <= 2; times++) {
			await runtime.undo("test");
			await runtime.idle();
			expect(runOf(runtime, id)).toEqual(over);
			expect(await runAt(runtime, id, await runtime.redo("test"))).toEqual(runs);
			expect(runOf(runtime, id)?.status).toBe("running");
			await until(() => model.asked.length === asked + times);
		}
		again.open();
		await runtime.idle();
		expect(runOf(runtime, id)?.status).toBe("completed");
		await expectLive(runtime);
		await runtime.close();
	});

	test("in the next process goes on with a resume, wherever that one was killed in the redo", async () => {
		const { runtime, model, id, over, runs, again } = await retrying();
		await runtime.undo("test");
		const { seq } = await runtime.redo("test");
		await runtime.close();
		again.open();
		await eachCut(project, seq - 1, async (state, kinds) => {
			const { runtime: next } = await open({ ...project, state }, { model });
			if (kinds.length < seq) expect(runOf(next, id)).toEqual(over);
			else {
				expect(runOf(next, id)).toEqual(runs);
				next.resume();
				await next.idle();
				expect(runOf(next, id)?.status).toBe("completed");
			}
			await next.close();
		});
	});
});

/** A plan at its second step, which is held, as a person finds it. */
async function running() {
	const held = { at: gate() };
	const model = numbered((id) => (id === "b" ? held.at.opened : undefined));
	const asked = (id: string): number => model.asked.filter((request) => lastOf(request).includes(`Step ${id}:`)).length;
	const opened = await open(project, { model });
	const id = `p${await opened.runtime.prompt("plan!")}`;
	await until(() => asked("b") === 1);
	return { ...opened, model, asked, held, id, before: runOf(opened.runtime, id) };
}

/** The plan as a move has left it, before it went on. */
const runAt = async ({ timeline }: Runtime, id: string, { seq }: { readonly seq: number }) =>
	planIn((await timeline.at(seq, mainSession)).get(planRuns), id);

test("a pause of a plan that runs is taken back: it runs on, here at once, and in the next process", async () => {
	const { runtime, model, asked, held, id, before } = await running();
	await runtime.pausePlan(id);
	await runtime.idle();
	const stopped = { hash: runtime.view().hash(), run: runOf(runtime, id) };
	expect(stopped.run?.status).toBe("paused");
	for (let times = 2; times <= 3; times++) {
		expect(await runAt(runtime, id, await runtime.undo("test"))).toEqual(before);
		await until(() => asked("b") === times);
		expect(runOf(runtime, id)).toEqual(before);
		await expectLive(runtime);
		await runtime.redo("test");
		await runtime.idle();
		expect([runtime.view().hash(), runOf(runtime, id)]).toEqual([stopped.hash, stopped.run]);
		await expectLive(runtime);
	}
	await runtime.undo("test");
	await runtime.close();
	const { runtime: next, shown } = await open(project, { model });
	held.at.open();
	await next.idle();
	// It was running when its process ended, like any other.
	expect(runOf(next, id)).toEqual(before);
	next.resume();
	await next.idle();
	expect([runOf(next, id)?.status, shown.length, asked("a"), asked("c")]).toEqual(["completed", 1, 1, 1]);
	await next.close();
});

test("a pause, and to go on from it, are taken back one by one, and done again", async () => {
	const { runtime, asked, held, id, before } = await running();
	await runtime.pausePlan(id);
	const paused = runOf(runtime, id);
	await runtime.resumePlan(id);
	await until(() => asked("b") === 2);
	const resumed = runOf(runtime, id);
	expect(await runAt(runtime, id, await runtime.undo("test"))).toEqual(paused);
	expect(await runAt(runtime, id, await runtime.undo("test"))).toEqual(before);
	expect(await runAt(runtime, id, await runtime.redo("test"))).toEqual(paused);
	expect(await runAt(runtime, id, await runtime.redo("test"))).toEqual(resumed);
	held.at.open();
	await runtime.idle();
	expect([runOf(runtime, id)?.status, asked("a"), asked("c")]).toEqual(["completed", 1, 1]);
	await runtime.close();
});

test("where plans of processes that ended are discarded, one whose pause is taken back is not", async () => {
	const { runtime, model, held, id } = await running();
	await runtime.pausePlan(id);
	await runtime.close();
	const { runtime: next } = await open(project, { model, planResume: "discard" });
	next.resume();
	held.at.open();
	await next.undo("test");
	await next.idle();
	expect(runOf(next, id)?.status).toBe("completed");
	await next.close();
});

test("a rewind to before what a paused plan has paid for leaves it paused, and so does one into a plan that a rewind has paused", async () => {
	const { runtime, id } = await running();
	await runtime.pausePlan(id);
	const [turn] = runtime.timeline.checkpoints();
	for (let times = 0; times < 2; times++) {
		await runtime.checkout(turn?.seq ?? 0, "test", { ...mainSession, run: id });
		expect(runOf(runtime, id)).toMatchObject({ status: "paused", steps: {} });
	}
	await runtime.close();
});

test("a process that is killed in the undo of a pause leaves the plan paused or running, and it comes to its end", async () => {
	const { runtime, model, held, id, before } = await running();
	await runtime.pausePlan(id);
	const paused = runOf(runtime, id);
	const { seq } = await runtime.undo("test");
	await runtime.close();
	held.at.open();
	await eachCut(project, seq - 1, async (state, kinds) => {
		const { runtime: next, shown } = await open({ ...project, state }, { model });
		expect(runOf(next, id)).toEqual(kinds.length < seq ? paused : before);
		next.resume();
		await next.idle();
		if (kinds.length < seq) await next.undo("test");
		await next.idle();
		expect([runOf(next, id)?.status, shown.length]).toEqual(["completed", 1]);
		await next.close();
	});
});

test("a model that does not hear of a rewind keeps it from happening; its answer lands on its own line, and on no other", async () => {
	const [held, again] = [gate(), gate()];
	let asked = 0;
	const model = scripted(
		async (request) => {
			if (lastOf(request) === "plan!") return [{ name: PLAN_TOOL, args: plan }];
			const [, id = ""] = /^Step (\w+):/m.exec(lastOf(request)) ?? [];
			if (id !== "b") return `${id} done`;
			await (++asked === 1 ? held : again).opened;
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
	// It may go on at once, and ask anew.
	expect(resultsIn(runtime, id)).toEqual(["a done"]);
	again.open();
	if (runOf(runtime, id)?.status === "paused") await runtime.resumePlan(id);
	await runtime.idle();
	expect(runOf(runtime, id)?.steps.b).toMatchObject({ result: `b ${asked}` });
	expect(asked).toBeGreaterThan(1);
	expect(shown.at(-1)?.text).toBe("c done");
	await expectLive(runtime);
	await runtime.close();
});

test("an effect that ends after its limit of time and a rewind is no result of the other line", async () => {
	const [late, again] = [gate(), gate()];
	const paid: string[] = [];
	const pay: Tool = {
		...{ name: "pay", description: "pays", parameters: { type: "object" }, purity: "side_effect", timeoutMs: 200 },
		async call() {
			const time = paid.push("paid");
			if (time > 1) return `paid, time ${time}`;
			await late.opened;
			return "paid, too late";
		},
	};
	const paying = { ...step("a"), tools: ["pay"] };
	const model = scripted(async (request) => {
		const last = lastOf(request);
		if (last === "plan!") return [{ name: PLAN_TOOL, args: { goal: "pay", steps: [paying, step("b", "a")] } }];
		const [, id] = /^Step (\w+):/m.exec(last) ?? [];
		// What one goes back to is before the effect: the turn that has begun the plan is over first.
		if (id === "a") await (paid.length > 0 ? again.opened : until(() => runtime.timeline.checkpoints().length > 0));
		return id === "a" ? [{ name: "pay", args: {} }] : last.slice(-15);
	});
	const { runtime, shown } = await open(project, { model, tools: [pay] });
	const id = `p${await runtime.prompt("plan!")}`;
	await runtime.idle();
	expect(paid).toHaveLength(1);
	const [turn] = runtime.timeline.checkpoints();
	await runtime.checkout(turn?.seq ?? 0, "test", { ...mainSession, run: id });
	// It may go on at once, and ask anew.
	expect(resultsIn(runtime, id)).toEqual([]);
	late.open();
	for (let turns = 0; turns < 20; turns++) await new Promise(setImmediate);
	expect([resultsIn(runtime, id), paid]).toEqual([[], ["paid"]]);
	again.open();
	if (runOf(runtime, id)?.status === "paused") await runtime.resumePlan(id);
	await runtime.idle();
	// The second payment is another one: the line that has it never knew of the first.
	expect(runOf(runtime, id)?.steps.a).toMatchObject({ result: expect.stringContaining("paid, time 2") });
	expect(shown.at(-1)?.text).toContain("paid, time 2");
	await expectLive(runtime);
	await runtime.close();
});
