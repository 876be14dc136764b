/** A runtime that has been told to close begins nothing, and says so. */
import { PLAN_TOOL } from "@reyn/plan";
import type { RewindPreview } from "@reyn/rewind-modes";
import { defineSkill, done } from "@reyn/skill-resume";
import { afterEach, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { pointsOf } from "../../../tests/sample.ts";
import { mainSession, type Runtime, type SessionScope } from "../src/index.ts";
import { gate, lastOf, makeProject, open, type Project, scripted } from "./project.ts";

const PLAN = {
	goal: "the goal",
	steps: [
		{ id: "a", description: "first", tools: [], depends_on: [] },
		{ id: "b", description: "last", tools: [], depends_on: ["a"] },
	],
};

let project: Project;
beforeEach(async () => {
	project = await makeProject();
});
afterEach(() => project[Symbol.asyncDispose]());

const acts: Readonly<Record<string, (runtime: Runtime, run: string, plan: RewindPreview) => Promise<unknown>>> = {
	prompt: (runtime) => runtime.prompt("late"),
	"prompt of a new session": (runtime) => runtime.prompt("late", { agent: "default", session: "late" }),
	runSkill: (runtime) => runtime.runSkill("greet", {}),
	resumeSkillRun: (runtime) => runtime.resumeSkillRun("s1"),
	discardSkillRun: (runtime) => runtime.discardSkillRun("s1"),
	resumePlan: (runtime) => runtime.resumePlan("p1"),
	discardPlan: (runtime) => runtime.discardPlan("p1"),
	"scripts.start": ({ scripts }) => scripts.start({ name: "s.ts", source: "export default async () => 1" }, {}),
	"scripts.resume": ({ scripts }, run) => scripts.resume(run),
	applyRewind: (runtime, _, plan) => runtime.applyRewind(plan, "me"),
	checkout: (runtime) => runtime.checkout(1, "me"),
	undo: (runtime) => runtime.undo("me"),
	redo: (runtime) => runtime.redo("me"),
	gc: (runtime) => runtime.gc(),
};

test("what is asked for once it has been told to is refused with RUNTIME_CLOSED, and nothing is written", async () => {
	const phases = { one: async () => done("hello") };
	const skills = [defineSkill({ name: "greet", description: "", input: z.unknown(), start: "one", phases })];
	const { runtime } = await open(project, { skills });
	await runtime.prompt("first");
	await runtime.idle();
	const { run, end } = await runtime.scripts.start({ name: "s.ts", source: "export default async () => 1" }, {});
	await end;
	const plan = await runtime.previewRewind(1, "conversation_only", mainSession);
	const { tip } = runtime.wal;
	const closed = runtime.close();
	const late = Object.entries(acts).map(async ([name, act]) => [name, await codeOf(act(runtime, run, plan))]);
	const told = await Promise.all(late);
	await closed;
	const after = Object.entries(acts).map(async ([name, act]) => [name, await codeOf(act(runtime, run, plan))]);
	const refused = Object.keys(acts).map((name) => [name, "RUNTIME_CLOSED"]);
	expect([told, await Promise.all(after)]).toEqual([refused, refused]);

	const next = await open(project, { readOnly: true });
	expect(next.runtime.restored()).toMatchObject({ tip, turns: [], runs: [], scripts: [] });
	expect(next.runtime.sessions()).toHaveLength(1);
	await next.runtime.close();
});

/** A turn that runs, and stops only when it is let. */
async function runningTurn() {
	const [stop, deaf] = [gate(), gate()];
	const model = scripted(async (request) => {
		if (lastOf(request) !== "use") return "an answer";
		deaf.open();
		await stop.opened;
		return "an answer that comes too late";
	});
	const { runtime } = await open(project, { model });
	await runtime.prompt("first");
	await runtime.idle();
	const target = runtime.wal.tip;
	await runtime.prompt("use");
	await deaf.opened;
	return { runtime, target, stop };
}

const promptsOf = (runtime: Runtime, scope: SessionScope = mainSession): readonly string[] =>
	runtime
		.conversation(scope)
		.items.toArray()
		.flatMap((item) => (item.type === "prompt" ? [item.text] : []));

const moves: Readonly<Record<string, (runtime: Runtime, target: number) => Promise<() => Promise<unknown>>>> = {
	"a checkout": async (runtime, target) => () => runtime.checkout(target, "me"),
	"a rewind": async (runtime, target) => {
		const plan = await runtime.previewRewind(target, "both", mainSession);
		return () => runtime.applyRewind(plan, "me");
	},
};

test.each(Object.entries(moves))("%s that is under way when it is told to close is made, and told", async (_, move) => {
	const { runtime, target, stop } = await runningTurn();
	const moved = codeOf((await move(runtime, target))());
	const waiting = codeOf(runtime.prompt("while it moves"));
	const closed = runtime.close();
	stop.open();
	await closed;
	expect([await moved, await waiting]).toEqual(["done", "RUNTIME_CLOSED"]);

	const { runtime: next } = await open(project, { readOnly: true });
	expect(promptsOf(next)).toEqual(["first"]);
	expect(next.restored().turns).toEqual([]);
	await next.close();
});

test.each(Object.entries(moves))(
	"a prompt that is given once %s was asked for belongs to where that leads",
	async (_, move) => {
		for (const ticks of pointsOf(0, 11, 5)) {
			await using here = await makeProject();
			project = here;
			const { runtime, target, stop } = await runningTurn();
			const moved = (await move(runtime, target))();
			for (let i = 0; i < ticks; i++) await (ticks > 6 ? new Promise(setImmediate) : undefined);
			const asked = runtime.prompt("while it moves");
			stop.open();
			await Promise.all([moved, asked]);
			await runtime.idle();
			expect(promptsOf(runtime)).toEqual(["first", "while it moves"]);
			await runtime.close();
		}
	},
);

test.each(["one that there is", "a new one"])(
	"a prompt of another session (%s) that waits when it is told to close is refused with RUNTIME_CLOSED",
	async (which) => {
		for (const ticks of pointsOf(0, 11, 5)) {
			await using here = await makeProject();
			project = here;
			const { runtime, target, stop } = await runningTurn();
			const other = { agent: "default", session: "other" };
			const isOther = (each: SessionScope): boolean => each.session === other.session;
			if (which === "one that there is") await runtime.prompt("hello", other);
			const moved = codeOf(runtime.checkout(target, "me"));
			const waiting = codeOf(runtime.prompt("while it moves", other));
			for (let i = 0; i < ticks; i++) await (ticks > 6 ? new Promise(setImmediate) : undefined);
			// A fast disk may have ended the move by now: then nothing waits any more.
			const isOver = runtime.sessions().some(isOther) && promptsOf(runtime, other).includes("while it moves");
			if (ticks === 0) expect(isOver).toBe(false);
			const closed = runtime.close();
			stop.open();
			await closed;
			expect([await moved, await waiting]).toEqual(["done", isOver ? "done" : "RUNTIME_CLOSED"]);
			const { runtime: next } = await open(project, { readOnly: true });
			expect(next.sessions()).toEqual(isOver ? [mainSession, other] : [mainSession]);
			await next.close();
		}
	},
);

test.each(["plan", "skill run"])(
	"a %s that is discarded when it is told to close ends so, and that is told once",
	async (what) => {
		const held = gate();
		const wait = defineSkill({
			name: "wait",
			description: "",
			input: z.unknown(),
			start: "one",
			phases: {
				one: async ({ step }) => {
					const call = async ({ signal }: { readonly signal: AbortSignal }): Promise<string> => {
						held.open();
						return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
					};
					await step("held", call, { purity: "external" });
					return done("");
				},
			},
		});
		const model = scripted(async (request) => {
			if (lastOf(request) === "plan it") return [{ name: PLAN_TOOL, args: PLAN }];
			if (!/Step/.test(lastOf(request))) return "an answer";
			held.open();
			return new Promise<never>(() => {});
		});
		const told: string[] = [];
		const options = {
			model,
			skills: [wait],
			onMessage: async ({ text }: { readonly text: string }) => {
				await new Promise(setImmediate);
				told.push(text);
			},
		};
		const { runtime } = await open(project, options);
		if (what === "plan") await runtime.prompt("plan it");
		else await runtime.runSkill("wait", {});
		await held.opened;
		const { plans, runs } = runtime.restored();
		const discarded = codeOf(
			what === "plan" ? runtime.discardPlan(plans[0]?.plan ?? "") : runtime.discardSkillRun(runs[0]?.run ?? ""),
		);
		await Promise.all([runtime.close(), discarded]);
		expect(await discarded).toBe("done");

		const { runtime: next } = await open(project, options);
		next.resume();
		await next.idle();
		expect(next.restored()).toMatchObject({ plans: [], runs: [] });
		expect(told).toEqual([expect.stringContaining("was discarded")]);
		await next.close();
	},
);

const codeOf = (act: Promise<unknown>): Promise<unknown> =>
	act.then(
		() => "done",
		({ code }) => code,
	);
