/** Tasks that are the agent's own, and go back with a move where that was asked for. */
import { cpSync } from "node:fs";
import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { rewindableSqliteTasks, sqliteTasks } from "@reyn/tasks/sqlite";
import { mortalEngine } from "@reyn/wal/testing";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { engineStore, type OpenTasks, type Runtime, type RuntimeOptions } from "../src/index.ts";
import { cutAfter, linesOf, removeState } from "./cut.ts";
import { memoryTasks } from "./memory-tasks.ts";
import { lastOf, makeProject, open, type Project, scripted } from "./project.ts";

let project: Project;
beforeEach(async () => {
	project = await makeProject();
});
afterEach(() => project[Symbol.asyncDispose]());

const main = { agent: "default", session: "main" };

/** Calls a tool where it is asked to: `task_create {"title":"a"}`. */
const model = scripted((request) => {
	const [, name, args] = /^(task_\w+) (\{.*\})$/.exec(lastOf(request)) ?? [];
	return name && args ? [{ name, args: JSON.parse(args) }] : `echo ${lastOf(request)}`;
});

type Steps = Pick<Parameters<typeof rewindableSqliteTasks>[0], "onStep">;

const ownTasks =
	(at: string, steps: Steps = {}): OpenTasks =>
	(over) =>
		rewindableSqliteTasks({ path: join(at, "tasks.db"), directory: join(at, "generations"), ...over, ...steps });

const own = (steps: Steps = {}, at = join(project.root, "own")): Partial<RuntimeOptions> => ({
	tasks: { backend: ownTasks(at, steps), rewind: true },
});

async function opened(options: Partial<RuntimeOptions> = own(), state = project.state): Promise<Runtime> {
	return (await open({ ...project, state }, { model, tools: [], ...options })).runtime;
}

async function turn(runtime: Runtime, text: string, scope = main): Promise<number> {
	await runtime.prompt(text, scope);
	await runtime.idle();
	return runtime.wal.tip;
}

/** All that is of tasks, in words. */
async function all(runtime: Runtime): Promise<string> {
	const found = await runtime.tasks.list();
	const told = found.map(async ({ task: { id, title, status, outcome } }) => {
		const { comments } = await runtime.tasks.show(id);
		return `${title} ${status}${outcome === undefined ? "" : ` ${outcome}`}${comments.map(({ text }) => ` "${text}"`).join("")}`;
	});
	return (await Promise.all(told)).join(", ");
}

const idOf = async (runtime: Runtime, title: string): Promise<string> =>
	(await runtime.tasks.list()).find(({ task }) => task.title === title)?.task.id ?? "";

test("a rewind takes them back to what they were at its target, and undo and redo bring all of it again", async () => {
	const runtime = await opened();
	const none = await turn(runtime, "hello");
	const made = await turn(runtime, 'task_create {"title":"a","take":true}');
	const id = await idOf(runtime, "a");
	await turn(runtime, `task_comment {"id":"${id}","text":"half of it"}`);
	const done = await turn(runtime, `task_update {"id":"${id}","status":"done","outcome":"42"}`);
	expect(await all(runtime)).toBe('a done 42 "half of it"');

	expect(await runtime.checkout(made, "user")).toMatchObject({ tasks: {} });
	expect(await all(runtime)).toBe("a ready");
	await runtime.undo("user");
	expect(await all(runtime)).toBe('a done 42 "half of it"');
	await runtime.redo("user");
	expect(await all(runtime)).toBe("a ready");
	await runtime.checkout(none, "user");
	expect(await all(runtime)).toBe("");
	await turn(runtime, 'task_create {"title":"b"}');
	await runtime.checkout(done, "user");
	expect(await all(runtime)).toBe('a done 42 "half of it"');
	await runtime.undo("user");
	expect(await all(runtime)).toBe("b unassigned");
	await runtime.close();
});

describe("tasks stay as they are", () => {
	const noted = async (runtime: Runtime): Promise<readonly [target: number, now: string]> => {
		const target = await turn(runtime, "hello");
		await turn(runtime, 'task_create {"title":"a","take":true}');
		return [target, await all(runtime)];
	};

	test("where nobody has asked for it, also in a backend that could, and in the undo of a move that took them along", async () => {
		const backend = ownTasks(join(project.root, "own"));
		const without = await opened({ tasks: { backend } });
		const [target, now] = await noted(without);
		expect(await without.checkout(target, "user")).not.toHaveProperty("tasks");
		await without.idle();
		expect([await all(without), await without.previewTasks(target)]).toEqual([now, undefined]);
		await without.close();

		const runtime = await opened();
		await turn(runtime, 'task_create {"title":"b"}');
		await runtime.checkout(target, "user");
		await runtime.close();
		const again = await opened({ tasks: { backend } });
		const left = await all(again);
		const { of } = await again.undo("user");
		expect([await again.previewTasksOf(of), await all(again)]).toEqual([undefined, left]);
		await again.close();
	});

	test("with a part of history, with its talk alone, and with a note", async () => {
		const runtime = await opened();
		const [target, now] = await noted(runtime);
		expect(await runtime.previewTasks(target)).toEqual({ to: expect.any(Number) });
		for (const mode of ["conversation_only", "summarize"] as const) {
			expect(await runtime.previewTasks(target, {}, mode)).toBeUndefined();
			await runtime.applyRewind(await runtime.previewRewind(target, mode), "user");
		}
		expect(await runtime.previewTasks(target, main)).toBeUndefined();
		await runtime.checkout(target, "user", main);
		await runtime.endWork("user");
		expect(await all(runtime)).toBe(now);
		await runtime.close();
	});

	test("in a system that is the master of its tasks: that is refused before anything is opened", async () => {
		const elsewhere = memoryTasks();
		await expect(opened({ tasks: { backend: elsewhere, rewind: true } })).rejects.toMatchObject({
			code: "RUNTIME_TASKS",
			message: expect.stringContaining("memory cannot"),
		});
		await expect(opened({ tasks: { backend: () => elsewhere, rewind: true } })).rejects.toMatchObject({
			code: "RUNTIME_TASKS",
		});
	});
});

describe("a process that dies in a move", () => {
	/** The places of a move: each is a copy of what was there at a step of it. */
	async function story() {
		const copies: string[] = [];
		const at = join(project.root, "own");
		let isMoving = false;
		const onStep = (step: string): void => {
			if (!isMoving) return;
			const copy = join(project.root, `own-${copies.length}-${step.replace(" ", "-")}`);
			cpSync(at, copy, { recursive: true });
			copies.push(copy);
		};
		const runtime = await opened(own({ onStep: onStep as never }));
		const target = await turn(runtime, 'task_create {"title":"a","take":true}');
		const then = await all(runtime);
		await turn(runtime, `task_update {"id":"${await idOf(runtime, "a")}","status":"done"}`);
		await turn(runtime, 'task_create {"title":"b"}');
		const now = await all(runtime);
		isMoving = true;
		const { seq } = await runtime.checkout(target, "user");
		isMoving = false;
		await runtime.close();
		return { copies, at, seq, target, then, now, end: (await linesOf(project.state)).length - 1 };
	}

	test("behind its record at any step of the restore, and any record: the next start finishes it once, and undo is exact", async () => {
		const { copies, at, seq, then, now, end } = await story();
		expect(copies.map((each) => each.split("own-")[1])).toEqual([
			...["0-restore-copied", "1-restore-detached", "2-restore-cleared", "3-restore-replaced"],
			...["4-restore-reopened", "5-capture-copied", "6-capture-placed", "7-capture-sealed"],
		]);
		const places = [
			...copies.map((copy) => [copy, seq] as const),
			...records(seq, end).map((cut) => [at, cut] as const),
		];
		for (const [n, [from, cut]] of places.entries()) {
			const copy = join(project.root, `life-${n}`);
			cpSync(from, copy, { recursive: true });
			const state = await cutAfter(project, cut);
			const steps: string[] = [];
			const runtime = await opened(own({ onStep: (step) => void steps.push(step) }, copy), state);
			expect([from, await all(runtime)]).toEqual([from, then]);
			// What was finished is not begun again, and nothing of it is made twice.
			expect(steps.includes("restore replaced")).toBe(!/7-capture-sealed|own$/.test(from));
			await turn(runtime, 'task_create {"title":"c"}');
			await runtime.close();
			const again = await opened(own({}, copy), state);
			expect(await all(again)).toBe(`${then}, c unassigned`);
			await again.undo("user");
			expect([from, await all(again)]).toEqual([from, now]);
			await again.close();
			await removeState(state);
		}
	});

	test("before its record, leaves them as they are", async () => {
		const { copies, seq, now } = await story();
		const state = await cutAfter(project, seq - 1);
		const runtime = await opened(own({}, copies[0]), state);
		expect(await all(runtime)).toBe(now);
		await runtime.close();
	});

	test("is not finished without those tasks, and the state says so", async () => {
		const { copies, seq, then } = await story();
		const state = await cutAfter(project, seq);
		for (const tasks of [undefined, { backend: ownTasks(copies[0] as string) }])
			await expect(opened(tasks ? { tasks } : {}, state)).rejects.toMatchObject({
				code: "RUNTIME_TASKS",
				detail: { move: seq },
			});
		const runtime = await opened(own({}, copies[0]), state);
		expect(await all(runtime)).toBe(then);
		await runtime.close();
	});
});

test("who only reads sees where they would go back to, beside the process that takes them there", async () => {
	const runtime = await opened();
	const none = await turn(runtime, "hello");
	const made = await turn(runtime, 'task_create {"title":"a"}');
	await turn(runtime, 'task_create {"title":"b"}');
	const reader = await opened({ ...own(), readOnly: true });
	for (const seq of [none, made, runtime.wal.tip])
		expect(await reader.previewTasks(seq)).toEqual(await runtime.previewTasks(seq));
	expect((await reader.previewTasks(made))?.to).toBeLessThanOrEqual(made);
	expect((await reader.tasks.list()).length).toBe(2);
	const { seq } = await runtime.checkout(made, "user");
	await reader.refresh();
	expect((await reader.previewTasksOf(seq))?.to).toBeLessThan(seq);
	expect(await all(reader)).toBe("a unassigned");
	await reader.close();
	await runtime.close();
});

test("gc removes what is kept of records that are gone, and keeps what there is", async () => {
	// It takes records away one by one, and not in whole segments.
	const store = engineStore(mortalEngine());
	const { runtime } = await open(project, { model, tools: [], ...own() }, store);
	for (const title of ["a", "b", "c"]) await turn(runtime, `task_create {"title":"${title}"}`);
	const then = await all(runtime);
	const kept = async (): Promise<readonly number[]> =>
		(await readdir(join(project.root, "own/generations")))
			.filter((name) => name.endsWith(".db"))
			.map((name) => Number(name.slice(0, 20)));
	const before = await kept();
	await runtime.gc({ keepCheckpoints: 1, keepDays: 0 });
	const { first, tip } = runtime.wal;
	expect([before.length > 1, Math.max(...before) < first, await kept()]).toEqual([true, true, [tip]]);
	await turn(runtime, 'task_create {"title":"d"}');
	const now = await all(runtime);
	await runtime.checkout(tip, "user");
	expect(await all(runtime)).toBe(then);
	await runtime.undo("user");
	expect(await all(runtime)).toBe(now);
	await runtime.close();
});

test("a restore that is held up goes on before anything is written, and once", async () => {
	const runtime = await opened();
	const target = await turn(runtime, "hello");
	await turn(runtime, 'task_create {"title":"a"}');
	const other = sqliteTasks({ path: join(project.root, "own/tasks.db") });
	await other.list();
	const heldUp = { code: "RUNTIME_TASKS", cause: { code: "SNAPSHOT_DATABASE_BUSY" } };
	await expect(runtime.checkout(target, "user")).rejects.toMatchObject(heldUp);
	await expect(runtime.tasks.add({ title: "b", key: "b" })).rejects.toMatchObject(heldUp);
	await other.close();
	await runtime.tasks.add({ title: "b", key: "b" });
	expect(await all(runtime)).toBe("b unassigned");
	await runtime.close();
	const again = await opened();
	expect(await all(again)).toBe("b unassigned");
	await again.close();
});

const records = (from: number, to: number): readonly number[] =>
	Array.from({ length: to - from + 1 }, (_, at) => from + at);

test("where somebody has removed what was kept they stay, which the move says, and the state opens", async () => {
	const runtime = await opened();
	const target = await turn(runtime, 'task_create {"title":"a"}');
	await turn(runtime, 'task_create {"title":"b"}');
	const now = await all(runtime);
	await rm(join(project.root, "own/generations"), { recursive: true });
	await mkdir(join(project.root, "own/generations"));
	expect((await runtime.checkout(target, "user")).tasks).toEqual({});
	expect(await all(runtime)).toBe(now);
	await runtime.close();
	const again = await opened();
	expect(await all(again)).toBe(now);
	await again.close();
});
