/** A runtime that has been told to close begins nothing, and says so. */
import type { RewindPlan } from "@reyn/rewind-modes";
import { defineSkill, done } from "@reyn/skill-resume";
import { afterEach, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { mainSession, type Runtime } from "../src/index.ts";
import { makeProject, open, type Project } from "./project.ts";

let project: Project;
beforeEach(async () => {
	project = await makeProject();
});
afterEach(() => project[Symbol.asyncDispose]());

const acts: Readonly<Record<string, (runtime: Runtime, run: string, plan: RewindPlan) => Promise<unknown>>> = {
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
	const plan = await runtime.planRewind(1, "conversation_only", mainSession);
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

const codeOf = (act: Promise<unknown>): Promise<unknown> =>
	act.then(
		() => "done",
		({ code }) => code,
	);
