/** Tasks that live elsewhere, bound to sessions here: a rewind takes the binding along, and never the task. */

import { setImmediate } from "node:timers/promises";
import { laneClosed } from "@reyn/journal";
import { defineSkill, done, type FoundSkills, next, type Skill, SkillError } from "@reyn/skill-resume";
import { type TaskBackend, taskBegun, taskReported, taskSeen, taskSubscribed } from "@reyn/tasks";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import type { Runtime, RuntimeEvent, RuntimeOptions } from "../src/index.ts";
import { copyState, everyCut } from "./cut.ts";
import { type MemoryTasks, memoryTasks } from "./memory-tasks.ts";
import { emptyArea, gate, lastOf, makeProject, open, type Project, scripted } from "./project.ts";

let project: Project;
let backend: MemoryTasks;
beforeEach(async () => {
	project = await makeProject();
	backend = memoryTasks();
});
afterEach(() => project[Symbol.asyncDispose]());

const main = { agent: "default", session: "main" };
const side = { agent: "default", session: "side" };

/** Calls a tool where it is asked to: `task_create {"title":"a"}`. */
const model = scripted((request) => {
	const [, name, args] = /^(task_\w+) (\{.*\})$/.exec(lastOf(request)) ?? [];
	return name && args ? [{ name, args: JSON.parse(args) }] : `echo ${lastOf(request)}`;
});

async function opened(at: Pick<Project, "state"> = project, options: Partial<RuntimeOptions> = {}) {
	const events: RuntimeEvent[] = [];
	const more = { model, tools: [], tasks: { backend }, onEvent: (event: RuntimeEvent) => void events.push(event) };
	const found = await open({ ...project, ...at }, { ...more, ...options });
	return { ...found, events };
}

const said = (runtime: Runtime, scope = main): readonly string[] =>
	runtime
		.conversation(scope)
		.items.toArray()
		.flatMap((item) => (item.type === "message" ? [item.text] : []));

const who = (runtime: Runtime) =>
	runtime.tasks
		.bindings()
		.map(
			({ task, role, holder, status }) => `${role} of ${task}: ${"session" in holder ? holder.session : ""} ${status}`,
		);

async function turn(runtime: Runtime, text: string, scope = main): Promise<void> {
	await runtime.prompt(text, scope);
	await runtime.idle();
}

test("who makes a task is told what comes of it, and who takes one has it", async () => {
	const { runtime } = await opened();
	await turn(runtime, 'task_create {"title":"Write it down"}');
	await turn(runtime, 'task_update {"id":"t1","take":true,"status":"running"}', side);
	expect(who(runtime)).toEqual(["requester of t1: main running", "assignee of t1: side running"]);
	await turn(runtime, 'task_update {"id":"t1","status":"done","outcome":"it is written"}', side);
	expect(backend.now("t1")).toMatchObject({ status: "done", outcome: "it is written" });
	expect(said(runtime, side)).toEqual([]);
	expect(said(runtime)).toEqual(
		["running", "done"].map((status) => `t1 "Write it down", which was asked for here, is ${status} now.`),
	);
	await runtime.close();
});

test("a rewind gives the binding back and leaves the task done, which is said", async () => {
	const { runtime } = await opened();
	await turn(runtime, 'task_create {"title":"Write it down","take":true}');
	const then = runtime.wal.tip;
	await turn(runtime, 'task_update {"id":"t1","status":"done"}');
	expect(who(runtime)).toEqual(["requester of t1: main done", "assignee of t1: main done"]);
	await runtime.checkout(then, "user");
	await runtime.idle();
	expect(backend.now("t1")?.status).toBe("done");
	expect(who(runtime)).toEqual(["requester of t1: main done", "assignee of t1: main done"]);
	expect(said(runtime)).toEqual(['t1 "Write it down" is yours again, and is done since.']);
	await runtime.close();
});

test("who closes behind a rewind, once it was looked, has said what it has changed: whoever only reads finds it", async () => {
	const { runtime } = await opened();
	await turn(runtime, 'task_create {"title":"Write it down","take":true}');
	const then = runtime.wal.tip;
	await turn(runtime, 'task_update {"id":"t1","status":"done"}');
	await runtime.checkout(then, "user");
	await runtime.tasks.looked();
	await runtime.close();
	const { runtime: reader } = await opened(project, { readOnly: true });
	expect(said(reader)).toEqual(['t1 "Write it down" is yours again, and is done since.']);
	await reader.close();
});

test("a rewind of the session that has it gives it back to whoever had it before", async () => {
	const { runtime } = await opened();
	await runtime.tasks.add({ title: "a", key: "a" });
	await runtime.tasks.assign("t1", main, "b");
	await turn(runtime, "hello", side);
	const then = runtime.wal.tip;
	await runtime.tasks.assign("t1", side, "c");
	await runtime.idle();
	expect(who(runtime).at(-1)).toBe("assignee of t1: side ready");
	await runtime.checkout(then, "user", side);
	await runtime.idle();
	expect(who(runtime).at(-1)).toBe("assignee of t1: main ready");
	expect(said(runtime)).toEqual(['t1 "a" is yours again; it is ready.']);
	await runtime.close();
});

test("what changed while nobody was here is said once at the next start, wherever that is killed", async () => {
	const first = await opened();
	await turn(first.runtime, 'task_create {"title":"a","take":true}');
	await first.runtime.close();
	backend.put("t1", { status: "done" });
	const second = await opened();
	await second.runtime.idle();
	expect(said(second.runtime)).toEqual(['t1 "a" is done now.']);
	await second.runtime.close();
	const begun = first.runtime.wal.tip;
	await everyCut(project, async (state, kinds) => {
		if (kinds.length < begun) return;
		await emptyArea(state, "snapshots");
		const again = await opened({ state });
		await again.runtime.idle();
		expect([kinds.length, said(again.runtime)]).toEqual([kinds.length, ['t1 "a" is done now.']]);
		expect(who(again.runtime)).toEqual(["requester of t1: main done", "assignee of t1: main done"]);
		await again.runtime.close();
	});
});

test("a task that is gone is bound to nobody any more", async () => {
	const { runtime, events } = await opened();
	await turn(runtime, 'task_create {"title":"a","take":true}');
	backend.remove("t1");
	await turn(runtime, "hello");
	expect(who(runtime)).toEqual([]);
	expect(said(runtime)).toEqual(['t1 "a" is not there any more; nothing is bound to it now.']);
	expect(events.filter(({ type }) => type === "task_changed")).toMatchObject([{ task: "t1", status: "gone" }]);
	await runtime.close();
});

test("a backend that is down is said once, other work goes on, and it is read when it is back", async () => {
	const { runtime, events } = await opened();
	await turn(runtime, 'task_create {"title":"a","take":true}');
	backend.isDown = true;
	await turn(runtime, "hello");
	await turn(runtime, "hello again");
	await turn(runtime, 'task_get {"id":"t1"}');
	expect(runtime.conversation().open).toEqual([]);
	expect(events.filter(({ type }) => type === "tasks_unread")).toMatchObject([
		{ backend: "memory", reason: "memory does not answer" },
	]);
	backend.isDown = false;
	backend.put("t1", { status: "failed" });
	await turn(runtime, "and now");
	expect(said(runtime)).toEqual(['t1 "a" is failed now.']);
	await runtime.close();
});

test("killed after any record, a task is made once, and bound", async () => {
	const { runtime } = await opened();
	await turn(runtime, 'task_create {"title":"a","take":true}');
	await runtime.close();
	const [, last = ""] = [...backend.writes.keys()];
	let cases = 0;
	await everyCut(project, async (cut, kinds) => {
		// From the start of the call on it may have been written; once it is bound it was.
		const isMade = kinds.includes(taskSubscribed.kind);
		for (const written of isMade ? [2] : kinds.includes("step_started") ? [0, 1, 2] : [0]) {
			backend = memoryTasks();
			if (written > 0) await backend.create({ title: "a" }, `${last}/1`);
			if (written > 1) await backend.setStatus("t1", "ready", last);
			const state = await copyState(cut, `${cut}-${written}`);
			await emptyArea(state, "snapshots");
			const again = await opened({ state });
			again.runtime.resume();
			await again.runtime.idle();
			if (!kinds.includes("user_prompt")) await turn(again.runtime, 'task_create {"title":"a","take":true}');
			const made = (await backend.list()).map(({ id }) => id);
			expect([kinds.length, written, made]).toEqual([kinds.length, written, ["t1"]]);
			expect(who(again.runtime)).toEqual(["requester of t1: main ready", "assignee of t1: main ready"]);
			await again.runtime.close();
			cases++;
		}
	});
	expect(cases).toBeGreaterThan(10);
});

test("what a task has started for it begins once it is ready, and its result is its comment, wherever it is killed", async () => {
	const { runtime } = await opened();
	runtime.resume();
	await runtime.tasks.add({ title: "first", key: "a" });
	await runtime.tasks.add({ title: "then", key: "b", waitsFor: ["t1"], starts: { prompt: "do it" } });
	await runtime.idle();
	expect(backend.now("t2")?.status).toBe("blocked");
	const before = runtime.wal.tip;
	await turn(runtime, 'task_update {"id":"t1","status":"done"}');
	expect(backend.now("t2")).toMatchObject({ status: "done", outcome: "echo do it" });
	expect((await backend.comments("t2")).map(({ text }) => text)).toEqual(["echo do it"]);
	await runtime.close();
	await everyCut(project, async (state, kinds) => {
		const begun = kinds.indexOf(taskBegun.kind) + 1;
		if (kinds.length < before || begun === 0) return;
		backend = memoryTasks();
		backend.put("t1", { status: "done" });
		backend.put("t2", { status: kinds.slice(begun).includes(taskSeen.kind) ? "running" : "ready" });
		await emptyArea(state, "snapshots");
		const again = await opened({ state });
		again.runtime.resume();
		await again.runtime.idle();
		expect((await backend.comments("t2")).map(({ text }) => text)).toEqual(
			["echo do it"].slice(kinds.includes(taskReported.kind) ? 1 : 0),
		);
		const prompts = again.runtime
			.conversation()
			.items.toArray()
			.filter((item) => item.type === "prompt" && item.text === "do it");
		expect([kinds.length, prompts.length]).toEqual([kinds.length, 1]);
		await again.runtime.close();
	});
});

test.each(["prompt", "skill"])(
	"what the work of a task makes by a %s is asked for by that task, follows a rewind, and is said where it is worked on, wherever it is killed",
	async (by) => {
		const make = 'task_create {"title":"then"}';
		const phases = { only: { instructions: make, tools: ["task_create"] } };
		const makes = defineSkill({
			...{ name: "makes", description: "Makes", input: z.unknown(), start: "only" },
			phases,
		});
		const asked = scripted((request) => {
			const isDone = request.messages.at(-1)?.role === "tool";
			const isAsked = JSON.stringify([request.system, request.messages]).includes("task_create {");
			return isAsked && !isDone ? [{ name: "task_create", args: { title: "then" } }] : "made";
		});
		const options = { model: asked, skills: [makes as Skill] };
		const { runtime } = await opened(project, options);
		runtime.resume();
		await turn(runtime, "hello", side);
		const { tip } = runtime.wal;
		const starts = by === "prompt" ? { prompt: make } : { skill: "makes" };
		await runtime.tasks.add({ title: "first", key: "a", requester: side, starts });
		await runtime.idle();
		const requester = (of: Runtime) =>
			of.tasks.bindings().find(({ task, role }) => task === "t2" && role === "requester");
		expect(requester(runtime)).toMatchObject({ holder: { task: "t1" }, scope: side });
		expect((await runtime.tasks.show("t2")).requester).toEqual({ task: "t1" });
		const made = runtime.wal.tip;
		await runtime.tasks.setStatus("t2", "done", "b");
		await runtime.idle();
		expect(said(runtime, side).at(-1)).toBe('t2 "then", which was asked for by t1, is done now.');
		await runtime.checkout(tip, "user");
		await runtime.idle();
		expect(requester(runtime)).toBeUndefined();
		await runtime.undo("user");
		await runtime.idle();
		expect(requester(runtime)).toMatchObject({ holder: { task: "t1" }, scope: side });
		await runtime.close();
		let cuts = 0;
		await everyCut(project, async (state, kinds) => {
			// Its write is in doubt, or was made.
			if (kinds.length > made || !kinds.includes("step_started")) return;
			await emptyArea(state, "snapshots");
			const again = await opened({ state }, options);
			again.runtime.resume();
			await again.runtime.idle();
			expect(requester(again.runtime), kinds.at(-1)).toMatchObject({ holder: { task: "t1" }, scope: side });
			await again.runtime.close();
			cuts++;
		});
		expect([cuts > 3, (await backend.list()).length]).toEqual([true, 2]);
	},
);

/** Three phases of no calls. */
const count = defineSkill({
	...{ name: "count", description: "Counts", input: z.unknown(), start: "one" },
	phases: {
		one: async () => next("two", 1),
		two: async (_context, _input, before) => next("three", Number(before) + 1),
		three: async (_context, _input, before) => done(Number(before) + 1),
	},
}) as Skill;

test("a task whose skill does not load waits, says so once, and holds up no other; mended, it is begun", async () => {
	const error = new SkillError("SKILL_UNTRUSTED", "nobody has said yet that count.ts may run", {});
	const found: { now: FoundSkills } = { now: { skills: [], problems: [{ name: "count", path: "/count.ts", error }] } };
	const { runtime, events } = await opened(project, { findSkills: async () => found.now });
	runtime.resume();
	await runtime.tasks.add({ title: "held up", key: "a", starts: { skill: "count" } });
	await runtime.tasks.add({ title: "not", key: "b", starts: { prompt: "do it" } });
	await runtime.idle();
	await turn(runtime, "hello");
	expect([backend.now("t1")?.status, backend.now("t2")?.status]).toEqual(["ready", "done"]);
	expect(events.flatMap((event) => (event.type === "task_waits" ? [event] : []))).toEqual([
		{ type: "task_waits", scope: main, task: "t1", reason: error.message },
	]);
	expect(events.filter(({ type }) => type === "tasks_unread")).toEqual([]);
	found.now = { skills: [count], problems: [] };
	await turn(runtime, "hello again");
	await runtime.idle();
	expect(backend.now("t1")).toMatchObject({ status: "done", outcome: "3" });
	await runtime.close();
});

test("one that was begun, and whose skill does not load in the next process, waits there and is done in the one after", async () => {
	const first = await opened(project, { skills: [count] });
	first.runtime.resume();
	await first.runtime.tasks.add({ title: "a", key: "a", starts: { skill: "count" } });
	await first.runtime.idle();
	await first.runtime.close();
	const error = new SkillError("SKILL_LOAD", "count.ts:3: Unexpected token", {});
	const problems = [{ name: "count", path: "/count.ts", error }];
	await everyCut(project, async (state, kinds) => {
		if (kinds.at(-1) !== taskBegun.kind) return;
		backend = memoryTasks();
		await backend.create({ title: "a" }, "a/1");
		await backend.setStatus("t1", "ready", "a");
		await emptyArea(state, "snapshots");
		const held = await opened({ state }, { findSkills: async () => ({ skills: [], problems }) });
		held.runtime.resume();
		await held.runtime.tasks.add({ title: "b", key: "b", starts: { prompt: "do it" } });
		await held.runtime.idle();
		expect([backend.now("t1")?.status, backend.now("t2")?.status]).toEqual(["running", "done"]);
		expect(held.events.filter(({ type }) => type === "task_waits")).toMatchObject([{ task: "t1" }]);
		await held.runtime.close();
		const again = await opened({ state }, { skills: [count] });
		again.runtime.resume();
		await again.runtime.idle();
		expect(backend.now("t1")).toMatchObject({ status: "done", outcome: "3" });
		await again.runtime.close();
	});
});

describe("a run that a task has started, and that goes on or ends by itself, nothing else with it", () => {
	const asks = defineSkill({
		...{ name: "asks", description: "Asks", input: z.unknown(), start: "one" },
		phases: { one: async ({ ask }) => done(await ask("who?")) },
	}) as Skill;
	const how = { skills: [asks], unanswered: "stop" as const };
	const comments = async () => (await backend.comments("t1")).map(({ text }) => text);

	/** A task of a session, whose skill waits for an answer in a process that is over; and another one, which is never begun there. */
	async function waiting(requester = main): Promise<{ run: string; question: number }> {
		const { runtime } = await opened(project, how);
		runtime.resume();
		await runtime.tasks.add({ title: "a", key: "a", starts: { skill: "asks" }, requester });
		await runtime.idle();
		const [{ seq: question = 0 } = {}] = runtime.questions();
		const [{ run = "" } = {}] = runtime.restored().runs;
		await runtime.close();
		const next = await opened(project, how);
		await next.runtime.tasks.add({ title: "b", key: "b", starts: { prompt: "never" } });
		await next.runtime.close();
		expect(backend.now("t1")?.status).toBe("running");
		return { run, question };
	}

	test.each([main, side])("is told to the task once it is answered, in $session", async (scope) => {
		const { question } = await waiting(scope);
		const { runtime } = await opened(project, how);
		await runtime.answer(question, "ada", "ada");
		await runtime.idle();
		expect([backend.now("t1"), await comments()]).toMatchObject([{ status: "done", outcome: "ada" }, ["ada"]]);
		expect([runtime.restored().turns, backend.now("t2")]).toMatchObject([[], { status: "ready" }]);
		await runtime.close();
	});

	test.each([main, side])("is told once it is resumed, in $session", async (scope) => {
		const { run } = await waiting(scope);
		const turns = async (): Promise<void> => {
			for (let turn = 0; turn < 50; turn++) await setImmediate();
		};
		const isResumed = gate();
		const one = async () => {
			await isResumed.opened;
			// The look that follows it is over long before the run is, and the one after it takes its time.
			await runtime.tasks.looked();
			await turns();
			return done("by itself");
		};
		const slow: TaskBackend = { ...backend, comment: (...given) => turns().then(() => backend.comment(...given)) };
		const more = { skills: [{ ...asks, phases: { one } }], tasks: { backend: slow } };
		const { runtime } = await opened(project, more);
		await runtime.resumeSkillRun(run);
		isResumed.open();
		await runtime.idle();
		expect([backend.now("t1"), await comments()]).toMatchObject([{ status: "done" }, ["by itself"]]);
		expect(backend.now("t2")).toMatchObject({ status: "ready" });
		await runtime.close();
	});

	test("is told that it was discarded, wherever that is killed", async () => {
		const { run } = await waiting();
		const { runtime } = await opened(project, how);
		await runtime.discardSkillRun(run);
		await runtime.tasks.looked();
		const told = ["discarded by the user"];
		expect([backend.now("t1")?.status, await comments()]).toEqual(["failed", told]);
		await runtime.close();
		let cases = 0;
		await everyCut(project, async (state, kinds) => {
			const isDiscarded = kinds.includes("skill_run_discarded");
			if (!isDiscarded) return;
			cases++;
			for (const isWritten of kinds.includes(taskReported.kind) ? [true] : [false, true]) {
				if (!isWritten) {
					backend = memoryTasks();
					backend.put("t1", { status: "running" });
				}
				const at = await copyState(state, `${state}-${isWritten}`);
				await emptyArea(at, "snapshots");
				const again = await opened({ state: at }, how);
				again.runtime.resume();
				await again.runtime.idle();
				expect([kinds.length, backend.now("t1")?.status, await comments()]).toEqual([kinds.length, "failed", told]);
				await again.runtime.close();
			}
		});
		expect(cases).toBeGreaterThan(2);
	});

	test("does not wait for a backend that is down: that is said, and the next start that goes on tells it", async () => {
		const { run } = await waiting();
		backend.isDown = true;
		const { runtime, events } = await opened(project, how);
		await runtime.discardSkillRun(run);
		await runtime.tasks.looked();
		await runtime.idle();
		expect(events.filter(({ type }) => type === "tasks_unread")).toHaveLength(1);
		expect(runtime.tasks.pending().map(({ task }) => task)).toEqual(["t1", "t2"]);
		await runtime.close();
		backend.isDown = false;
		const next = await opened(project, how);
		next.runtime.resume();
		await next.runtime.idle();
		expect([backend.now("t1")?.status, await comments()]).toEqual(["failed", ["discarded by the user"]]);
		await next.runtime.close();
	});
});

test("where a backend begins anew, a task of the same id is another one: it is bound to nobody, and starts nothing", async () => {
	const first = await opened(project, { skills: [count] });
	await first.runtime.tasks.add({ title: "old work", key: "a", starts: { skill: "count" } });
	await first.runtime.close();
	backend = memoryTasks(1);
	// It is not there yet when it is looked.
	backend.isDown = true;
	const { runtime } = await opened(project, { skills: [count] });
	runtime.resume();
	await runtime.idle();
	backend.isDown = false;
	const milk = await runtime.tasks.add({ title: "buy milk", key: "b" });
	expect(milk).toMatchObject({ task: { id: "t1", title: "buy milk" }, requester: main });
	expect([milk.assignee, milk.starts]).toEqual([undefined, undefined]);
	await runtime.tasks.assign("t1", side, "c");
	await runtime.idle();
	expect(who(runtime)).toEqual(["requester of t1: main ready", "assignee of t1: side ready"]);
	expect([backend.now("t1")?.status, await backend.comments("t1")]).toEqual(["ready", []]);
	await runtime.close();
});

test("rewound into what a task has started, the task is known as it is, and that is said once", async () => {
	const { runtime } = await opened(project, { skills: [count] });
	runtime.resume();
	await runtime.tasks.add({ title: "a", key: "a", starts: { skill: "count" } });
	await runtime.idle();
	let into = 0;
	for await (const { kind, seq } of runtime.wal.read()) if (kind === "skill_run_started") into = seq;
	await runtime.checkout(into, "ada");
	for (let times = 0; times < 3; times++) {
		await runtime.idle();
		await turn(runtime, "hello");
	}
	const seen: string[] = [];
	for await (const record of runtime.wal.read({ after: into }))
		if (taskSeen.is(record) && record.seq > into) seen.push(record.data.status);
	expect(seen.filter((status) => status === "running")).toHaveLength(0);
	expect(said(runtime).filter((text) => text.startsWith('t1 "a"'))).toHaveLength(1);
	expect(who(runtime)).toContain("assignee of t1: main done");
	await runtime.close();
});

/** Asks a person what comes of it. */
const review = defineSkill({
	...{ name: "review", description: "Asks", input: z.unknown(), start: "ask" },
	phases: { ask: async (context) => done(await context.ask("Which?")) },
}) as Skill;

/** Once what goes on has ended, it is looked. */
async function looked(runtime: Runtime): Promise<void> {
	await runtime.idle();
	runtime.resume();
	await runtime.idle();
}

/** Goes on with what is paused, and says what comes of it. */
async function answered(runtime: Runtime, text: string, paused?: string): Promise<void> {
	if (paused) await runtime.resumeSkillRun(paused);
	await runtime.idle();
	for (const { seq } of runtime.questions()) await runtime.answer(seq, text, "ada");
	await looked(runtime);
}

/** It is not looked again by time, while a run waits for somebody. */
const asking = (): Partial<RuntimeOptions> => ({
	...{ skills: [review], unanswered: "stop" },
	tasks: { backend, lookMs: 600_000 },
});

/** A task whose run is given up. */
async function givenUp() {
	const found = await opened(project, asking());
	const { runtime } = found;
	runtime.resume();
	await runtime.tasks.add({ title: "a", key: "a", starts: { skill: "review" } });
	await runtime.idle();
	const [{ begun } = {}] = runtime.tasks.bindings().filter(({ role }) => role === "assignee");
	const begin = runtime.wal.tip;
	await runtime.discardSkillRun(begun?.work ?? "");
	await looked(runtime);
	return { ...found, begin, work: begun?.work ?? "" };
}

const commentsOf = async (id: string): Promise<readonly string[]> =>
	(await backend.comments(id)).map(({ text }) => text);

test("a run that was given up, and is taken up again by an undo, a rewind or a redo, is told of at each of its ends", async () => {
	const { runtime, work, begin } = await givenUp();
	const discarded = "discarded by the user";
	expect([backend.now("t1"), await commentsOf("t1")]).toMatchObject([
		{ status: "failed", outcome: discarded },
		[discarded],
	]);
	// It is at work again, and nothing is told until it has ended.
	await runtime.undo("ada");
	await looked(runtime);
	expect([backend.now("t1")?.status, runtime.tasks.pending()]).toMatchObject(["failed", [{ task: "t1" }]]);
	await runtime.discardSkillRun(work);
	await looked(runtime);
	expect([backend.now("t1")?.status, await commentsOf("t1")]).toEqual(["failed", [discarded, discarded]]);
	await runtime.undo("ada");
	await runtime.idle();
	await answered(runtime, "this one", work);
	const done = { status: "done", outcome: "this one" };
	expect([backend.now("t1"), await commentsOf("t1")]).toMatchObject([done, [discarded, discarded, "this one"]]);
	expect(runtime.tasks.pending()).toEqual([]);
	// Back to where it was at work, whole: that it was told of is not on this line. It ends again.
	await runtime.checkout(begin, "ada");
	await runtime.idle();
	await answered(runtime, "this one", work);
	const told = [discarded, discarded, "this one", "this one"];
	expect([backend.now("t1"), await commentsOf("t1")]).toMatchObject([done, told]);
	// What is done stays so, whatever becomes of it on another line; and nothing is told twice.
	await runtime.checkout(begin, "ada");
	await runtime.idle();
	await runtime.discardSkillRun(work);
	await looked(runtime);
	for (const step of ["undo", "undo", "redo", "redo"] as const) {
		await runtime[step]("ada");
		await looked(runtime);
	}
	expect([backend.now("t1"), await commentsOf("t1")]).toMatchObject([done, told]);
	await runtime.close();
});

test("what somebody else has said of a task stays, though the work ends again", async () => {
	const { runtime, work } = await givenUp();
	await runtime.undo("ada");
	await runtime.idle();
	backend.put("t1", { status: "aborted", outcome: "not wanted" });
	await answered(runtime, "this one", work);
	expect([backend.now("t1"), await commentsOf("t1")]).toMatchObject([
		{ status: "aborted", outcome: "not wanted" },
		["discarded by the user", "this one"],
	]);
	await runtime.tasks.add({ title: "b", key: "b", starts: { skill: "review" } });
	await runtime.idle();
	backend.put("t2", { status: "failed", outcome: "too late" });
	await answered(runtime, "that one");
	expect(backend.now("t2")).toMatchObject({ status: "failed", outcome: "too late" });
	await runtime.close();
});

test("killed after any record of a second end, it is told once", async () => {
	const first = await givenUp();
	await first.runtime.undo("ada");
	await first.runtime.idle();
	const begun = first.runtime.wal.tip;
	const before = backend.saved();
	await answered(first.runtime, "this one", first.work);
	await first.runtime.close();
	const writes = [...backend.writes].slice(-3);
	expect(writes.map(([, write]) => ("task" in write ? write.task.status : write.comment.text))).toEqual([
		...["this one", "ready", "done"],
	]);
	let cases = 0;
	await everyCut(project, async (cut, kinds) => {
		if (kinds.length < begun) return;
		const reported = kinds.lastIndexOf(taskReported.kind) + 1 > begun;
		// Of what is written after a record, any may be there.
		for (const made of reported ? [3] : kinds.includes("skill_run_completed") ? [0, 1, 2, 3] : [0]) {
			before();
			const [[said] = [""], [again] = [""], [over] = [""]] = writes;
			if (made > 0) await backend.comment("t1", "this one", said);
			if (made > 1) await backend.setStatus("t1", "ready", again);
			if (made > 2) await backend.setStatus("t1", "done", over, "this one");
			const state = await copyState(cut, `${cut}-${made}`);
			await emptyArea(state, "snapshots");
			const { runtime } = await opened({ state }, asking());
			runtime.resume();
			await runtime.idle();
			const isPaused = runtime.inFlight().length > 0 && !kinds.slice(begun).includes("skill_run_resumed");
			if (runtime.questions().length > 0) await answered(runtime, "this one", isPaused ? first.work : undefined);
			await looked(runtime);
			expect([kinds.length, made, backend.now("t1"), await commentsOf("t1")]).toMatchObject([
				...[kinds.length, made, { status: "done", outcome: "this one" }],
				["discarded by the user", "this one"],
			]);
			await runtime.close();
			cases++;
		}
	});
	expect(cases).toBeGreaterThan(4);
});

test("what an older version has told by the start of the work is not told again; the next end is", async () => {
	const first = await givenUp();
	const [{ begun } = {}] = first.runtime.tasks.bindings().filter(({ role }) => role === "assignee");
	await first.runtime.close();
	let cases = 0;
	await everyCut(project, async (state, kinds) => {
		if (kinds.at(-1) !== laneClosed.kind) return;
		backend = memoryTasks();
		await backend.create({ title: "a" }, "a/1");
		await backend.setStatus("t1", "ready", "a");
		const key = `${first.runtime.wal.id}:${begun?.seq}`;
		await backend.comment("t1", "discarded by the user", `${key}/came`);
		await backend.setStatus("t1", "failed", `${key}/over`, "discarded by the user");
		await emptyArea(state, "snapshots");
		const { runtime } = await opened({ state }, asking());
		await looked(runtime);
		expect(await commentsOf("t1")).toEqual(["discarded by the user"]);
		await runtime.undo("ada");
		await answered(runtime, "this one", first.work);
		expect([backend.now("t1")?.status, await commentsOf("t1")]).toEqual([
			"done",
			["discarded by the user", "this one"],
		]);
		await runtime.close();
		cases++;
	});
	expect(cases).toBe(1);
});

test("without a backend no tools are offered, and who asks for tasks is told so", async () => {
	const seen: string[][] = [];
	const looking = scripted((request) => {
		seen.push((request.tools ?? []).map(({ name }) => name));
		return "ok";
	});
	const { runtime } = await open(project, { model: looking, tools: [] });
	await turn(runtime, "hello");
	expect(seen.flat().filter((name) => name.startsWith("task_"))).toEqual([]);
	await expect(runtime.tasks.list()).rejects.toMatchObject({ code: "RUNTIME_NO_TASKS" });
	await runtime.close();
});
