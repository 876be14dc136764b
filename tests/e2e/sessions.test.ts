/** Whose talk a chat goes on with: a session by its name, the one that was talked in last, and one from a moment on. */
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Place, run } from "../cli.ts";
import { deepTest } from "../deep-test.ts";

let here: Place;
let root: string;
beforeAll(async () => {
	root = await mkdtemp(join(tmpdir(), "reyn-sessions-"));
	here = { cwd: join(root, "notes"), state: join(root, "state"), trace: join(root, "calls") };
	await mkdir(here.cwd);
	await writeFile(join(here.cwd, "foxes.md"), "# Foxes\n\nA fox sleeps by day. The den of a fox has two doors.\n");
});
afterAll(() => rm(root, { recursive: true, force: true }));

const chat = (args: readonly string[], lines: string) => run(here, ["chat", ...args], lines);

test("each session has its own talk; -c finds the last one, -r one that there is, --fork a moment", async () => {
	await chat([], "Where does a fox sleep?\n");
	const second = await chat(["--session", "work"], "How many doors has the den?\n");
	expect(second.stdout).toMatch(/^session work · #\d+ · a new conversation$/m);

	const last = await chat(["-c"], "/transcript\n");
	expect(last.stdout).toMatch(/^session work · #\d+ · 1 turn/m);
	expect(last.stdout).toMatch(/you:\n {2}How many doors/);
	expect(last.stdout).not.toContain("Where does a fox sleep?");

	const named = await chat(["-r", "default/main"], "/transcript\n");
	expect(named.stdout).toContain("Where does a fox sleep?");
	expect(named.stdout).not.toContain("How many doors");

	expect(await chat(["-r", "nope"], "")).toMatchObject({
		code: 3,
		stderr: expect.stringContaining("there is no session default/nope; there are default/main, default/work"),
	});
	expect(await chat(["-c", "--session", "work"], "")).toMatchObject({ code: 2 });
	expect(await chat(["--fork", "2"], "")).toMatchObject({ code: 4, stdout: "" });
	const page = join(root, "talk.html");
	const exported = await chat(["-r", "work"], `/export ${page}\n/export ${page}\n`);
	expect(exported.stdout).toContain(`what was said is in ${page}`);
	expect(exported.stdout + exported.stderr).toContain("talk.html is there already");
	expect(exported.code).toBe(4);
	expect(await readFile(page, "utf8")).toMatch(/<pre>How many doors has the den\?<\/pre>/);

	const forked = await chat(["--fork", "2", "--yes"], "/sessions\n");
	expect(forked.stdout).toMatch(/^checked out #2, /m);
	expect(forked.stdout).not.toContain("default/work");
});

deepTest("a question, and a script, are of the session that they name", async () => {
	const place = { ...here, state: join(root, "named") };
	const asked = await run(place, ["run", "--session", "work", "--json", "-p", "How many doors has the den?"]);
	expect(JSON.parse(asked.stdout)).toMatchObject({ reply: expect.stringContaining("two doors"), exitCode: 0 });
	await writeFile(join(root, "fox.ts"), 'export default (ctx) => ctx.agent("A fox?");');
	expect(await run(place, ["script", "run", "--session", "new", join(root, "fox.ts")])).toMatchObject({
		code: 0,
	});
	const bad = await run(place, ["script", "run", "--session", "default/none", join(root, "nofile.ts")]);
	expect(bad.code).toBe(3);
	const listed = await run(place, ["sessions"]);
	expect(listed.stdout).toMatch(/default\/work {2}2 messages/);
	expect(listed.stdout).toMatch(/default\/new {2}0 messages/);
	expect(listed.stdout).not.toContain("default/none");
	expect((await run(place, ["script", "list", "--json"])).stdout).toContain('"session":"new"');
});
