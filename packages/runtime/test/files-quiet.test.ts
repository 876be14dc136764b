/** While files go back nobody writes any: all work stops for it, and what the move does not cover goes on after it, made or refused. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileVersion, type WorkFiles } from "@reyn/journal";
import { PLAN_TOOL } from "@reyn/plan";
import { createFileTools, createWorkFiles } from "@reyn/tools";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Runtime } from "../src/index.ts";
import { lastOf, makeProject, open, type Project, scripted, until } from "./project.ts";

let project: Project;
beforeEach(async () => {
	project = await makeProject();
	await writeFile(at("a.txt"), "one\n");
});
afterEach(() => project[Symbol.asyncDispose]());

const at = (path: string): string => join(project.cwd, path);
const text = (path: string): Promise<string> => readFile(at(path), "utf8");

/** A plan whose first step writes `log.txt` again and again, for as long as it may, and then is over. */
const writing = {
	goal: "write",
	steps: [
		{ id: "a", description: "write on", tools: ["write"], depends_on: [] },
		{ id: "b", description: "say so", tools: [], depends_on: ["a"] },
	],
};

/** A runtime in which such a plan is under way, and a turn before it has changed `a.txt`. */
async function working(whilePutting: () => Promise<void> = async () => {}) {
	let [writes, isOver] = [0, false];
	const files = createWorkFiles(project.cwd);
	const watched: WorkFiles = {
		...files,
		async put(...args) {
			await whilePutting();
			await files.put(...args);
		},
	};
	const { runtime, shown } = await open(project, {
		model: scripted(async (request) => {
			const last = lastOf(request);
			if (last.startsWith("[")) return JSON.parse(last);
			const inStep = request.messages.some((each) => each.role === "user" && each.text.includes("Step a"));
			if (!inStep) return "done";
			if (isOver) return "written";
			// A turn of the event loop, so that others get on.
			await new Promise((resolve) => setImmediate(resolve));
			const before = writes === 0 ? {} : { version: fileVersion(await readFile(at("log.txt"))) };
			return [{ name: "write", args: { path: "log.txt", text: `${++writes}\n`, ...before } }];
		}),
		tools: createFileTools(project.cwd, { writes: true }),
		files: watched,
	});
	runtime.resume();
	await runtime.prompt(JSON.stringify([{ name: "edit", args: { path: "a.txt", old: "one", new: "two" } }]));
	await runtime.idle();
	const target = runtime.wal.tip;
	await runtime.prompt(JSON.stringify([{ name: "edit", args: { path: "a.txt", old: "two", new: "three" } }]));
	await runtime.idle();
	await runtime.prompt(JSON.stringify([{ name: PLAN_TOOL, args: writing }]));
	await until(() => writes > 2);
	const finish = async (): Promise<void> => {
		const then = writes;
		await until(() => writes > then);
		isOver = true;
		await runtime.idle();
		expect(runtime.restored().plans).toEqual([]);
		expect(shown.map(({ text }) => text)).toEqual(["done"]);
		await runtime.close();
	};
	return { runtime, target, finish };
}

/** The starts of tools' calls while a move was unsettled. */
async function startsInMoves(runtime: Runtime): Promise<readonly string[]> {
	const found: string[] = [];
	let isMoving = false;
	for await (const { kind, data } of runtime.wal.read()) {
		if (kind === "reset") isMoving = true;
		if (kind === "reset_settled") isMoving = false;
		if (isMoving && kind === "step_started" && !(data as { lane: string }).lane.startsWith("files/"))
			found.push((data as { lane: string }).lane);
	}
	return found;
}

const lookedFor = async (): Promise<void> => {
	for (let i = 0; i < 40; i++) await new Promise((resolve) => setImmediate(resolve));
};

test("a plan that a rewind of the talk does not cover writes nothing while files go back, and goes on then", async () => {
	const { runtime, target, finish } = await working(lookedFor);
	const preview = await runtime.previewRewind(target, "conversation_only", {}, true);
	const { files } = await runtime.applyRewind(preview, "me");
	expect(files?.kept).toEqual([]);
	expect(await text("a.txt")).toBe("two\n");
	expect(await startsInMoves(runtime)).toEqual([]);
	await runtime.undo("me");
	expect(await text("a.txt")).toBe("three\n");
	expect(await startsInMoves(runtime)).toEqual([]);
	await finish();
});

test("nor while one file is adopted", async () => {
	const { runtime, target, finish } = await working(lookedFor);
	await runtime.adoptFile("a.txt", target, "me");
	expect(await text("a.txt")).toBe("two\n");
	expect(await startsInMoves(runtime)).toEqual([]);
	await finish();
});

test("where the move is refused once all has stopped, all goes on", async () => {
	const { runtime, target, finish } = await working();
	const preview = await runtime.previewRewind(target, "both", {}, true);
	await writeFile(at("a.txt"), "theirs\n");
	const { tip } = runtime.wal;
	await expect(runtime.applyRewind(preview, "me", { allOrNothing: true })).rejects.toMatchObject({
		code: "RUNTIME_FILES",
	});
	for await (const { kind } of runtime.wal.read({ after: tip })) expect(kind).not.toBe("reset");
	await finish();
});

test("work that none of several moves covers goes on once they are taken back in one go", async () => {
	const { runtime, target, finish } = await working();
	await runtime.timeline.label(target, "here");
	await runtime.timeline.label(target, "there");
	const { past } = await runtime.timeline.moves();
	await runtime.undo("me", { to: past.at(-2)?.seq ?? 0 });
	await finish();
});
