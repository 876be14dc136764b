/** The main job, as the README promises it. */
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { carryOut } from "../carry-out.ts";
import { run } from "../cli.ts";
import { sample } from "../sample.ts";

let root: string;
beforeAll(async () => {
	root = await mkdtemp(join(tmpdir(), "reyn-demo-test-"));
});
afterAll(() => rm(root, { recursive: true, force: true }));

// Killed early: on a busy machine a plan near its end may be over before the kill.
const here: [string, string, string[]] = ["this repository", join(import.meta.dirname, "../.."), ["--crash-at", "2"]];
const folder = join(import.meta.dirname, "../../packages/wal");

const small: typeof here = ["one of its folders, killed after the first step", folder, ["--crash-at", "1"]];

const empty: typeof here = ["an empty directory", "", ["--crash-at", "1"]];

test.each(sample([empty], [here, small, empty]))(
	"the demo on %s: killed, resumed, forked, back",
	async (name, given, more) => {
		const cwd = given === "" ? await mkdtemp(join(root, "empty-")) : given;
		const keep = join(root, name.replace(/\W+/g, "-"));
		const { code, stdout, stderr } = await run({ cwd, state: keep, trace: join(root, "trace") }, [
			"demo",
			"--keep",
			keep,
			...more,
		]);
		expect(code, stderr).toBe(0);
		// What is under way is counted by what was said of it: on a busy machine the last step to be begun may be over as well.
		expect(stdout).toMatch(/killed: process \d+, SIGKILL, after \d of \d steps, with \d under way/);
		expect(stdout).toMatch(/restored: plan p\d+, \d of \d steps done \(\d+ calls, \d+ tokens, not paid again\)/);
		expect(stdout).toMatch(/finished steps made 0 model calls in process/);
		expect(stdout).toMatch(/\w+\.\w+:\d+/);
		expect(stdout).toMatch(/◆ {2}#\d+ {2}rewind to #\d+ \(both\) by user/);
		expect(stdout).toMatch(/│ ○/);
		const [, before] = /state at #\d+, before we leave it: ([0-9a-f]{64})/.exec(stdout) ?? [];
		expect(stdout).toContain(`state now:     ${before}   equal`);
		for (const mode of ["both", "conversation_only", "code_only", "summarize", "cancel"])
			expect(stdout).toMatch(new RegExp(`^ {2}${mode} +\\d+ records beyond`, "m"));
		expect(stdout).toMatch(/a note about all since #\d+ joined the conversation/);

		const again = await carryOut({ cwd, state: keep, trace: join(root, "trace") }, ["demo", "--keep", keep]);
		expect(again).toMatchObject({ code: 4, stderr: expect.stringMatching(/has something in it already/) });
		if (given === "") expect(await readdir(cwd)).toEqual([]);
	},
);

test("a directory that has something of somebody else in it is not used, and nothing is asked in it", async () => {
	const keep = join(root, "taken");
	await mkdir(keep);
	await writeFile(join(keep, "notes.txt"), "mine");
	const taken = await carryOut({ cwd: join(import.meta.dirname, "../.."), state: keep, trace: join(root, "none") }, [
		"demo",
		"--keep",
		keep,
	]);
	expect(taken).toMatchObject({ code: 4, stdout: "", stderr: expect.stringMatching(/has something in it already/) });
	expect(await readdir(keep)).toEqual(["notes.txt"]);
});
