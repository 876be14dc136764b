/**
 * The command line, killed before any change that it makes to a file while it brings yesterday's tasks up to date, and while it rewinds with
 * tasks that go back: the next command finishes that, or nothing of it had begun; tasks are those of before or those of after.
 */
import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Place, run, start } from "../cli.ts";
import { needsAll } from "../faults/lab/needs.ts";
import { type Call, callsIn, strace } from "../faults/lab/strace.ts";
import { SEED } from "../kit/seeded.ts";
import { sample } from "../sample.ts";

/** How many points of each command: `REYN_RUNS=1000` for all. */
const POINTS = Number(process.env.REYN_RUNS ?? sample(2, 4));

const noTrace = needsAll("strace");

/** All that changes a file, or a directory, for the next process: a sync does so for a power cut alone. */
const CHANGES =
	"trace=write,pwrite64,writev,pwritev,copy_file_range,ftruncate,fallocate,openat,rename,renameat,renameat2,unlink,unlinkat,mkdir,mkdirat";

/** What reads a database here: that of the package, which the command line has too. */
const Sqlite = createRequire(join(import.meta.dirname, "../../packages/tasks/package.json"))("better-sqlite3");

let root: string;
let prepared: string;
let here: Place;
beforeEach(async () => {
	root = await mkdtemp(join(tmpdir(), "reyn-tasks-killed-"));
	prepared = join(root, "prepared");
	here = { cwd: join(root, "project"), state: join(root, "state"), trace: join(root, "calls"), isCopy: true };
	await mkdir(here.cwd);
	await writeFile(join(here.cwd, "foxes.md"), "A fox sleeps by day.\n");
	process.env.REYN_REWIND_TASKS = "true";
});
afterEach(async () => {
	delete process.env.REYN_REWIND_TASKS;
	await rm(root, { recursive: true, force: true });
});

async function reyn(...args: readonly string[]): Promise<string> {
	const { code, stdout, stderr } = await run(here, args);
	expect([args, code], stderr).toEqual([args, 0]);
	return stdout;
}

const database = (): string => join(here.state, "tasks/tasks.db");

const titles = async (): Promise<readonly string[]> =>
	JSON.parse(await reyn("--json", "task", "list")).map(({ task }: { task: { title: string } }) => task.title);

/** Sets what was prepared in place. */
async function fresh(): Promise<void> {
	await rm(here.state, { recursive: true, force: true });
	await cp(prepared, here.state, { recursive: true });
}

// With one thread at files a run is as the one before.
const tracing = ["-f", "-qq", "--seccomp-bpf", "-E", "UV_THREADPOOL_SIZE=1"];

/** Each change of a file whose name is that of each run; what SQLite shares between processes is none that a kill leaves. */
async function changesOf(command: readonly string[]): Promise<readonly Call[]> {
	await fresh();
	const log = join(root, "strace");
	const whole = await run(here, command, undefined, ["strace", ...tracing, "-y", "-e", CHANGES, "-o", log]);
	expect(whole.code, whole.stderr).toBe(0);
	const calls = await callsIn(here.state, log);
	const isNamed = ({ path }: Call): boolean => !/-shm$|\.sock$|\/[0-9a-f]{16}\.tmp$|\/events/.test(path);
	const isChange = ({ name, line }: Call): boolean =>
		!/= -1 /.test(line) && (name !== "openat" || /O_CREAT/.test(line));
	return calls.filter((call) => isNamed(call) && isChange(call));
}

/** Kills a command before some of its changes. @param check what must hold then; gives what it has found */
async function killed(command: readonly string[], check: () => Promise<string>): Promise<void> {
	const calls = await changesOf(command);
	const stride = Math.max(1, Math.floor(calls.length / POINTS));
	const chosen = calls.filter((_, at) => at % stride === SEED % stride).slice(0, POINTS);
	const found = new Map<string, number>();
	for (const { name, path, n } of chosen) {
		await fresh();
		const inject = ["-e", `inject=${name}:signal=SIGKILL:when=${n}`];
		const via = [...strace("/dev/null", [path]), ...tracing.slice(2), ...inject];
		const { code, signal } = await start(here, command, undefined, via).ended;
		const where = `${name} ${n} on ${path.slice(here.state.length)}`;
		try {
			const isKilled = signal === "SIGKILL" || code === 137;
			const what = isKilled ? await check() : "not reached";
			found.set(what, (found.get(what) ?? 0) + 1);
		} catch (error) {
			throw new Error(`killed before ${where}: ${(error as Error).message}`, { cause: error });
		}
	}
	const missed = found.get("not reached") ?? 0;
	console.log(
		`${command.join(" ")}: ${chosen.length} of ${calls.length} changes; ${JSON.stringify(Object.fromEntries(found))}`,
	);
	expect(missed).toBeLessThanOrEqual(chosen.length / 10);
	if (POINTS >= calls.length) expect(found.size - (missed > 0 ? 1 : 0)).toBeGreaterThan(1);
}

describe.skipIf(typeof noTrace === "string")("killed before any change of a file", () => {
	test("of a migration: the tasks are those of before, or with the one that it adds, and the next command finishes it", async () => {
		await reyn("task", "add", "one");
		await reyn("task", "add", "two");
		const yesterday = new Sqlite(database());
		yesterday.exec("ALTER TABLE reyn_task DROP COLUMN outcome");
		yesterday.close();
		await rm(join(here.state, "tasks/generations"), { recursive: true });
		await cp(here.state, prepared, { recursive: true });
		await killed(["task", "add", "three"], async () => {
			const there = await columns();
			const now = await titles();
			expect([
				["one", "two"],
				["one", "two", "three"],
			]).toContainEqual(now);
			await reyn("task", "add", "four");
			expect(await titles()).toEqual([...now, "four"]);
			expect(await columns()).toEqual({ outcome: 1, check: "ok" });
			expect(await reyn("task", "list")).toContain("unassigned  four");
			return `${there.outcome === 1 ? "migrated" : "not migrated"}, ${now.length} tasks`;
		});
	});

	test("of a rewind that takes tasks along: they are as of its target if and only if it is in the log, and undo brings all back", async () => {
		await reyn("task", "add", "one");
		const { tip } = JSON.parse(await reyn("--json", "rewind", "@", "--dry-run"));
		await reyn("task", "add", "two");
		await cp(here.state, prepared, { recursive: true });
		await killed(["rewind", `${tip}`, "--yes"], async () => {
			const [before, after] = [["one", "two"], ["one"]];
			expect([before, after]).toContainEqual(await titles());
			// The next writer finishes what is begun; `resume` is one where a move was cut, though no reader saw that it was durable.
			const next = await run(here, ["resume"]);
			const isCut = next.code === 0;
			if (!isCut) expect(next).toMatchObject({ code: 3, stderr: expect.stringContaining("nothing is in flight") });
			const { records } = JSON.parse(await reyn("--json", "records", "--kind", "reset"));
			const isMade = records.length > 0;
			if (!isMade) {
				expect(await titles()).toEqual(before);
				await reyn("rewind", `${tip}`, "--yes");
			}
			expect(await titles()).toEqual(after);
			await reyn("undo", "--yes");
			expect(await titles()).toEqual(before);
			await reyn("redo", "--yes");
			expect(await titles()).toEqual(after);
			return isCut ? "finished by the next command" : isMade ? "made" : "not begun";
		});
	});
});

/** How the column that is added stands, in a copy: who opens a database tidies up in it. */
async function columns(): Promise<{ readonly outcome: number; readonly check: string }> {
	const copy = join(root, "copy");
	await rm(copy, { recursive: true, force: true });
	await cp(join(here.state, "tasks"), copy, { recursive: true });
	const now = new Sqlite(join(copy, "tasks.db"));
	const all = now.pragma("table_info(reyn_task)") as readonly { readonly name: string }[];
	const check = now.pragma("integrity_check", { simple: true }) as string;
	now.close();
	return { outcome: all.filter(({ name }) => name === "outcome").length, check };
}
