/** A state in which something lies that is no file or directory of ours, as a person meets it: a sample of runtime's planted.test.ts. */
import { execFileSync } from "node:child_process";
import { cp, mkdir, mkdtemp, readFile, rename, rm, symlink, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Place, start } from "../cli.ts";
import type { Ended } from "../kit/killable.ts";
import { sample, some } from "../sample.ts";

const WATCHDOG_MS = 300_000;

let root: string;
let here: Place;
let copies = 0;

beforeAll(async () => {
	root = await mkdtemp(join(tmpdir(), "reyn-unsafe-"));
	await mkdir(join(root, "project"));
	await writeFile(join(root, "project/foxes.md"), "# Foxes\n\nA fox sleeps by day.\n");
	here = { cwd: join(root, "project"), state: join(root, "state"), trace: join(root, "calls.jsonl") };
	expect(await run(here, "run", "-p", "where does a fox sleep?")).toMatchObject({ code: 0 });
});
afterAll(() => rm(root, { recursive: true, force: true }));

async function run(place: Place, ...args: readonly string[]): Promise<Ended> {
	const running = start(place, args);
	const watchdog = setTimeout(() => running.kill(), WATCHDOG_MS);
	const found = await running.ended;
	clearTimeout(watchdog);
	return found;
}

async function copy(): Promise<Place> {
	const state = join(root, `copy-${++copies}`);
	await cp(here.state, state, { recursive: true });
	return { ...here, state, isCopy: true };
}

const refused = (path: string) => ({ code: 5, stderr: expect.stringContaining(`reyn: ${path} is not used: expected`) });
const work = ["run", "-p", "and by night?"];

describe.runIf(process.platform !== "win32")("is refused with exit 5, its path and how to go on", () => {
	const links: [string, string[][]][] = [
		["wal.lock", [work, ["skill", "run", "digest", "--input", '{"topic":"foxes"}']]],
		["wal.head", [work, ["resume"], ["wal", "verify"], ["wal", "repair", "--apply", "--accept-loss", "none"]]],
	];
	test.each(links)("%s is a link, and what it leads to stays as it is", async (name, commands) => {
		const place = await copy();
		const [victim, path] = [join(root, `thesis-${name}`), join(place.state, "state", name)];
		await writeFile(victim, "years of work");
		await rm(path);
		await symlink(victim, path);
		for (const args of some(commands, 4)) expect(await run(place, ...args)).toMatchObject(refused(path));
		expect(await readFile(victim, "utf8")).toBe("years of work");
	});

	test("the log is a pipe: nobody waits for what comes out of it", async () => {
		const place = await copy();
		const path = join(place.state, "state/wal.jsonl");
		await rm(path);
		execFileSync("mkfifo", [path]);
		for (const args of some([["resume"], ["log"], ["wal", "verify"], work], 3))
			expect(await run(place, ...args)).toMatchObject(refused(path));
	});

	test("a directory below the state, or the state itself, is a link", async () => {
		const place = await copy();
		const results = join(place.state, "state/results");
		await symlink(root, results);
		for (const args of some([["gc"], ["log"], work], 3))
			expect(await run(place, ...args)).toMatchObject(refused(results));
		await rm(results);
		await rename(place.state, `${place.state}.moved`);
		await symlink(`${place.state}.moved`, place.state);
		for (const args of some([["log"], ["wal", "verify"], work], 3))
			expect(await run(place, ...args)).toMatchObject(refused(place.state));
	});
});

test("a log with a large hole behind it is read to its end", async () => {
	const place = await copy();
	await truncate(join(place.state, "state/wal.jsonl"), sample(64 * 1024 ** 2, 3 * 1024 ** 3));
	expect(await run(place, "log")).toMatchObject({ code: 0 });
	expect(await run(place, ...work)).toMatchObject({ code: 0 });
});
