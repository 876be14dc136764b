/** Work that is begun from one terminal while a chat in another one has the log: it goes on there, and is told here. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { modelCalls, type Place, run, start, streamLines } from "../cli.ts";
import { deepTest } from "../deep-test.ts";
import type { Killable } from "../kit/killable.ts";

const PLANNED = 'How do "foxes", "dens" and "doors" hang together?';

let root: string;
let here: Place;
let chat: Killable | undefined;
beforeEach(async () => {
	root = await mkdtemp(join(tmpdir(), "reyn-elsewhere-"));
	here = { cwd: join(root, "notes"), state: join(root, "state"), trace: join(root, "calls") };
	await mkdir(here.cwd);
	await writeFile(join(here.cwd, "foxes.md"), "# Foxes\n\nA fox sleeps by day. The den of a fox has two doors.\n");
	await writeFile(join(here.cwd, "dens.md"), "# Dens\n\nDens have doors. Foxes dig them.\n");
});
afterEach(async () => {
	await chat?.kill();
	await rm(root, { recursive: true, force: true });
});

async function chatting(): Promise<Killable> {
	chat = start(here, ["chat"], "as it goes");
	await chat.says("a new conversation");
	return chat;
}

/** Runs a script that ends once there is a file of that name, and watches it. */
async function waiting(name: string): Promise<{ readonly process: Killable; readonly run: string }> {
	const path = join(root, "waits.ts");
	await writeFile(
		path,
		'export default async (ctx, name) => { while (!(await ctx.tool("list")).includes(name)) await ctx.sleep(20); return name; };',
	);
	const process = start(here, ["script", "run", path, "--args", JSON.stringify(name)]);
	await process.says("it works in process", "stderr");
	return { process, run: /script run (r\w+) started/.exec(process.stderr())?.[1] ?? "" };
}

test("what is said of how the work is done is refused where another process does it, and nothing is begun", async () => {
	const { child } = await chatting();
	expect((await run(here, ["status"])).stdout).toBe(`nothing is unfinished\nprocess ${child.pid} has it open\n`);
	await writeFile(join(root, "answers.yaml"), "- { to: x, answer: y }\n");
	for (const [flag, value] of [
		["--plan", "never"],
		["--mode", "read-only"],
		["--answers", join(root, "answers.yaml")],
	] as const) {
		const ended = await run(here, ["run", "-p", PLANNED, flag, value]);
		expect(ended).toMatchObject({ code: 4, stdout: "" });
		expect(ended.stderr).toMatch(
			new RegExp(`another process has the log.*; ${flag} would count for nothing, so nothing was begun`),
		);
	}
	expect(modelCalls(here)).toEqual([]);
	expect((await run(here, ["run", "-p", "Where does a fox sleep?"])).code).toBe(0);
});

test("a question is answered on the terminal that asked it, and in the chat, and so is what was said told in short", async () => {
	const held = await chatting();
	const asked = await run(here, ["run", "-p", "Where does a fox sleep?"]);
	expect(asked).toMatchObject({ code: 0, stdout: expect.stringContaining("A fox sleeps by day.") });
	expect(asked.stderr).toContain(`it works in process ${held.child.pid}, which has the log`);
	expect(asked.stderr).toContain("· search ");
	await held.says("A fox sleeps by day.");

	const compacted = await run(here, ["compact", "--json"]);
	expect(JSON.parse(compacted.stdout)).toMatchObject({
		...{ pid: held.child.pid, followed: "over", reply: "", exitCode: 0 },
		compacted: { before: expect.any(Number), after: expect.any(Number) },
	});
	await held.says("what was said is told in short from here on");
	expect((await run(here, ["compact"])).stderr).toMatch(/^reyn: nothing was said in default\/main since/);

	const planned = await run(here, ["run", "--json", "-p", PLANNED]);
	const document = JSON.parse(planned.stdout);
	expect(document).toMatchObject({ pid: held.child.pid, exitCode: 0, turn: expect.any(Number) });
	expect(document.messages).toMatchObject([
		{ from: expect.stringMatching(/^p/), text: expect.stringContaining("foxes") },
	]);
	expect(planned.code).toBe(0);

	const streamed = streamLines(await run(here, ["run", "--output-format", "stream-json", "-p", "What is a den?"]));
	expect(streamed[0]).toMatchObject({ type: "init", pid: held.child.pid });
	expect(streamed.map(({ type }) => type)).toEqual(expect.arrayContaining(["reply", "turn_end"]));
	expect(streamed.at(-1)).toMatchObject({ type: "result", exitCode: 0, reply: expect.any(String) });
	expect(new Set(modelCalls(here).map(({ pid }) => pid))).toEqual(new Set([held.child.pid]));
});

test("a script gives its result, or why it failed, and its own exit code", async () => {
	await chatting();
	const file = async (name: string, source: string): Promise<string> => {
		await writeFile(join(root, name), source);
		return join(root, name);
	};
	const good = await file("good.ts", 'export default async (ctx) => [await ctx.agent("A fox?"), 2];');
	const bad = await file("bad.ts", 'export default () => { throw new Error("no den"); };');
	const done = await run(here, ["script", "run", "--json", good]);
	expect(JSON.parse(done.stdout)).toMatchObject({ status: "completed", result: [expect.any(String), 2], exitCode: 0 });
	const failed = await run(here, ["script", "run", bad]);
	expect(failed).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("failed: no den") });
});

deepTest("who leaves lets it go on; whose chat is killed is told so", async () => {
	const held = await chatting();
	const left = await waiting("one.md");
	left.process.child.kill("SIGINT");
	const goesOn = `it goes on in process ${held.child.pid}`;
	expect(await left.process.ended).toMatchObject({ code: 130, stderr: expect.stringContaining(goesOn) });

	const lost = await waiting("two.md");
	await writeFile(join(here.cwd, "one.md"), "");
	await held.says(`script run ${left.run} completed`);
	await held.kill();
	const end = await lost.process.ended;
	expect(end).toMatchObject({ code: 1, stdout: "" });
	expect(end.stderr).toMatch(
		new RegExp(`process ${held.child.pid} has ended before it; go on with: reyn .*script resume ${lost.run}\\n`),
	);
	await writeFile(join(here.cwd, "two.md"), "");
	expect(await run(here, ["script", "resume", lost.run])).toMatchObject({ code: 0, stdout: "two.md\n" });
});

deepTest("work that a rewind takes away ends for who watches it", async () => {
	await chatting();
	const { process } = await waiting("never.md");
	expect(await run(here, ["checkout", "0", "--yes"])).toMatchObject({ code: 0 });
	expect(await process.ended).toMatchObject({ code: 1, stderr: expect.stringContaining("a rewind has taken it back") });
});
