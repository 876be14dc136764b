/** A state that is set aside: whole under another name, and a new log in its place that goes on behind it; killed anywhere, one of the two. */
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { walEpoch } from "@reyn/wal";
import { afterEach, beforeEach, expect } from "vitest";
import { sample } from "../../../tests/sample.ts";
import {
	type Archived,
	archiveState,
	besideState,
	claimState,
	fileStore,
	finishArchive,
	type Runtime,
	stateOrigin,
} from "../src/index.ts";
import { failingAt } from "./failing-disk.ts";
import { filesTest } from "./files-test.ts";
import { makeProject, open, type Project, scripted } from "./project.ts";

/** How many of the calls fail, one after the other; with 1,000 each does. */
const RUNS = Number(process.env.REYN_RUNS ?? sample(4, 10));

const archiveTest = filesTest("a directory is renamed");

let project: Project;
let secrets: string;
beforeEach(async () => {
	project = await makeProject();
	secrets = join(project.root, "secrets");
});
afterEach(() => project[Symbol.asyncDispose]());

const clock = { now: () => Date.UTC(2026, 10, 27, 16, 46, 21) };

const opened = (state = project.state, readOnly = false) =>
	open(project, { model: scripted(() => "hi"), readOnly }, fileStore(state));

/** Talks, and closes. @returns the last seq */
async function talked(...texts: readonly string[]): Promise<number> {
	const { runtime } = await opened();
	for (const text of texts) await runtime.prompt(text);
	await runtime.idle();
	const { tip } = runtime.wal;
	await runtime.close();
	return tip;
}

const saidIn = (runtime: Runtime): readonly string[] =>
	runtime
		.conversation()
		.items.toArray()
		.flatMap((item) => (item.type === "prompt" ? [item.text] : []));

async function archived(): Promise<Archived> {
	await claimState(project.state, secrets);
	return archiveState(project.state, secrets, { clock });
}

archiveTest(
	"lies beside it under the time, whole; the new log is another one that goes on behind it, and says so",
	async () => {
		await talked("one", "two");
		const { to, was, now } = await archived();
		expect(basename(to)).toBe(`${basename(project.state)}.archived-20261127T164621Z`);
		expect([now.first, now.log === was.log]).toEqual([was.tip + 1, false]);
		expect(await stateOrigin(project.state, secrets)).toBe("own");

		const old = await opened(to, true);
		expect([old.runtime.wal.id, saidIn(old.runtime)]).toEqual([was.log, ["one", "two"]]);
		await old.runtime.close();

		const { runtime } = await opened();
		expect([runtime.wal.id, runtime.wal.first, saidIn(runtime)]).toEqual([now.log, now.first, []]);
		for await (const record of runtime.wal.read()) {
			expect([record.seq, walEpoch.is(record) && record.data.follows]).toEqual([
				now.first,
				{ log: was.log, seq: was.tip },
			]);
			break;
		}
		await runtime.prompt("three");
		await runtime.idle();
		expect(saidIn(runtime)).toEqual(["three"]);
		// All that one does in a log can be done in it, back to before its first record too.
		const [turn] = runtime.timeline.checkpoints();
		await runtime.prompt("four");
		await runtime.idle();
		await runtime.checkout(turn?.seq ?? 0, "me");
		expect(saidIn(runtime)).toEqual(["three"]);
		await runtime.checkout(0, "me");
		expect(saidIn(runtime)).toEqual([]);
		await runtime.undo("me");
		await runtime.undo("me");
		expect(saidIn(runtime)).toEqual(["three", "four"]);
		await expect(runtime.checkout(was.tip - 1, "me")).rejects.toMatchObject({ code: "TIMETRAVEL_PRUNED" });
		await runtime.close();
		const again = await opened();
		expect(saidIn(again.runtime)).toEqual(["three", "four"]);
		await again.runtime.close();
	},
);

archiveTest("what a person has set or written is there again; what came of the old log stays with that", async () => {
	await talked("one");
	const write = async (path: string, text: string): Promise<void> => {
		await mkdir(dirname(join(project.state, path)), { recursive: true });
		await writeFile(join(project.state, path), text);
	};
	await write("config/settings.yaml", "plan:\n  concurrency: 2\n");
	await write("config/a.yaml.unrecorded-7", "x: 1\n");
	await write("skills/mine.ts", "export default 1;\n");
	await write("agents/default/workspace/digest-a.md", "a\n");
	// Tasks are of another system: they are no part of the log.
	await write("tasks/tasks.db", "of SQLite");
	await write("tasks/tasks.db-wal", "what it wrote last");
	await write("tasks/tasks.db-shm", "its own");
	const { to, kept } = await archived();
	expect(kept).toEqual(["config/settings.yaml", "skills/mine.ts", "tasks/tasks.db", "tasks/tasks.db-wal"]);
	expect(await readFile(join(project.state, "tasks/tasks.db-wal"), "utf8")).toBe("what it wrote last");
	expect(await readFile(join(project.state, "config/settings.yaml"), "utf8")).toContain("concurrency: 2");
	expect((await readdir(project.state)).sort()).toEqual(["config", "own", "skills", "state", "tasks"]);
	expect(await readdir(to)).toContain("agents");
});

archiveTest("takes no name that is taken, and one more archive follows the one before", async () => {
	await talked("one");
	const first = await archived();
	await talked("two");
	const second = await archived();
	expect(basename(second.to)).toMatch(/-2$/);
	expect(second.was.log).toBe(first.now.log);
	expect(second.now.first).toBeGreaterThan(second.was.tip);
	const old = await opened(first.to, true);
	expect(saidIn(old.runtime)).toEqual(["one"]);
	await old.runtime.close();
});

archiveTest(
	"is refused while somebody works in it, and where something came since it was shown; nothing is changed then",
	async () => {
		const tip = await talked("one");
		await claimState(project.state, secrets);
		const { runtime } = await opened();
		await expect(archiveState(project.state, secrets, { clock })).rejects.toMatchObject({ code: "WAL_LOCKED" });
		await runtime.close();
		await talked("two");
		await expect(archiveState(project.state, secrets, { clock, expect: tip })).rejects.toMatchObject({
			code: "RUNTIME_STATE_CHANGED",
		});
		expect(besideState(project.state)).toEqual([]);
		const { runtime: same } = await opened();
		expect(saidIn(same)).toEqual(["one", "two"]);
		await same.close();
	},
);

archiveTest(
	"killed before the old state has its other name it is as it was, and the next try begins anew",
	async () => {
		await talked("one");
		const { to } = await archived();
		const next = to.replace(".archived-", ".next-");
		await rename(project.state, next);
		await rename(to, project.state);
		await finishArchive(project.state, secrets);
		const { runtime } = await opened();
		expect(saidIn(runtime)).toEqual(["one"]);
		await runtime.close();
		await writeFile(join(next, "half"), "");
		const again = await archiveState(project.state, secrets, { clock });
		expect(besideState(project.state)).toEqual([again.to]);
		expect(existsSync(join(project.state, "half"))).toBe(false);
	},
);

archiveTest(
	"killed between its two names it is finished by whoever comes next, and not where somebody else has put such names there",
	async () => {
		await talked("one");
		const { to, now } = await archived();
		const next = to.replace(".archived-", ".next-");
		await rename(project.state, next);
		// It was made under that name, and is known by it.
		await claimState(next, secrets);
		const others = join(project.root, "secrets of another");
		await finishArchive(project.state, others);
		expect(existsSync(project.state)).toBe(false);
		await finishArchive(project.state, secrets);
		expect(await stateOrigin(project.state, secrets)).toBe("own");
		// And where it has the place, and is not known there yet.
		await rename(project.state, next);
		await claimState(next, secrets);
		await rename(next, project.state);
		expect(await stateOrigin(project.state, secrets)).toBe("unknown");
		await finishArchive(project.state, others);
		expect(await stateOrigin(project.state, secrets)).toBe("unknown");
		await finishArchive(project.state, secrets);
		expect(await stateOrigin(project.state, secrets)).toBe("own");
		const { runtime } = await opened();
		expect([runtime.wal.id, runtime.wal.first]).toEqual([now.log, now.first]);
		await runtime.close();
	},
);

/** What is there once the next command has begun: the old state whole, or the new one and the old one beside it. */
async function whole(log: string): Promise<"old" | "new"> {
	await finishArchive(project.state, secrets);
	expect(await stateOrigin(project.state, secrets)).toBe("own");
	const aside = besideState(project.state).filter((path) => path.includes(".archived-"));
	for (const state of [project.state, ...aside]) {
		expect(await readFile(join(state, "config/settings.yaml"), "utf8")).toBe("plan:\n  concurrency: 2\n");
		expect(await readFile(join(state, "tasks/tasks.db"), "utf8")).toBe("of SQLite");
	}
	const [old = project.state] = aside;
	const { runtime } = await opened(old, old !== project.state);
	expect([runtime.wal.id, saidIn(runtime)]).toEqual([log, ["one"]]);
	const { tip } = runtime.wal;
	await runtime.close();
	if (aside.length === 0) return "old";
	expect(aside.length).toBe(1);
	const now = await opened(project.state, true);
	expect([now.runtime.wal.id === log, now.runtime.wal.first, saidIn(now.runtime)]).toEqual([false, tip + 1, []]);
	await now.runtime.close();
	return "new";
}

archiveTest.each(["killed", "once"] as const)(
	"where a change of a file fails, %s, either state is there whole, nothing is lost, and the next command says no more of it",
	async (how) => {
		await talked("one");
		await claimState(project.state, secrets);
		for (const [path, text] of [
			["config/settings.yaml", "plan:\n  concurrency: 2\n"],
			["tasks/tasks.db", "of SQLite"],
		] as const) {
			await mkdir(dirname(join(project.state, path)), { recursive: true });
			await writeFile(join(project.state, path), text);
		}
		const { runtime } = await opened(project.state, true);
		const { id } = runtime.wal;
		await runtime.close();
		const { root, state } = project;
		const at = async (nth: number) => {
			const { calls } = await failingAt(root, nth, how, () => archiveState(state, secrets, { clock }));
			const is = await whole(id);
			if (is === "new") {
				// Once more from where it began.
				const [aside = ""] = besideState(state);
				await rm(state, { recursive: true });
				await rename(aside, state);
				await claimState(state, secrets);
			}
			return { calls, is };
		};
		const { calls, is } = await at(Number.POSITIVE_INFINITY);
		expect(is).toBe("new");
		// At its name it turns, and never back.
		const turn = calls.indexOf("renameSync state") + 1;
		const sampled = Array.from({ length: RUNS }, (_, i) => Math.ceil(((i + 1) * calls.length) / RUNS));
		for (const nth of new Set([...sampled, turn - 1, turn, turn + 1, turn + 2]))
			expect([nth, (await at(nth)).is]).toEqual([nth, nth <= turn ? "old" : "new"]);
		expect(turn).toBeGreaterThan(10);
	},
);
