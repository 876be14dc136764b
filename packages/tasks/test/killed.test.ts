/** Real kills of two processes that write tasks to one place. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { startSource } from "../../../tests/kit/killable.ts";
import { SEED, seeded } from "../../../tests/kit/seeded.ts";
import { histories } from "../../../tests/sample.ts";
import type { TaskBackend } from "../src/index.ts";
import { sqliteTasks } from "../src/sqlite/index.ts";
import { directoryTasks } from "./directory-tasks.ts";

let directory: string;
beforeEach(async () => {
	directory = await mkdtemp(join(tmpdir(), "reyn-tasks-"));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

test.each([
	["sqlite", (path: string) => sqliteTasks({ path })],
	["directory", (path: string) => directoryTasks(path)],
] as const)(
	"%s, killed at any moment, knows a key if and only if its write was made, and two processes make each once",
	async (kind, open) => {
		const path = join(directory, "tasks");
		const random = seeded(SEED);
		const acknowledged: string[] = [];
		// In the first round both make the place at the same moment.
		for (let round = 0; round < histories(1, 3).numRuns; round++) {
			const writers = ["a", "b"].map((me) =>
				startSource(join(import.meta.dirname, "write-until-killed.ts"), [path, `${me}${round}`, kind]),
			);
			for (const { line } of writers) await line((said) => said.includes(` status ${random.below(6)}`));
			for (const { kill } of writers) await kill();
			const tasks = open(path);
			for (const { lines } of writers) acknowledged.push(...lines);
			await assertWhole(tasks, acknowledged);
			await tasks.close();
		}
		expect(acknowledged.length).toBeGreaterThan(5);
	},
);

/** Each acknowledged write is there, each task and comment is of a key, and each change of a status is as the keys tell. */
async function assertWhole(tasks: TaskBackend, acknowledged: readonly string[]): Promise<void> {
	for (const key of acknowledged) expect([key, await tasks.written(key)]).not.toEqual([key, undefined]);
	const list = await tasks.list({ limit: 100_000 });
	expect(new Set(list.map(({ title }) => title)).size).toBe(list.length);
	for (const task of list) {
		const [who = "", n] = task.title.split(" ");
		expect(await tasks.written(`${who} create ${n}`)).toMatchObject({ task: { id: task.id } });
		if (who === "shared") continue;
		const known = async (what: string): Promise<boolean> => (await tasks.written(`${who} ${what} ${n}`)) !== undefined;
		expect([task.title, task.status]).toEqual([task.title, (await known("done")) ? "done" : "unassigned"]);
		expect((await tasks.comments(task.id)).length).toBe((await known("comment")) ? 1 : 0);
	}
	const titles = new Map(list.map(({ id, title }) => [id, title]));
	for (const { title, status, waitsFor, outcome } of list) {
		const [who, n] = title.split(" ");
		if (who !== "shared") continue;
		const by = titles.get(waitsFor[0] ?? "")?.split(" ")[0];
		const isDone = (await tasks.written(`${by} done ${n}`)) !== undefined;
		expect([title, status]).toEqual([title, outcome === undefined ? "unassigned" : isDone ? "ready" : "blocked"]);
	}
}
