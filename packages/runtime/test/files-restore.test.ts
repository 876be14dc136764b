/** Files that go along with a move: each comes back to what it held, what somebody else has changed stays, and undo brings all back. */
import { chmod, cp, mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileVersion, type WorkFiles } from "@reyn/journal";
import { createFileTools, createWorkFiles } from "@reyn/tools";
import { afterEach, beforeEach, expect, test } from "vitest";
import { mainSession, type Runtime, type RuntimeEvent, type RuntimeOptions } from "../src/index.ts";
import { keepLines, linesOf } from "./cut.ts";
import { filesTest } from "./files-test.ts";
import { haltedFiles } from "./halted-files.ts";
import { makeProject, type Opened, open, type Project, scripted, storeAt } from "./project.ts";

let project: Project;
beforeEach(async () => {
	project = await makeProject();
	await writeFile(at("a.txt"), "one\n");
	await writeFile(at("b.txt"), "b\n");
	await chmod(at("b.txt"), 0o750);
});
afterEach(() => project[Symbol.asyncDispose]());

const at = (path: string): string => join(project.cwd, path);
const edit = (old: string, now: string, path = "a.txt") => ({ name: "edit", args: { path, old, new: now } });
const write = (path: string, text: string) => ({ name: "write", args: { path, text } });
const remove = (path: string, text: string) => ({
	name: "remove",
	args: { path, version: fileVersion(Buffer.from(text)) },
});

const openIt = (options: Partial<RuntimeOptions> = {}, state = project.state): Promise<Opened> =>
	open(
		project,
		{
			model: scripted(({ messages }) => {
				const last = messages.at(-1);
				return last?.role === "user" ? JSON.parse(last.text) : "done";
			}),
			tools: createFileTools(project.cwd, { writes: true }),
			files: createWorkFiles(project.cwd),
			...options,
		},
		storeAt(state),
	);

async function turn(runtime: Runtime, ...calls: readonly { readonly name: string; readonly args: object }[]) {
	await runtime.prompt(JSON.stringify(calls));
	await runtime.idle();
}

/** Each file with its permissions. */
async function tree(cwd = project.cwd): Promise<Readonly<Record<string, string>>> {
	const found = (await readdir(cwd, { recursive: true, withFileTypes: true })).filter((each) => each.isFile());
	const files = found.map(async ({ parentPath, name }) => {
		const path = join(parentPath, name);
		const { mode } = await stat(path);
		return [path.slice(cwd.length + 1), `${(mode & 0o777).toString(8)} ${await readFile(path, "utf8")}`] as const;
	});
	return Object.fromEntries((await Promise.all(files)).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Files, and copies of state and files as a process that died before or behind each of their changes has left them. */
function dyingAtPuts() {
	const files = createWorkFiles(project.cwd);
	const left: { readonly state: string; readonly cwd: string }[] = [];
	let isWatched = false;
	const died = async (): Promise<void> => {
		if (!isWatched) return;
		const name = join(project.root, `died-${left.length}`);
		await cp(project.state, `${name}-state`, { recursive: true });
		await cp(project.cwd, `${name}-files`, { recursive: true });
		left.push({ state: `${name}-state`, cwd: `${name}-files` });
	};
	const watched: WorkFiles = {
		...files,
		async put(...args) {
			await died();
			await files.put(...args);
			await died();
		},
	};
	const watch = (isIt: boolean): void => {
		isWatched = isIt;
	};
	return { watched, left, watch };
}

/** A checkpoint behind a first turn, and a turn after it that changes, removes and makes files. */
async function worked(runtime: Runtime) {
	await turn(runtime, edit("one", "two"));
	const target = runtime.wal.tip;
	const then = await tree();
	await turn(runtime, edit("two", "three"), remove("b.txt", "b\n"), write("src/new.txt", "new\n"));
	await turn(runtime, edit("three", "four"));
	return { target, then, now: await tree() };
}

test("of several moves are as before the oldest of them, taken back in one go, and as after the newest again", async () => {
	const { runtime } = await openIt();
	const { target, now } = await worked(runtime);
	await runtime.checkout(target, "me", {}, { files: true });
	await turn(runtime, edit("two", "2"));
	await runtime.timeline.label(target, "here");
	await runtime.adoptFile("src/new.txt", target - 1, "me");
	await runtime.checkout(0, "me");
	await runtime.adoptFile("a.txt", 0, "me");
	const after = await tree();
	const { past } = await runtime.timeline.moves();
	expect(past.length).toBeGreaterThan(3);
	const { all, files } = await runtime.undo("me", { of: past.at(-1)?.seq ?? 0, to: past[0]?.seq ?? 0 });
	expect([all?.length, await tree()]).toEqual([past.length, now]);
	// What is told of files is of all these moves, not of the last one alone.
	expect(files?.changes.map(({ path }) => path)).toEqual(["a.txt", "b.txt", "src/new.txt"]);
	const { future } = await runtime.timeline.moves();
	expect(future).toHaveLength(past.length);
	const again = await runtime.redo("me", { to: future[0]?.seq ?? 0 });
	expect(await tree()).toEqual(after);
	expect(again.files?.changes.map(({ path }) => path)).toEqual(["a.txt", "b.txt", "src/new.txt"]);
	await runtime.close();
});

filesTest("it copies a state between two writes")(
	"of several moves: wherever the process died while they were taken back, the rest can be, and all of it made again",
	async () => {
		const { watched, left, watch } = dyingAtPuts();
		const { runtime } = await openIt({ files: watched });
		await turn(runtime, edit("one", "two"));
		const target = runtime.wal.tip;
		await turn(runtime, edit("two", "three"));
		const before = await tree();
		await runtime.checkout(target, "me", {}, { files: true });
		await runtime.timeline.label(target, "here");
		await runtime.adoptFile("a.txt", 0, "me");
		const after = await tree();
		const { past } = await runtime.timeline.moves();
		watch(true);
		await runtime.undo("me", { to: past[0]?.seq ?? 0 });
		watch(false);
		await runtime.close();
		expect(left).toHaveLength(4);
		for (const { state, cwd } of left) {
			const next = await openIt({ files: createWorkFiles(cwd) }, state);
			const [oldest] = (await next.runtime.timeline.moves()).past;
			if (oldest) await next.runtime.undo("me", { to: oldest.seq });
			expect(await tree(cwd), state).toEqual(before);
			const { future } = await next.runtime.timeline.moves();
			expect(future).toHaveLength(past.length);
			await next.runtime.redo("me", { to: future[0]?.seq ?? 0 });
			expect(await tree(cwd), state).toEqual(after);
			await next.runtime.close();
		}
	},
);

test("come back with a rewind, go forward with its undo, and back again with redo", async () => {
	const { runtime } = await openIt();
	const { target, then, now } = await worked(runtime);
	expect(await runtime.previewFiles(target)).toEqual({
		...{ to: target, kept: [], theirs: [], uncovered: [] },
		changes: [
			{ path: "a.txt", change: "changed" },
			{ path: "b.txt", change: "made" },
			{ path: "src/new.txt", change: "removed" },
		],
	});
	const preview = await runtime.previewRewind(target, "both", {}, true);
	expect(preview.summary.at(-1)).toBe("files in your workspace go back too, where tools have changed them");
	const done = await runtime.applyRewind(preview, "me");
	expect(done.files?.changes.map(({ path }) => path)).toEqual(["a.txt", "b.txt", "src/new.txt"]);
	expect(await tree()).toEqual(then);
	for (let again = 0; again < 2; again++) {
		await runtime.undo("me");
		expect(await tree()).toEqual(now);
		await runtime.redo("me");
		expect(await tree()).toEqual(then);
	}
	await runtime.close();
	const { runtime: next } = await openIt();
	await next.undo("me");
	expect(await tree()).toEqual(now);
	expect(next.restored().turns).toEqual([]);
	await next.close();
});

test("stay with a rewind that does not take them, and with its undo", async () => {
	const { runtime } = await openIt();
	const { target, now } = await worked(runtime);
	const done = await runtime.applyRewind(await runtime.previewRewind(target, "both"), "me");
	expect([done.files, await tree()]).toEqual([undefined, now]);
	await runtime.undo("me");
	expect(await tree()).toEqual(now);
	await runtime.close();
});

test("that somebody else has changed since stay, and are named; taken all the same, undo brings theirs back", async () => {
	const { runtime } = await openIt();
	const { target, then } = await worked(runtime);
	await writeFile(at("a.txt"), "mine\n");
	await writeFile(at("b.txt"), "mine too\n");
	const before = await tree();
	const { kept, changes } = await runtime.previewFiles(target);
	const why = "somebody else has changed it since";
	expect(kept).toEqual([
		{ path: "a.txt", why, isTheirs: true },
		{ path: "b.txt", why, isTheirs: true },
	]);
	expect(changes).toEqual([{ path: "src/new.txt", change: "removed" }]);
	const preview = () => runtime.previewRewind(target, "code_only", {}, true);
	const done = await runtime.applyRewind(await preview(), "me");
	expect(done.files).toEqual({ to: target, changes, kept });
	const { "src/new.txt": _, ...rest } = before;
	expect(await tree()).toEqual(rest);
	await runtime.undo("me");
	expect(await tree()).toEqual(before);

	const { theirs } = await runtime.previewFiles(target, true);
	expect(theirs).toEqual([
		{ path: "a.txt", version: fileVersion(Buffer.from("mine\n")) },
		{ path: "b.txt", version: fileVersion(Buffer.from("mine too\n")) },
	]);
	// What is confirmed is what was seen: one that has changed since stays.
	await writeFile(at("b.txt"), "and again\n");
	const late = await tree();
	const taken = await runtime.applyRewind(await preview(), "me", { theirs });
	expect(taken.files?.kept.map(({ path }) => path)).toEqual(["b.txt"]);
	expect(await tree()).toEqual({ ...then, "b.txt": late["b.txt"] });
	await runtime.undo("me");
	expect(await tree()).toEqual(late);
	await runtime.close();
});

test("of somebody else come back with undo, also where the way back ends at what a tool had left before", async () => {
	const { runtime } = await openIt();
	const { target } = await worked(runtime);
	await runtime.checkout(target, "me", {}, { files: true });
	await writeFile(at("a.txt"), "mine\n");
	await writeFile(at("src/new.txt"), "mine too\n");
	const before = await tree();
	const { theirs } = await runtime.previewFiles(target, true);
	expect(theirs.map(({ path }) => path)).toEqual(["a.txt", "src/new.txt"]);
	await runtime.checkout(target, "me", {}, { files: true, theirs });
	await runtime.undo("me");
	expect(await tree()).toEqual(before);
	await runtime.close();
});

test("that somebody else had put there before the target come back, where a tool then does again what it had done", async () => {
	const { runtime } = await openIt();
	await turn(runtime, write("new.txt", "tool\n"));
	await writeFile(at("new.txt"), "mine\n");
	await turn(runtime);
	const { tip: target } = runtime.wal;
	await turn(runtime, edit("mine", "tool", "new.txt"));
	await runtime.checkout(target, "me", {}, { files: true });
	expect((await tree())["new.txt"]).toMatch(/ mine\n$/);
	await runtime.undo("me");
	expect((await tree())["new.txt"]).toMatch(/ tool\n$/);
	await runtime.close();
});

test("that somebody else had set back before the target come back so, where a tool then does the same again", async () => {
	const { runtime } = await openIt();
	await turn(runtime, edit("one", "two"), write("new.txt", "tool\n"));
	await writeFile(at("a.txt"), "one\n");
	await rm(at("new.txt"));
	const then = await tree();
	await turn(runtime);
	const { tip: target } = runtime.wal;
	await turn(runtime, edit("one", "two"), write("new.txt", "tool\n"));
	const now = await tree();
	await runtime.checkout(target, "me", {}, { files: true });
	expect(await tree()).toEqual(then);
	await runtime.undo("me");
	expect(await tree()).toEqual(now);
	await runtime.close();
});

test("that a tool has made anew have the permissions that they had", async () => {
	const { runtime } = await openIt();
	await turn(runtime);
	const { tip: target } = runtime.wal;
	const then = await tree();
	await turn(runtime, remove("b.txt", "b\n"), write("b.txt", "b\n"));
	const now = await tree();
	expect(now["b.txt"]).not.toBe(then["b.txt"]);
	await runtime.checkout(target, "me", {}, { files: true });
	expect(await tree()).toEqual(then);
	await runtime.undo("me");
	expect(await tree()).toEqual(now);
	// Permissions that somebody else has changed since are theirs.
	await chmod(at("a.txt"), 0o600);
	expect((await runtime.previewFiles(target)).changes).toEqual([{ path: "b.txt", change: "changed" }]);
	await runtime.close();
});

test("that a person has closed to others stay closed, while what they hold goes back and forward", async () => {
	const { runtime } = await openIt();
	const { target } = await worked(runtime);
	await chmod(at("a.txt"), 0o600);
	await runtime.checkout(target, "me", {}, { files: true });
	expect((await tree())["a.txt"]).toBe("600 two\n");
	await runtime.undo("me");
	expect((await tree())["a.txt"]).toBe("600 four\n");
	// That a restore has left them so makes them nobody else's.
	await runtime.checkout(target, "me", {}, { files: true });
	expect((await tree())["a.txt"]).toBe("600 two\n");
	await runtime.undo("me");
	await runtime.redo("me");
	await runtime.undo("me");
	expect((await tree())["a.txt"]).toBe("600 four\n");
	await runtime.close();
});

test("of somebody else, that undo has brought back, stay as before, to and fro, unless they are taken again", async () => {
	const { runtime } = await openIt();
	const { target } = await worked(runtime);
	await writeFile(at("a.txt"), "theirs\n");
	const { changes, kept } = await runtime.previewFiles(target);
	expect(kept).toEqual([{ path: "a.txt", why: "somebody else has changed it since", isTheirs: true }]);
	const take = async () =>
		runtime.checkout(target, "me", {}, { files: true, theirs: (await runtime.previewFiles(target, true)).theirs });
	const content = () => readFile(at("a.txt"), "utf8");
	for (let times = 0; times < 2; times++) {
		await take();
		expect(await content()).toBe("two\n");
		for (const [step, text] of [
			["undo", "theirs\n"],
			["redo", "two\n"],
			["undo", "theirs\n"],
		] as const) {
			await runtime[step]("me");
			expect([times, step, await content()]).toEqual([times, step, text]);
		}
		expect(await runtime.previewFiles(target)).toMatchObject({ changes, kept });
		expect((await runtime.checkout(target, "me", {}, { files: true })).files?.kept).toEqual(kept);
		expect(await content()).toBe("theirs\n");
		await runtime.undo("me");
		expect(await content()).toBe("theirs\n");
	}
	// What a tool writes then is its own.
	await turn(runtime, { name: "edit", args: { path: "a.txt", old: "theirs", new: "ours" } });
	expect((await runtime.previewFiles(target)).kept).toEqual([]);
	await runtime.close();
});

test("come back where another file was in the way of them, once that is gone", async () => {
	const { runtime } = await openIt();
	await turn(runtime, write("place/b.txt", "one\n"));
	const { tip: target } = runtime.wal;
	const then = await tree();
	await turn(runtime, remove("place/b.txt", "one\n"));
	await rm(at("place"), { recursive: true });
	await turn(runtime, write("place", "a file\n"));
	const now = await tree();
	const done = await runtime.checkout(target, "me", {}, { files: true });
	expect(done.files).toMatchObject({ kept: [], changes: [{ change: "removed" }, { change: "made" }] });
	expect(await tree()).toEqual(then);
	await rm(at("place"), { recursive: true });
	await runtime.undo("me");
	expect(await tree()).toEqual(now);
	await runtime.close();
});

/** The paths of all directories. */
async function directories(): Promise<readonly string[]> {
	const found = await readdir(project.cwd, { recursive: true, withFileTypes: true });
	const paths = found.filter((each) => each.isDirectory()).map(({ parentPath, name }) => join(parentPath, name));
	return paths.map((path) => path.slice(project.cwd.length + 1)).sort();
}

test("come back where tools have made a directory, which goes with all that it holds; and go again with undo", async () => {
	const { runtime } = await openIt();
	await turn(runtime);
	const { tip: target } = runtime.wal;
	const then = [await tree(), await directories()];
	await turn(runtime, remove("a.txt", "one\n"), write("a.txt/deep/x.txt", "x\n"), write("a.txt/y.txt", "y\n"));
	await turn(runtime, write("new/deep/z.txt", "z\n"));
	const now = [await tree(), await directories()];
	const { changes, kept } = await runtime.previewFiles(target);
	expect(kept).toEqual([]);
	const { files } = await runtime.checkout(target, "me", {}, { files: true, allOrNothing: true });
	expect(files).toEqual({ to: target, changes: [...changes].sort((a, b) => (a.path < b.path ? -1 : 1)), kept: [] });
	expect([await tree(), await directories()]).toEqual(then);
	await runtime.undo("me");
	expect([await tree(), await directories()]).toEqual(now);
	await runtime.redo("me");
	expect([await tree(), await directories()]).toEqual(then);
	await runtime.close();
});

test("stay away where somebody else has put something into that directory; a directory that was there before stays", async () => {
	const { runtime } = await openIt();
	await mkdir(at("mine"));
	await turn(runtime);
	const { tip: target } = runtime.wal;
	await turn(runtime, remove("a.txt", "one\n"), write("a.txt/deep/x.txt", "x\n"), write("mine/z.txt", "z\n"));
	await writeFile(at("a.txt/theirs.txt"), "theirs\n");
	expect((await runtime.previewFiles(target)).kept).toMatchObject([{ path: "a.txt" }]);
	const none = runtime.checkout(target, "me", {}, { files: true, allOrNothing: true });
	await expect(none).rejects.toMatchObject({ code: "RUNTIME_FILES" });
	const { files } = await runtime.checkout(target, "me", {}, { files: true });
	expect(files?.kept).toMatchObject([{ path: "a.txt" }]);
	expect(await tree()).toMatchObject({ "a.txt/theirs.txt": expect.stringContaining("theirs") });
	expect(await directories()).toEqual(["a.txt", "mine", "src", "test"]);
	await runtime.close();
});

test("that are too large for the tools stay, and are named", async () => {
	const { runtime } = await openIt();
	const large = `${"x".repeat(100)}\n`;
	await turn(runtime, write("large.txt", large));
	const { tip: target } = runtime.wal;
	await turn(runtime, { name: "edit", args: { path: "large.txt", old: large, new: "small\n" } });
	await runtime.close();
	const { runtime: next } = await openIt({ files: createWorkFiles(project.cwd, { maxFileBytes: 20 }) });
	const done = await next.checkout(target, "me", {}, { files: true });
	expect(done.files).toMatchObject({ changes: [], kept: [{ path: "large.txt" }] });
	expect((await tree())["large.txt"]).toMatch(/small\n$/);
	await next.close();
});

test("are refused with what is no list of files", async () => {
	const { runtime } = await openIt();
	const { target, now } = await worked(runtime);
	const { tip } = runtime.wal;
	for (const theirs of ["f0", ["f0"], [null], [{ path: 1 }]] as unknown as readonly never[])
		await expect(runtime.checkout(target, "me", {}, { files: true, theirs })).rejects.toMatchObject({
			code: "RUNTIME_FILES",
		});
	expect([runtime.wal.tip, await tree()]).toEqual([tip, now]);
	await runtime.close();
});

test("go along with a checkout of a branch that was left, and are refused with a part of history", async () => {
	const { runtime } = await openIt();
	const { target, then, now } = await worked(runtime);
	const tip = runtime.wal.tip;
	await runtime.checkout(target, "me", {}, { files: true });
	await turn(runtime, edit("two", "other"));
	await runtime.checkout(tip, "me", {}, { files: true });
	expect(await tree()).toEqual(now);
	await runtime.checkout(target, "me", {}, { files: true });
	expect(await tree()).toEqual(then);
	await expect(runtime.checkout(0, "me", mainSession, { files: true })).rejects.toMatchObject({
		code: "RUNTIME_FILES",
	});
	await expect(runtime.previewRewind(target, "both", mainSession, true)).rejects.toMatchObject({
		code: "RUNTIME_FILES",
	});
	await runtime.close();
	const { runtime: blind } = await open(project, { model: scripted(() => "done") });
	await expect(blind.previewRewind(0, "both", {}, true)).rejects.toThrow("no files were given to this runtime");
	await blind.close();
});

test("go back to a moment that there is, by the plan that was seen; else nothing is written", async () => {
	const { runtime } = await openIt();
	const { target, now } = await worked(runtime);
	const { tip } = runtime.wal;
	for (const seq of [tip + 1, -1, 1.5]) {
		const refusal = { code: "TIMETRAVEL_OUT_OF_RANGE" };
		await expect(runtime.previewFiles(seq)).rejects.toMatchObject(refusal);
		await expect(runtime.checkout(seq, "me", {}, { files: true })).rejects.toMatchObject(refusal);
	}
	const preview = await runtime.previewRewind(target, "both", {}, true);
	for (const changed of [{ target: target - 1 }, { mode: "code_only" as const }])
		await expect(runtime.applyRewind({ ...preview, ...changed }, "me")).rejects.toMatchObject({
			code: expect.stringMatching(/^REWIND_(STALE|NOT_PREVIEWED)$/),
		});
	expect([runtime.wal.tip, await tree()]).toEqual([tip, now]);
	await turn(runtime, write("more.txt", "more\n"));
	await expect(runtime.applyRewind(preview, "me")).rejects.toMatchObject({ code: "REWIND_STALE" });
	expect(await tree()).toEqual({ ...now, "more.txt": "644 more\n" });
	await runtime.close();
});

/** Damages what was kept of a file. */
async function damage(text: string, now: Uint8Array | undefined): Promise<void> {
	const images = storeAt(project.state).blobs("images");
	for (const name of await images.list("")) {
		if (Buffer.from((await images.get(name)) ?? "").toString() !== text) continue;
		if (now) await images.put(name, now);
		else await images.delete(name);
	}
}

test("of which what they held is missing, or has changed, stay, and are named; the others go back", async () => {
	const { runtime } = await openIt();
	const { target, then, now } = await worked(runtime);
	await damage("two\n", undefined);
	const [kept] = (await runtime.previewFiles(target)).kept;
	expect(kept).toEqual({
		path: "a.txt",
		why: expect.stringMatching(/^its image [0-9a-f]{64} is missing, or has changed$/),
	});
	const done = await runtime.checkout(target, "me", {}, { files: true });
	expect(done.files?.kept).toEqual([kept]);
	expect(await tree()).toEqual({ ...then, "a.txt": now["a.txt"] });
	// What stays is as it was also after the way back.
	await runtime.undo("me");
	expect(await tree()).toEqual(now);
	await damage("b\n", Buffer.from("B\n"));
	const again = await runtime.checkout(target, "me", {}, { files: true });
	expect(again.files?.kept.map(({ path }) => path)).toEqual(["a.txt", "b.txt"]);
	await runtime.close();
});

test("go back all or none, if that is asked for: a refusal names those that cannot, and nothing is written", async () => {
	const { runtime } = await openIt();
	const { target, then, now } = await worked(runtime);
	await writeFile(at("a.txt"), "mine\n");
	const before = await tree();
	const { tip } = runtime.wal;
	const all = { files: true, allOrNothing: true };
	const refusal = { code: "RUNTIME_FILES", message: expect.stringMatching(/1 cannot.*a\.txt: somebody else/) };
	await expect(runtime.checkout(target, "me", {}, all)).rejects.toMatchObject(refusal);
	const preview = await runtime.previewRewind(target, "both", {}, true);
	await expect(runtime.applyRewind(preview, "me", { allOrNothing: true })).rejects.toMatchObject(refusal);
	expect([runtime.wal.tip, await tree()]).toEqual([tip, before]);
	const { theirs } = await runtime.previewFiles(target, true);
	expect((await runtime.checkout(target, "me", {}, { ...all, theirs })).files?.kept).toEqual([]);
	expect(await tree()).toEqual(then);
	await writeFile(at("src/new.txt"), "mine too\n");
	await expect(runtime.undo("me", { allOrNothing: true })).rejects.toMatchObject({ code: "RUNTIME_FILES" });
	await rm(at("src/new.txt"));
	await runtime.undo("me", { allOrNothing: true });
	expect(await tree()).toEqual(before);
	expect(now["a.txt"]).not.toBe(before["a.txt"]);
	await runtime.close();
});

test("that cannot be changed stay, and are named; the others go on", async () => {
	const files = createWorkFiles(project.cwd);
	const refusing: WorkFiles = {
		...files,
		put: (path, ...how) => (path === "a.txt" ? Promise.reject(new Error("no space left")) : files.put(path, ...how)),
	};
	const { runtime } = await openIt({ files: refusing });
	const { target, then, now } = await worked(runtime);
	const done = await runtime.checkout(target, "me", {}, { files: true });
	expect(done.files?.kept).toEqual([{ path: "a.txt", why: "no space left" }]);
	expect(await tree()).toEqual({ ...then, "a.txt": now["a.txt"] });
	await runtime.undo("me");
	expect(await tree()).toEqual(now);
	await runtime.close();
});

filesTest("a live state is copied, with what a process that died there would have left")(
	"are back, or the next start brings them, wherever the process died in it; then undo is exact",
	async () => {
		const files = createWorkFiles(project.cwd);
		const left: { readonly state: string; readonly cwd: string }[] = [];
		const died = async (): Promise<void> => {
			const name = join(project.root, `died-${left.length}`);
			await cp(project.state, `${name}-state`, { recursive: true });
			await cp(project.cwd, `${name}-files`, { recursive: true });
			left.push({ state: `${name}-state`, cwd: `${name}-files` });
		};
		const halted = haltedFiles(files, () => runtime.wal.tip, died);
		const isBack = async (path: string) => {
			const file = (await runtime.files.since(target)).files.find((each) => each.path === path);
			return file?.writes.some(({ lane, outcome }) => lane.startsWith("files/") && outcome === "done") ?? false;
		};
		const inTurn: WorkFiles = {
			...halted,
			async put(path, ...how) {
				// Then what is still to do is not dealt out as it was.
				while (path === "b.txt" && !(await isBack("a.txt"))) await pause(1);
				await halted.put(path, ...how);
			},
		};
		const { runtime } = await openIt({ files: inTurn });
		const { target, then, now } = await worked(runtime);
		const reset = runtime.wal.tip + 1;
		await runtime.checkout(target, "me", {}, { files: true });
		await runtime.close();
		expect(left).toHaveLength(6);
		// And behind the reset, and between the starts of the changes, which are made beside each other.
		const [first, , second] = left as [(typeof left)[number], unknown, (typeof left)[number]];
		const { length: begun } = await linesOf(first.state);
		for (const [{ state, cwd }, from] of [[first, reset + 1] as const, [second, begun] as const]) {
			const { length } = await linesOf(state);
			for (let kept = from; kept < length; kept++) {
				const name = `${state}-cut-${kept}`;
				await cp(state, `${name}-state`, { recursive: true });
				await cp(cwd, `${name}-files`, { recursive: true });
				await keepLines(`${name}-state`, kept);
				left.push({ state: `${name}-state`, cwd: `${name}-files` });
			}
		}
		expect(left.length).toBeGreaterThan(7);
		// Without the files nobody can finish it, and nothing is given up.
		await expect(openIt({ files: undefined as never }, first.state)).rejects.toThrow(
			"takes files along and is not finished",
		);
		for (const { state, cwd } of left) {
			const heard: RuntimeEvent[] = [];
			const next = await openIt({ files: createWorkFiles(cwd), onEvent: (event) => void heard.push(event) }, state);
			expect(await tree(cwd), state).toEqual(then);
			await next.runtime.undo("me");
			expect(await tree(cwd), state).toEqual(now);
			await next.runtime.close();
			const told = heard.filter(({ type }) => type === "files_restored");
			expect(told[0], state).toMatchObject({ to: target, kept: [] });
			expect(told).toHaveLength(1);
		}
	},
);
