/** Scenario 31: configuration that commands and hands change follows rewinds, through the real command line, which is killed on the way. */
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { reyn } from "../cli.ts";
import { type Ended, type Killable, startProcess } from "../kit/killable.ts";
import { sample } from "../sample.ts";

let root: string;
let cwd: string;
beforeEach(async () => {
	root = await mkdtemp(join(tmpdir(), "reyn-config-"));
	cwd = join(root, "notes");
	await mkdir(cwd);
	await writeFile(join(cwd, "foxes.md"), "# Foxes\n\nA fox sleeps by day.\n");
});
afterEach(() => rm(root, { recursive: true, force: true }));

const start = (...args: readonly string[]): Killable =>
	startProcess([process.execPath, ...reyn, "--cwd", cwd, ...args], {
		env: { NO_COLOR: "1", XDG_CONFIG_HOME: join(root, "home"), XDG_STATE_HOME: join(root, "own") },
	});
const run = async (...args: readonly string[]): Promise<Ended> => {
	const ended = await start(...args).ended;
	expect([args, ended.code, ended.stderr]).toEqual([args, 0, expect.anything()]);
	return ended;
};

const file = (name: string): string => join(cwd, ".reyn/config", name);
const settings = (): Promise<string> => readFile(file("settings.yaml"), "utf8");
const holds = async (key: string): Promise<unknown> =>
	JSON.parse((await run("config", "print", "--json")).stdout).settings[key];

test("an edit on a line that is left is gone, one of after the rewind stays, a file that came after the cut goes", async () => {
	await run("config", "set", "plan.concurrency", "2");
	await run("run", "-p", "Where does a fox sleep?");
	await run("label", "@", "cut");
	await run("config", "set", "plan.concurrency", "5");
	await run("config", "set", "skill_resume.default", "skip");
	await writeFile(file("mine.yaml"), "by: hand\n");
	expect((await run("config", "print")).stdout).toMatch(/^plan.concurrency: 5 +\.reyn\/config\/settings\.yaml:2$/m);

	await run("rewind", "cut", "--yes");
	expect([await settings(), await readdir(join(cwd, ".reyn/config"))]).toEqual([
		"plan:\n  concurrency: 2\n",
		["settings.yaml"],
	]);
	expect(await holds("skill_resume.default")).toEqual({ value: "retry", source: "default" });
	await run("config", "set", "limits.turn_rounds", "7");
	expect(await settings()).toBe("plan:\n  concurrency: 2\nlimits:\n  turn_rounds: 7\n");

	await run("undo", "--yes");
	expect(await settings()).toContain("concurrency: 5");
	expect(await readFile(file("mine.yaml"), "utf8")).toBe("by: hand\n");
	await run("redo", "--yes");
	expect(await settings()).toBe("plan:\n  concurrency: 2\nlimits:\n  turn_rounds: 7\n");
	expect(await holds("plan.concurrency")).toEqual({ value: 2, source: ".reyn/config/settings.yaml:2" });
});

test("killed at any moment, the next command finds what was set, whole, and goes on", async () => {
	await run("config", "set", "plan.concurrency", "1");
	for (let n = 2; n <= sample(3, 5); n++) {
		const setting = start("config", "set", "plan.concurrency", String(n));
		await new Promise((resolve) => setTimeout(resolve, 250 + ((n * 97) % 400)));
		const { signal, stdout } = await setting.kill();
		await run("label", "@", `after-${n}`);
		const held = (await holds("plan.concurrency")) as { value: number };
		// What it said is so; what it did not say may be so.
		if (signal === null || stdout !== "") expect(held.value).toBe(n);
		expect(held.value).toBeGreaterThan(0);
		expect(await settings()).toBe(`plan:\n  concurrency: ${held.value}\n`);
	}
	await run("rewind", "0", "--yes");
	// What a kill has left of a write goes with the next collection.
	await run("gc", "--yes");
	expect(await readdir(join(cwd, ".reyn/config"))).toEqual([]);
});

test("what cannot be set is said, and nothing is changed", async () => {
	await run("config", "set", "plan.concurrency", "2");
	const refusals: readonly (readonly [args: readonly string[], code: number, said: RegExp])[] = [
		[
			["set", "plan.concurency", "3"],
			2,
			/settings.yaml:3:3: plan.concurency: there is no such key; there are concurrency, /,
		],
		[["set", "plan.concurrency", "many"], 2, /settings.yaml:2:16: plan.concurrency: expected number, .*found "many"/],
		[["set", "model", "openai/gpt-x"], 2, /model: a file that lies in a directory chooses no model/],
		[["set", "permissions.mode", "all"], 2, /permissions.mode: a file that lies in a directory allows nothing/],
		[["set", "plan.concurrency.x", "1"], 2, /plan.concurrency.x: there is no such key/],
		[["unset", "plan.retry_limit"], 3, /plan.retry_limit is not set in .reyn\/config\/settings.yaml/],
	];
	for (const [args, code, said] of refusals) {
		const refused = await start("config", ...args).ended;
		expect([args, refused.code, refused.stdout]).toEqual([args, code, ""]);
		expect(refused.stderr).toMatch(said);
		expect(await settings()).toBe("plan:\n  concurrency: 2\n");
	}
	await run("config", "unset", "plan.concurrency");
	expect(await readdir(join(cwd, ".reyn/config"))).toEqual([]);
});
