/** Starting afresh from a shell: what a kill has left is ended and brought back, and a whole history is set aside. */
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { modelCalls, type Place, run, start } from "../cli.ts";
import { leaves, onTerminal, says } from "../faults/lab/command-line.ts";
import { needsAll } from "../faults/lab/needs.ts";
import { pageOf } from "../kit/page.ts";
import { some } from "../sample.ts";

let here: Place;
let root: string;
beforeEach(async () => {
	root = await mkdtemp(join(tmpdir(), "reyn-afresh-"));
	here = { cwd: join(root, "notes"), state: join(root, "state"), trace: join(root, "calls") };
	await mkdir(here.cwd);
	await writeFile(join(here.cwd, "foxes.md"), "# Foxes\n\nA fox sleeps by day.\n");
});
afterEach(() => rm(root, { recursive: true, force: true }));

const prompt = "Where does a fox sleep?";

/** Leaves a turn in flight. */
async function killed(): Promise<void> {
	const working = start(here, ["--pace", "60000", "run", "-p", prompt]);
	while (modelCalls(here).length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
	await working.kill();
}

const inFlight = async (): Promise<readonly object[]> =>
	JSON.parse((await run(here, ["--json", "reset", "--dry-run"])).stdout).work;

test("a chat that begins afresh ends what a kill has left, once somebody says so; one undo brings it back", async () => {
	await killed();

	const asked = await run(here, ["chat", "--reset"], "");
	expect([asked.code, asked.stderr]).toEqual([4, expect.stringMatching(/turn \d+ {2}Where does a fox sleep\?/)]);
	const afresh = await run(here, ["chat", "--reset", "--yes"], "/transcript\n");
	expect(afresh.code).toBe(0);
	expect(await run(here, ["resume"])).toMatchObject({
		code: 3,
		stderr: expect.stringContaining("nothing is in flight"),
	});
	expect((await run(here, ["undo", "--dry-run"])).stdout).toMatch(/^undo the end of all work by user \(#/m);
	const undone = JSON.parse((await run(here, ["--json", "undo", "--yes"])).stdout);
	const before = JSON.parse((await run(here, ["--json", "show", String(undone.target)])).stdout);
	expect(undone.hash).toBe(before.hash);
});

test("a history is set aside whole, and the next one goes on behind it", async () => {
	await run(here, ["run", "-p", prompt]);
	expect(await run(here, ["archive"])).toMatchObject({
		code: 4,
		stderr: expect.stringContaining("nothing was changed"),
	});
	const done = JSON.parse((await run(here, ["--json", "archive", "--yes"])).stdout);
	expect(done.now.first).toBe(done.was.tip + 1);
	expect((await run(here, ["log"])).stdout).not.toContain("fox");
	expect((await run({ ...here, state: done.to }, ["log"])).stdout).toContain(prompt);
	expect(await run(here, ["run", "-p", prompt])).toMatchObject({ code: 0 });
	expect((await readdir(root)).filter((name) => name.startsWith("state")).length).toBe(2);
	const [first] = (await run(here, ["wal", "inspect", "--json"])).stdout.split("\n");
	expect(JSON.parse(first ?? "")).toMatchObject({ seq: done.now.first, data: { follows: { log: done.was.log } } });
});

test("what is set aside ends bindings of tasks, and says which; the tasks stay", async () => {
	await run(here, ["run", "-p", prompt]);
	const none = JSON.parse((await run(here, ["--json", "archive", "--dry-run"])).stdout);
	expect(none.bindings).toEqual([]);
	await run(here, ["task", "add", "Write it down"]);
	const { stdout } = await run(here, ["archive", "--dry-run"]);
	expect(stdout).toContain(
		"ends the binding of a task; the tasks stay as they are:\n  t1  Write it down  (default/main is its requester; unassigned)\n",
	);
	await run(here, ["task", "assign", "t1"]);
	const both = JSON.parse((await run(here, ["--json", "archive", "--yes"])).stdout);
	expect(both.bindings.map(({ task, role }: { task: string; role: string }) => `${role} of ${task}`)).toEqual([
		...["requester of t1", "assignee of t1"],
	]);
	const found = JSON.parse((await run(here, ["--json", "task", "show", "t1"])).stdout);
	expect([found.task.title, "requester" in found, "assignee" in found]).toEqual(["Write it down", false, false]);
});

test("a policy for once is one of four", async () => {
	const { code, stderr } = await run(here, ["resume", "--policy", "maybe"]);
	expect([code, stderr]).toEqual([
		2,
		expect.stringContaining("Allowed choices are retry, skip, discard_skill, prompt"),
	]);
});

test("a skill that is run without restoring leaves what a kill has left to the next start", async () => {
	await killed();
	const input = JSON.stringify({ topic: "fox" });
	const ran = await run(here, ["skill", "run", "digest", "--input", input, "--no-restore"]);
	expect(ran.code).toBe(0);
	expect(await inFlight()).toMatchObject([{ kind: "turn" }]);
});

test.each([
	["with --no-restore leaves what a kill has left to the next start", ["--no-restore"], [{ kind: "turn" }]],
	["goes on with what a kill has left, beside what it begins", [], []],
] as const)("a page %s", async (_, options, left) => {
	await killed();
	const { process, ask } = await pageOf(start(here, ["ui", ...options]));
	const given = { name: "digest", input: { topic: "fox" } };
	expect(await ask("/api/begin", { verb: "skill run", given })).toMatchObject({ status: 200 });
	await expect.poll(async () => (await ask("/api/state")).body.holder).toBeNull();
	process.child.kill("SIGINT");
	expect(await process.ended).toMatchObject({ code: 130 });
	expect(await inFlight()).toMatchObject(left);
	expect((await run(here, ["log"])).stdout).toContain("digest");
});

const noTerminal = needsAll("script", "stty");

test.skipIf(typeof noTerminal === "string").each(
	some(
		[
			["n", 4, [{ kind: "turn" }]],
			["y", 0, []],
		] as const,
		2,
	),
)("a chat that begins afresh asks at a terminal: %s", async (answer, code, left) => {
	await killed();
	const terminal = await onTerminal(here, ["chat", "--reset", "--no-restore", "--plain"]);
	await says(terminal, "end it? [y/N]");
	expect(await inFlight()).toMatchObject([{ kind: "turn" }]);
	terminal.child.stdin?.write(`${answer}\n`);
	if (code === 0) {
		await says(terminal, "ask something");
		terminal.child.stdin?.write("/exit\n");
	}
	await leaves(here, code);
	terminal.child.stdin?.end();
	await terminal.ended;
	expect(await inFlight()).toMatchObject(left);
});
