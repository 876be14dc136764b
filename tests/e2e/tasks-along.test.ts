/** Tasks go along with moves of the command line where the configuration says so, each preview says it, and else nothing is said or moved. */
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
// Each in a process of its own: a process reads its configuration once.
import { type Place, run } from "../cli.ts";

let root: string;
let here: Place;
beforeEach(async () => {
	root = await mkdtemp(join(tmpdir(), "reyn-tasks-along-"));
	here = { cwd: join(root, "project"), state: join(root, "state"), trace: join(root, "calls.jsonl") };
	await mkdir(here.cwd);
	await writeFile(join(here.cwd, "foxes.md"), "A fox sleeps in a den by day.\n");
	process.env.REYN_REWIND_TASKS = "true";
});
afterEach(async () => {
	delete process.env.REYN_REWIND_TASKS;
	await rm(root, { recursive: true, force: true });
});

async function said(...args: readonly string[]): Promise<string> {
	const { code, stdout, stderr } = await run(here, args);
	expect([args, code], stderr).toEqual([args, 0]);
	return stdout;
}

const tasks = async (): Promise<readonly string[]> =>
	(await said("task", "list")).split("\n").flatMap((line) => line.match(/(?:one|two)/) ?? []);

test("moves take them along, and say so before and after", async () => {
	await said("task", "add", "one");
	const { tip: then } = JSON.parse(await said("--json", "rewind", "@", "--dry-run"));
	await said("task", "add", "two");
	const shown = await said("rewind", `${then}`, "--dry-run");
	expect(shown).toMatch(`tasks go back too, all of them, to what they were at #${then}: what anybody has written`);
	expect(shown).toMatch(new RegExp(`^tasks +as they are +as they were at #${then}$`, "m"));
	expect(shown).not.toContain("stay as they are now");
	const checkout = JSON.parse(await said("--json", "checkout", `${then}`, "--dry-run"));
	expect(checkout.tasks.to).toBeLessThanOrEqual(then);
	expect(await said("rewind", `${then}`, "--yes")).toContain(
		`tasks are what they were at #${then}; undo brings them forward`,
	);
	expect(await tasks()).toEqual(["one"]);
	const undone = await said("undo", "--yes");
	expect(undone).toMatch(/tasks are what they were at #\d+; redo brings them forward/);
	expect(await tasks()).toEqual(["one", "two"]);
	const again = await said("redo", "--dry-run");
	expect(again).toContain("tasks go back too, all of them, to what they were at #");
});

test("a move of a history without tasks makes none: nothing of them is written, and the first one begins with none", async () => {
	await said("run", "-p", "Where does a fox sleep?");
	const { tip: then } = JSON.parse(await said("--json", "rewind", "@", "--dry-run"));
	for (const move of [["rewind", "1"], ["undo"], ["redo"], ["undo"]]) {
		await said(...move, "--yes");
		expect(existsSync(join(here.state, "tasks"))).toBe(false);
	}
	await said("task", "add", "one");
	expect(await tasks()).toEqual(["one"]);
	await said("rewind", `${then}`, "--yes");
	expect(await tasks()).toEqual([]);
	await said("undo", "--yes");
	expect(await tasks()).toEqual(["one"]);
});

test("by themselves they stay, and what is said is that they do", async () => {
	process.env.REYN_REWIND_TASKS = "false";
	await said("task", "add", "one");
	const shown = await said("rewind", "0", "--dry-run");
	expect(shown).toMatch(/tasks \(t1\), which stay as they are now/);
	expect([shown.includes("go back too"), /^tasks /m.test(shown)]).toEqual([false, false]);
	const done = JSON.parse(await said("--json", "rewind", "0", "--yes"));
	expect([done.applied, "tasks" in done]).toEqual([true, false]);
	expect(await tasks()).toEqual(["one"]);
});
