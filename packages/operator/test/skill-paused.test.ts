/** A skill run that has failed too often, as a person finds it: paused, with its reason, and how it goes on; and one that is discarded. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { offlineModel } from "@reyn/offline-model";
import { openRuntime } from "@reyn/runtime";
import { defineSkill, done, type Skill } from "@reyn/skill-resume";
import { expect, test } from "vitest";
import { z } from "zod";
import { memoryTasks } from "../../runtime/test/memory-tasks.ts";
import { documentSchema, type ReadVerb, type WriteVerb } from "../src/index.ts";
import { asJson } from "../src/text.ts";
import { say, verbOf } from "./house.ts";

test("its reason is in what is listed, and in the status; resume names the verb that goes on", async () => {
	const root = await mkdtemp(join(tmpdir(), "reyn-skill-paused-"));
	const skill = defineSkill({
		...{ name: "mail", description: "mails", input: z.unknown(), start: "send" },
		phases: { send: async () => Promise.reject(new Error("no mail")) },
	}) as Skill;
	const open = () => openRuntime({ state: join(root, "state"), model: offlineModel(), tools: [], skills: [skill] });
	let run = "";
	for (let start = 0; start < 3; start++) {
		await using runtime = await open();
		if (start === 0) run = await runtime.runSkill("mail", {});
		runtime.resume();
		await runtime.idle();
	}
	const runtime = await open();
	const why = 'it has failed at 3 starts in phase "send", visit 1: no mail';
	for (const name of ["skill list", "status"]) {
		const verb = verbOf(name) as ReadVerb;
		const found = await verb.read(runtime, {});
		documentSchema(verb).parse(JSON.parse(asJson(found)));
		expect(asJson(found)).toContain(JSON.stringify(why));
		expect(verb.lines(found, say, {})).toContainEqual(`${run}  mail  paused (${why})  send`);
	}
	const resume = verbOf("resume") as unknown as {
		check(of: typeof runtime, given: object, how: typeof say): Promise<void>;
	};
	await expect(resume.check(runtime, {}, say)).rejects.toThrow(`skill resume ${run}`);
	await runtime.close();
	await rm(root, { recursive: true });
});

test("one that a task has started: who discards it is told whether the task was", async () => {
	const root = await mkdtemp(join(tmpdir(), "reyn-skill-task-"));
	const skill = defineSkill({
		...{ name: "ask", description: "asks", input: z.unknown(), start: "only" },
		phases: { only: async ({ ask }) => done(await ask("who?")) },
	}) as Skill;
	const tasks = memoryTasks();
	const open = () =>
		openRuntime({
			...{ state: join(root, "state"), model: offlineModel(), tools: [], skills: [skill] },
			...{ tasks: { backend: tasks }, unanswered: "stop" as const },
		});
	const discard = verbOf("skill discard") as unknown as WriteVerb;
	for (const isDown of [false, true]) {
		let [run, task] = ["", ""];
		{
			await using runtime = await open();
			runtime.resume();
			({ id: task } = (await runtime.tasks.add({ title: "a", key: `a${isDown}`, starts: { skill: "ask" } })).task);
			await runtime.idle();
			run = runtime.restored().runs.at(-1)?.run ?? "";
		}
		await using runtime = await open();
		tasks.isDown = isDown;
		const seen = await discard.look(runtime, { run }, false);
		expect([seen, discard.shown(seen, say)]).toMatchObject([
			{ run, task },
			[`discard skill run ${run}`, `task ${task}, which has started it, is told`],
		]);
		const did = await discard.act(runtime, seen, "ada");
		discard.done.parse(JSON.parse(asJson(did)));
		expect(did).toEqual({ run, discarded: true, task, isTold: !isDown });
		expect(discard.lines(did, say, seen)[1]).toMatch(
			isDown ? /^task t2 is not told yet, .*resume$/ : /^task t1 is told$/,
		);
		tasks.isDown = false;
		expect(tasks.now(task)?.status).toBe(isDown ? "running" : "failed");
	}
	await rm(root, { recursive: true });
});
