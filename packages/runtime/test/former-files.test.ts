/** What older versions wrote beside the log is read, held to its hash, counted and collected; nothing is written there any more. */
import { hash } from "node:crypto";
import { mkdir, readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { PLAN_TOOL } from "@reyn/plan";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Runtime } from "../src/index.ts";
import { bytesReadBy } from "./bytes-read.ts";
import { formerPlaces, type Moved, moveAll } from "./former.ts";
import { exists, seal } from "./kept-files.ts";
import { gate, lastOf, makeProject, open, type Project, payingPlan, scripted, until } from "./project.ts";
import { echo, five, resumeToEnd, runToEnd, till } from "./script-runs.ts";

let project: Project;
beforeEach(async () => {
	project = await makeProject();
});
afterEach(() => project[Symbol.asyncDispose]());

const all = { keepDays: 0, keepCheckpoints: 1 };

/** Does its work in a state, which is then as an older version has left it. */
async function inFormer(work: (runtime: Runtime) => Promise<void>): Promise<readonly Moved[]> {
	const { runtime } = await open(project, { model: echo() });
	await work(runtime);
	const moved = formerPlaces(runtime);
	await runtime.close();
	await moveAll(project.state, moved);
	return moved;
}

const filesIn = async (place: string): Promise<readonly string[]> =>
	(await readdir(join(project.state, place), { recursive: true, withFileTypes: true }).catch(() => []))
		.filter((each) => each.isFile())
		.map(({ name }) => name);

test("a script run has its text, its arguments and its result, goes on with them, and writes nothing where they lie", async () => {
	let run = "";
	const moved = await inFormer(async (runtime) => {
		({ run } = await runToEnd(runtime, five(), { a: 1 }));
	});
	expect(moved).toHaveLength(3);
	const model = echo();
	const { runtime } = await open(project, { model });
	expect(await runtime.scripts.text(run)).toEqual(five());
	expect(await runtime.scripts.result(run)).toHaveLength(5);
	expect((await runtime.scripts.verify(run)).divergences).toEqual([]);
	const before = await filesIn("runs");
	expect(await resumeToEnd(runtime, run, { script: five({ 5: "another" }) })).toMatchObject({ status: "completed" });
	expect([model.asked.length, await filesIn("runs")]).toEqual([1, before]);
	await runtime.close();
});

test("a plan goes on with its steps", async () => {
	const held = gate();
	const paying = (isHeld: boolean) =>
		scripted(async (request) => {
			if (lastOf(request) === "plan it") return [{ name: PLAN_TOOL, args: payingPlan }];
			if (isHeld && lastOf(request).startsWith("Goal:")) await held.opened;
			return "done";
		});
	const scope = { agent: "bob", session: "main" };
	const first = await open(project, { model: paying(true), tools: [till()] });
	await first.runtime.prompt("plan it", scope);
	await until(() => first.events.some(({ type }) => type === "plan_step"));
	const moved = formerPlaces(first.runtime);
	await first.runtime.close();
	await moveAll(project.state, moved);
	expect(moved.map(({ to }) => to)).toEqual([expect.stringMatching(/^agents\/bob\/state\/plans\/p\d+\//)]);
	const { runtime, events } = await open(project, { model: paying(false), tools: [till()] });
	expect(await runtime.gc()).toMatchObject({ artifacts: { files: 0 } });
	runtime.resume();
	await runtime.idle();
	expect(events.find(({ type }) => type === "plan_end")).toMatchObject({ outcome: "completed", failed: [] });
	expect(await filesIn("state/plans")).toEqual([]);
	await runtime.close();
});

test("gc keeps what is named, counts what is not, and takes it away", async () => {
	const kept: string[] = [];
	const moved = await inFormer(async (runtime) => {
		await runtime.prompt("hello");
		await runtime.idle();
		const [turn] = runtime.timeline.checkpoints();
		await runToEnd(runtime, five(), { n: 1 });
		await runtime.checkout(turn?.seq ?? 0, "test");
		const { run } = await runToEnd(runtime, five({ 1: "another" }), { n: 2 });
		kept.push(`runs/${run}/`);
	});
	// The abandoned run is not in the list of those that there are.
	const abandoned = (await filesIn("state/scripts")).length;
	expect([moved.length, abandoned]).toEqual([3, 3]);
	await seal(project.state);
	const { runtime } = await open(project, { model: echo() });
	for (const text of ["one", "two"]) {
		await runtime.prompt(text);
		await runtime.idle();
	}
	const orphan = { from: `${kept[0]}result-${"ab".repeat(8)}.json`, text: '"lost"' };
	await writeFile(join(project.state, orphan.from), orphan.text);
	expect(await runtime.gc(all)).toMatchObject({ artifacts: { files: abandoned } });
	for (const { to } of moved) expect(await exists(join(project.state, to)), to).toBe(true);
	// What has changed under its name is nobody's that could say whether it may go.
	expect(await exists(join(project.state, orphan.from))).toBe(true);
	await runtime.checkout(0, "test");
	await runtime.close();

	await seal(project.state);
	const next = await open(project, { model: echo() });
	for (const text of ["three", "four"]) {
		await next.runtime.prompt(text);
		await next.runtime.idle();
	}
	const bytes = (await Promise.all(moved.map(({ to }) => readFile(join(project.state, to))))).reduce(
		(sum, each) => sum + each.length,
		0,
	);
	expect((await next.runtime.gc({ ...all, dryRun: true })).artifacts.files).toBeGreaterThanOrEqual(3);
	expect(await next.runtime.gc(all)).toMatchObject({ artifacts: { files: 3, bytes } });
	for (const { to } of moved) expect(await exists(join(project.state, to)), to).toBe(false);
	expect((await next.runtime.gc(all)).artifacts.files).toBe(0);
	await next.runtime.close();
});

test("what has changed, or is larger than what was written there, is not used", async () => {
	let run = "";
	const moved = await inFormer(async (runtime) => {
		({ run } = await runToEnd(runtime, five(), { a: 1 }));
	});
	const path = join(project.state, moved.find(({ to }) => to.includes("script-"))?.to ?? "");
	const text = await readFile(path);
	const { runtime } = await open(project, { model: echo() });
	const lost = { code: "RUNTIME_SCRIPT_LOST", message: expect.stringContaining("is gone") };
	await truncate(path, 8 * 1024 ** 3);
	await expect(runtime.scripts.text(run)).rejects.toMatchObject(lost);
	await writeFile(path, `${text} `);
	await expect(runtime.scripts.text(run)).rejects.toMatchObject(lost);
	await rm(path);
	await expect(runtime.scripts.text(run)).rejects.toMatchObject(lost);
	await writeFile(path, text);
	expect(await runtime.scripts.text(run)).toEqual(five());
	// Nor does what lies in today's place hide it.
	const sha256 = hash("sha256", text);
	const twin = join(project.state, "state/scripts", sha256.slice(0, 2), `${sha256}.blob`);
	await mkdir(dirname(twin), { recursive: true, mode: 0o700 });
	await writeFile(twin, "something else", { mode: 0o600 });
	expect(await runtime.scripts.text(run)).toEqual(five());
	await truncate(twin, 9 * 1024 ** 2);
	expect(await runtime.scripts.text(run)).toEqual(five());
	await runtime.close();
});

test("gigabytes of nothing under their names are not read: what is looked for has a size, and all together a limit", async () => {
	let run = "";
	const moved = await inFormer(async (runtime) => {
		({ run } = await runToEnd(runtime, five(), { a: 1 }));
	});
	const [, begins = ""] = /script-([0-9a-f]{16})/.exec(moved.map(({ to }) => to).join()) ?? [];
	for (let i = 10; i < 30; i++) {
		const path = join(project.state, `runs/r000000${i}/result-${begins}.json`);
		await mkdir(dirname(path), { mode: 0o700 });
		await writeFile(path, "", { mode: 0o600 });
		await truncate(path, 511 * 1024 ** 2);
	}
	const { runtime } = await open(project, { model: echo() });
	const tooLarge = {
		code: "WAL_TOO_LARGE",
		message: expect.stringContaining("expected at most 536870912"),
		detail: { path: join(project.state, "runs"), files: 23, bytes: expect.any(Number) },
	};
	const bytes = await bytesReadBy(async () => {
		expect(await runtime.scripts.text(run)).toEqual(five());
		await expect(runtime.gc({ ...all, dryRun: true })).rejects.toMatchObject(tooLarge);
	});
	expect(bytes).toBeLessThan(64 * 1024 ** 2);
	await runtime.close();
});
