/** Tasks that go back with the agent: what a restore takes with it, generations of yesterday, and kills at each step. */
import { cp, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterEach, beforeEach, expect, test } from "vitest";
import { startSource } from "../../../tests/kit/killable.ts";
import { some } from "../../../tests/sample.ts";
import type { RewindableTasks } from "../src/index.ts";
import { rewindableSqliteTasks, sqliteTasks } from "../src/sqlite/index.ts";
import { log } from "./log.ts";

let directory: string;
let open: RewindableTasks[];
beforeEach(async () => {
	directory = await mkdtemp(join(tmpdir(), "reyn-tasks-"));
	open = [];
});
afterEach(async () => {
	for (const tasks of open) await tasks.close();
	await rm(directory, { recursive: true, force: true });
});

async function opened(at = directory): Promise<RewindableTasks> {
	const tasks = await rewindableSqliteTasks({ path: join(at, "tasks.db"), directory: join(at, "generations"), log });
	open.push(tasks);
	return tasks;
}

const anywhere = (): boolean => true;
const titles = async (tasks: RewindableTasks): Promise<string> =>
	(await tasks.list()).map(({ title, status }) => `${title} ${status}`).join(", ");

test("nothing goes back by itself: only what was opened so says that it can", async () => {
	expect((await opened()).capabilities).toEqual({ transactions: true, supportsRewind: true });
	const own = sqliteTasks({ path: join(directory, "other.db") });
	expect([own.capabilities.supportsRewind, "restoreToSeq" in own]).toEqual([false, false]);
	await own.close();
});

test("a restore brings back tasks, statuses, links and comments, and takes what was written since with its keys", async () => {
	const tasks = await opened();
	const a = await tasks.create({ title: "a" }, "a");
	const b = await tasks.create({ title: "b", waitsFor: [a.id] }, "b");
	await tasks.setStatus(b.id, "ready", "b taken");
	await tasks.comment(b.id, "before", "said before");
	await tasks.capture(4);
	await tasks.setStatus(a.id, "done", "a done", "42");
	await tasks.comment(b.id, "after", "said after");
	const c = await tasks.create({ title: "c" }, "c");
	expect(await titles(tasks)).toBe("a done, b ready, c unassigned");

	expect(await tasks.restoreToSeq(7, anywhere)).toBe(4);
	expect(await titles(tasks)).toBe("a unassigned, b blocked");
	expect([(await tasks.comments(b.id)).map(({ text }) => text), await tasks.get(c.id)]).toEqual([
		["before"],
		undefined,
	]);
	const known = async (key: string): Promise<boolean> => (await tasks.written(key)) !== undefined;
	expect([await known("b taken"), await known("said before")]).toEqual([true, true]);
	// In doubt, they are said not to be made: and so they are made, as new ones.
	expect([await known("a done"), await known("said after"), await known("c")]).toEqual([false, false, false]);
	const again = await tasks.create({ title: "c again" }, "c");
	expect([again.title, again.id === c.id, again.id.split("-")[0]]).toEqual(["c again", false, c.id.split("-")[0]]);
	expect((await tasks.setStatus(a.id, "done", "a done", "43")).outcome).toBe("43");
	expect(await titles(tasks)).toBe("a done, b ready, c again unassigned");
});

test("a cursor from before a restore, or before it was opened anew, gives all tasks", async () => {
	const tasks = await opened();
	await tasks.create({ title: "a" }, "a");
	await tasks.capture(4);
	const { id } = await tasks.create({ title: "b" }, "b");
	const { cursor } = await tasks.changedSince();
	await tasks.restoreToSeq(4, anywhere);
	// As many changes as before, and others.
	await tasks.create({ title: "c" }, "c");
	const { tasks: all, cursor: next } = await tasks.changedSince(cursor);
	expect([all.map(({ title }) => title), all.some((task) => task.id === id)]).toEqual([["a", "c"], false]);
	expect((await tasks.changedSince(next)).tasks).toEqual([]);
	await tasks.close();
	expect((await (await opened()).changedSince(next)).tasks.length).toBe(2);
});

test("only a generation on the path counts, and those that are not kept go", async () => {
	const tasks = await opened();
	for (const seq of [2, 5, 8]) {
		await tasks.create({ title: `at ${seq}` }, `${seq}`);
		await tasks.capture(seq);
	}
	await expect(tasks.restoreToSeq(1, anywhere)).rejects.toMatchObject({ code: "SNAPSHOT_NO_GENERATION" });
	await expect(tasks.capture(10)).rejects.toMatchObject({ code: "SNAPSHOT_AHEAD" });
	expect((await tasks.list()).length).toBe(3);
	expect(await tasks.restoreToSeq(9, (seq) => seq < 8)).toBe(5);
	expect(await titles(tasks)).toBe("at 2 unassigned, at 5 unassigned");
	expect(await tasks.prune((seq) => seq === 8, { dryRun: true })).toEqual([5, 2]);
	expect(await tasks.prune((seq) => seq === 8)).toEqual([5, 2]);
	expect(await tasks.restoreToSeq(9, anywhere)).toBe(8);
	expect((await tasks.list()).length).toBe(3);
});

test("another connection holds a restore up, and the tasks are as they were", async () => {
	const tasks = await opened();
	await tasks.create({ title: "a" }, "a");
	await tasks.capture(4);
	await tasks.create({ title: "b" }, "b");
	const other = sqliteTasks({ path: join(directory, "tasks.db") });
	expect((await other.list()).length).toBe(2);
	await expect(tasks.restoreToSeq(4, anywhere)).rejects.toMatchObject({ code: "SNAPSHOT_DATABASE_BUSY" });
	await other.close();
	expect((await tasks.list()).length).toBe(2);
	expect(await tasks.restoreToSeq(4, anywhere)).toBe(4);
});

test("who only looks sees what there is and what is kept, writes nothing, and holds no restore up", async () => {
	const tasks = await opened();
	await tasks.create({ title: "a" }, "a");
	await tasks.capture(4);
	await tasks.create({ title: "b" }, "b");
	const generations = join(directory, "generations");
	await writeFile(join(generations, "of-a-capture-under-way.tmp"), "");
	const look = await rewindableSqliteTasks({
		...{ path: join(directory, "tasks.db"), directory: generations, log, readOnly: true },
	});
	expect([look.name, await titles(look)]).toEqual([tasks.name, "a unassigned, b unassigned"]);
	expect(await look.prune(() => false, { dryRun: true })).toEqual([4]);
	for (const write of [
		() => look.create({ title: "c" }, "c"),
		() => look.capture(5),
		() => look.restoreToSeq(4, anywhere),
		() => look.prune(() => false),
	])
		await expect(write()).rejects.toMatchObject({ code: "TASK_BACKEND_DOWN" });
	expect(await readdir(generations)).toContain("of-a-capture-under-way.tmp");
	expect(await tasks.restoreToSeq(4, anywhere)).toBe(4);
	expect(await titles(look)).toBe("a unassigned");
	const elsewhere = await rewindableSqliteTasks({
		...{ path: join(directory, "tasks.db"), directory: join(directory, "nowhere"), log, readOnly: true },
	});
	expect(await elsewhere.prune(() => false, { dryRun: true })).toEqual([]);
});

test("a generation with the columns of yesterday is brought up to date by the restore, and a second time changes nothing", async () => {
	await (await opened()).close();
	const path = join(directory, "tasks.db");
	const yesterday = new Database(path);
	yesterday.exec("ALTER TABLE reyn_task DROP COLUMN outcome");
	yesterday.exec(
		"INSERT INTO reyn_task (id, title, description, status, created, changed, change) VALUES ('t1', 'old', '', 'ready', 1, 1, 1)",
	);
	const { sqliteGenerations } = await import("@reyn/snapshot/sqlite");
	yesterday.close();
	const generations = sqliteGenerations({
		database: path,
		directory: join(directory, "generations"),
		log,
		migrate() {},
	});
	await generations.capture(4);
	generations.close();

	const tasks = await opened();
	await tasks.setStatus("t1", "done", "done", "of today");
	for (let n = 0; n < 2; n++) {
		expect(await tasks.restoreToSeq(9, anywhere)).toBe(4);
		expect(await tasks.get("t1")).toMatchObject({ title: "old", status: "ready" });
		expect((await tasks.setStatus("t1", "running", "begun", "half")).outcome).toBe("half");
	}
	const look = new Database(path, { readonly: true });
	const version = look.pragma("schema_version", { simple: true });
	look.close();
	await tasks.close();
	await (await opened()).close();
	const again = new Database(path, { readonly: true });
	expect(again.pragma("schema_version", { simple: true })).toBe(version);
	again.close();
});

test("what is not ours is refused before anything is made of it", async () => {
	const path = join(directory, "tasks.db");
	await writeFile(path, "a text of somebody");
	await expect(opened()).rejects.toMatchObject({ code: "TASK_FOREIGN" });
});

const fatal = [
	["restore", "restore copied"],
	["restore", "restore detached"],
	["restore", "restore cleared"],
	["restore", "restore replaced"],
	["restore", "restore reopened"],
	["capture", "capture copied"],
	["capture", "capture placed"],
	["capture", "capture sealed"],
] as const;

test.each(some(fatal, 3))(
	"killed in a %s after `%s`, the tasks are the old ones or the restored ones, whole",
	async (action, step) => {
		const tasks = await opened();
		const a = await tasks.create({ title: "a" }, "a");
		await tasks.capture(4);
		await tasks.setStatus(a.id, "done", "done", "42");
		await tasks.close();
		const copy = join(directory, "copy");
		await cp(join(directory, "tasks.db"), join(copy, "tasks.db"));
		await cp(join(directory, "generations"), join(copy, "generations"), { recursive: true });
		const { ended } = startSource(join(import.meta.dirname, "kill-at-step.ts"), [copy, action, step]);
		expect(await ended).toMatchObject({ signal: "SIGKILL" });

		const after = await opened(copy);
		const isRestored = /replaced|reopened/.test(step);
		expect(await titles(after)).toBe(isRestored ? "a unassigned" : "a done, late unassigned");
		expect((await after.written("done")) === undefined).toBe(isRestored);
		expect((await after.written("late")) === undefined).toBe(isRestored);
		// And the same again comes to its end.
		expect(await after.restoreToSeq(9, anywhere)).toBe(step === "capture sealed" ? 9 : 4);
		expect(await titles(after)).toBe(step === "capture sealed" ? "a done, late unassigned" : "a unassigned");
		const fresh = await after.create({ title: "new" }, "new");
		expect((await after.list()).filter(({ id }) => id === fresh.id).length).toBe(1);
	},
);
