/** The command line as a person or a script meets it: what it prints, how it ends, and what it leaves alone. */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { carryOut as run } from "../carry-out.ts";
import { modelCalls, type Place, reyn, start, streamLines } from "../cli.ts";
import { deepTest } from "../deep-test.ts";

let root: string;
let here: Place;

beforeAll(async () => {
	root = await mkdtemp(join(tmpdir(), "reyn-cli-"));
	await mkdir(join(root, "project"));
	await writeFile(join(root, "project/foxes.md"), "# Foxes\n\nA fox sleeps by day. The den of a fox has two doors.\n");
	await writeFile(join(root, "project/owls.md"), "# Owls\n\nAn owl sleeps by day too. It hunts mice at night.\n");
	here = { cwd: join(root, "project"), state: join(root, "state"), trace: join(root, "calls.jsonl") };
	const ended = await run(here, ["run", "-p", "where does a fox sleep?"]);
	expect(ended.code, ended.stderr).toBe(0);
});
afterAll(() => rm(root, { recursive: true, force: true }));

/** One hash over the names and bytes of all files below a directory. */
async function hashOf(directory: string): Promise<string> {
	const hash = createHash("sha256");
	const entries = await readdir(directory, { recursive: true, withFileTypes: true }).catch(() => []);
	for (const entry of entries.sort((a, b) => (join(a.parentPath, a.name) < join(b.parentPath, b.name) ? -1 : 1))) {
		hash.update(join(entry.parentPath, entry.name));
		if (entry.isFile()) hash.update(await readFile(join(entry.parentPath, entry.name)));
	}
	return hash.digest("hex");
}

/** A copy of the state in which a line of the log is changed. */
async function damaged(name: string, change: (log: string) => string): Promise<Place> {
	const state = join(root, name);
	await cp(here.state, state, { recursive: true });
	const path = join(state, "state/wal.jsonl");
	await writeFile(path, change(await readFile(path, "utf8")));
	return { ...here, state, isCopy: true };
}

/** A command that drops the superuser's rights, nothing where there are none to drop, or why it cannot be done. */
function asNobody(): readonly string[] | string {
	if (process.getuid?.() !== 0)
		return process.platform === "win32" ? "directories cannot be closed to oneself here" : [];
	const command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
	const [name = "", ...args] = command;
	const tried = spawnSync(name, [...args, process.execPath, "--version"], { cwd: import.meta.dirname });
	const readable = spawnSync(name, [...args, "test", "-r", import.meta.filename]);
	return tried.status === 0 && readable.status === 0
		? command
		: "the superuser may read everything, and its rights cannot be dropped here";
}

test("what Node compiles is kept for the next command below a directory of the user", async () => {
	const home = join(here.cwd, "..", "cache-of-user");
	const { NODE_COMPILE_CACHE: _, ...env } = process.env;
	for (const cache of [home, "not/absolute"]) {
		const options = { env: { ...env, XDG_CACHE_HOME: cache, HOME: cache }, encoding: "utf8", cwd: here.cwd } as const;
		const { status, stderr } = spawnSync(process.execPath, [...reyn, "log", "--help"], options);
		expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
	}
	expect(await readdir(join(home, "reyn", "compiled"))).not.toEqual([]);
	expect(await readdir(here.cwd)).not.toContain("not");
});

describe("bad input ends with one clear line and a code of its own, and changes nothing", () => {
	test.each<[string, string[], number, RegExp]>([
		["an unknown seq", ["show", "999"], 3, /no seq 999; this log has 0 \(genesis\) to \d+/],
		["an unknown seq to rewind to", ["rewind", "999", "--yes"], 3, /no seq 999/],
		["an unknown seq to check out", ["checkout", "999", "--yes"], 3, /no seq 999/],
		["a ref that means nothing", ["show", "yesterday"], 2, /"yesterday" points at nothing; give a seq/],
		[
			"more checkpoints back than there are",
			["show", "@-50"],
			3,
			/goes 50 checkpoints back.*; see what there is with: reyn .*log\n/,
		],
		["an empty question", ["run", "-p", "  "], 2, /the question is empty/],
		["no question", ["run"], 2, /required option '-p, --prompt <text>'/],
		["an unknown command", ["chta"], 2, /unknown command 'chta'\s+\(Did you mean chat\?\)/],
		["an unknown flag", ["log", "--grap"], 2, /unknown option '--grap'\s+\(Did you mean --graph\?\)/],
		["an unknown mode", ["rewind", "1", "--mode", "half"], 2, /Allowed choices are both, conversation_only/],
		["an unknown plan", ["plan", "discard", "p77"], 3, /no plan "p77" is in flight; none is/],
		["an unknown skill run", ["skill", "discard", "s77"], 3, /no skill run "s77" is in flight/],
		["nothing to resume", ["resume"], 3, /nothing is in flight/],
		["a rewind that nobody confirmed", ["rewind", "0"], 4, /say --yes/],
		["a checkout that nobody confirmed", ["checkout", "0"], 4, /say --yes/],
		[
			"a directory that is not there",
			["--cwd", "/no/such/place", "run", "-p", "hi"],
			2,
			/cannot read \/no\/such\/place \(ENOENT\)/,
		],
	])("%s", async (_, args, code, message) => {
		const before = await hashOf(here.state);
		const ended = await run(here, args);
		expect(ended).toMatchObject({ code, stdout: "" });
		expect(ended.stderr).toMatch(message);
		expect(ended.stderr).not.toMatch(/\n\s+at /);
		expect(await hashOf(here.state)).toBe(before);
	});

	test("an empty directory, and one that holds only git's files", async () => {
		const cwd = join(root, "empty");
		await mkdir(join(cwd, ".git"), { recursive: true });
		const ended = await run({ ...here, cwd, state: join(cwd, ".reyn") }, ["run", "-p", "hi"]);
		expect(ended).toMatchObject({
			code: 2,
			stderr: expect.stringMatching(/has no files, and the offline model makes none; .*--model/),
		});
		expect(await readdir(cwd)).toEqual([".git"]);
	});

	const nobody = asNobody();
	test.skipIf(typeof nobody === "string")(
		`an unreadable directory${typeof nobody === "string" ? ` (skipped: ${nobody})` : ""}`,
		async () => {
			const cwd = join(root, "closed");
			await mkdir(cwd);
			await chmod(cwd, 0);
			await chmod(root, 0o755);
			const ended = await run(
				{ ...here, cwd, state: join(cwd, ".reyn") },
				["run", "-p", "hi"],
				undefined,
				nobody as readonly string[],
			);
			expect(ended).toMatchObject({
				code: 2,
				stderr: expect.stringMatching(
					/cannot read .*closed \(EACCES\); --cwd takes a directory that this user may read/,
				),
			});
			await chmod(cwd, 0o700);
		},
	);

	test("a damaged line in the middle of the log", async () => {
		const place = await damaged("damaged", (log) => log.replace('"kind":"user_prompt"', '"kind":"user_promqt"'));
		const path = join(place.state, "state/wal.jsonl");
		const before = await readFile(path);
		for (const args of [["log"], ["show", "3"], ["run", "-p", "hi"], ["chat"]]) {
			const ended = await run(place, args, args[0] === "chat" ? "" : undefined);
			expect(ended.code).toBe(5);
			expect(ended.stderr).toMatch(/wal\.jsonl, byte \d+: seq 2 was acknowledged as durable, and is not as it was/);
			expect(await readFile(path)).toEqual(before);
		}
	});

	test("a state directory of a newer format", async () => {
		const place = await damaged("newer", (log) => log.replaceAll('{"v":1,', '{"v":2,').replaceAll('"crc"', '"sum"'));
		const before = await readFile(join(place.state, "state/wal.jsonl"));
		for (const args of [["log"], ["run", "-p", "hi"]]) {
			expect(await run(place, args)).toMatchObject({
				code: 4,
				stderr: expect.stringMatching(/is in format 2; .*newer Reyn: upgrade/),
			});
			expect(await readFile(join(place.state, "state/wal.jsonl"))).toEqual(before);
		}
	});

	deepTest("a second process on the same state is done by the first, whose pid it says, and may look", async () => {
		const first = start(here, [
			"--pace",
			"60000",
			"run",
			"-p",
			"where does an owl sleep?",
			"--output-format",
			"stream-json",
		]);
		await expect.poll(() => modelCalls(here).some(({ pid }) => pid === first.child.pid)).toBe(true);
		const second = await run(here, ["label", "@", "beside"]);
		expect(second, second.stderr).toMatchObject({ code: 0 });
		expect(await run(here, ["script", "run", "none.ts"])).toMatchObject({ code: 3 });
		const asked = start(here, ["run", "-p", "hi", "--output-format", "stream-json"]);
		expect(JSON.parse(await asked.line('{"type":"init"'))).toMatchObject({
			turn: expect.any(Number),
			pid: first.child.pid,
			session: "default/main",
		});
		expect(await run(here, ["log"])).toMatchObject({ code: 0 });
		first.child.kill("SIGTERM");
		expect(await first.ended).toMatchObject({ code: 143 });
		expect(await asked.ended).toMatchObject({ code: 1 });
		expect(await run(here, ["resume"])).toMatchObject({ code: 0 });
	});

	test("an error is a JSON document too, where JSON was asked for; a stack trace comes only with -v", async () => {
		const ended = await run(here, ["show", "999", "--json"]);
		expect(JSON.parse(ended.stdout)).toMatchObject({
			error: { code: "TIMETRAVEL_OUT_OF_RANGE", details: { seq: 999 } },
		});
		expect((await run(here, ["show", "999", "-v"])).stderr).toMatch(/\n\s+at /);
		expect(JSON.parse((await run(here, ["frob", "--json"])).stdout)).toMatchObject({ error: { code: "CLI_USAGE" } });
	});
});

test("a torn tail is set aside, said in one line, and the work goes on", async () => {
	const place = await damaged("torn", (log) => `${log}{"v":1,"seq":`);
	const ended = await run(place, ["run", "-p", "hello"]);
	expect(ended.code).toBe(0);
	expect(ended.stderr).toMatch(/ended in 13 torn bytes that were never acknowledged/);
});

test("stream-json begins with init, ends with result, and every line parses", async () => {
	const ended = await run(here, [
		"run",
		"-p",
		"compare foxes and owls, with references",
		"--output-format",
		"stream-json",
	]);
	const types = streamLines(ended).map(({ type }) => type);
	expect(streamLines(ended)[0]).toEqual({
		...{ type: "init", session: "default/main", model: "offline" },
		...{ tip: expect.any(Number), pid: expect.any(Number) },
	});
	expect(ended.stdout.trimEnd().split("\n")).toHaveLength(types.length);
	expect([types[0], types.at(-1)]).toEqual(["init", "result"]);
	expect(types).toContain("plan_started");
	const [message] = streamLines(ended).filter(({ type }) => type === "message") as unknown as {
		message: { text: string };
	}[];
	expect(message?.message.text).toMatch(/foxes\.md:\d+[\s\S]*owls\.md:\d+/);
	expect(streamLines(ended).at(-1)).toMatchObject({ exitCode: 0, meter: { paid: { calls: expect.any(Number) } } });
});

test("a rewind can be previewed, applied, looked at and undone by a checkout, without a terminal", async () => {
	const json = async (args: readonly string[]): Promise<Record<string, unknown>> => {
		const ended = await run(here, [...args, "--json"]);
		expect(ended.code, ended.stderr).toBe(0);
		return JSON.parse(ended.stdout) as Record<string, unknown>;
	};
	const before = (await json(["show", "@"])) as { seq: number; hash: string };
	const hash = await hashOf(here.state);
	const workspace = await hashOf(here.cwd);
	for (const [flags, mode] of [
		[["--dry-run"], "both"],
		[["--mode", "cancel", "--yes"], "cancel"],
	] as const) {
		expect(await json(["rewind", "0", ...flags])).toMatchObject({ applied: false, preview: { mode } });
		expect(await hashOf(here.state)).toBe(hash);
	}

	const { result } = (await json(["rewind", "0", "--yes"])) as { result: { kind: string; seq: number } };
	expect(result).toMatchObject({ kind: "reset", target: 0 });
	expect(await json(["show", String(result.seq)])).toMatchObject({ messages: [], plans: [] });
	const history = (await json(["log"])) as { branches: { name: string }[] };
	expect(history.branches.map(({ name }) => name)).toEqual(["main", `b${result.seq}`]);
	expect((await run(here, ["log", "--graph"])).stdout).toMatch(/◆ {2}#\d+ {2}rewind to #0 \(both\) by user/);

	expect(await json(["checkout", "main", "--yes"])).toMatchObject({ kind: "fork_switch", hash: before.hash });
	// It is said that they are not touched.
	expect(await hashOf(here.cwd)).toBe(workspace);
});

test("killed the moment it says so, a rewind has been made", async () => {
	const place = { ...here, state: join(root, "said") };
	expect(await run(place, ["run", "-p", "where does a fox sleep?"])).toMatchObject({ code: 0 });
	const killed = start(place, ["rewind", "0", "--yes"]);
	await killed.says("done: rewound in #");
	await killed.kill();
	expect((await run(place, ["log", "--graph"])).stdout).toContain("rewind to #0 (both) by user");
	expect(JSON.parse((await run(place, ["show", "@", "--json"])).stdout)).toMatchObject({ messages: [] });
});

deepTest("chat takes lines from a pipe, and says at the next start what was restored", async () => {
	const place = { ...here, state: join(root, "chat") };
	const talk = await run(place, ["chat"], "hello\n/tree\n/nonsense\n/plan list\n/exit\n");
	// The lines after a command that failed are carried out, and the script that wrote them hears of it.
	expect(talk.code, talk.stderr).toBe(2);
	expect(talk.stdout).toMatch(
		/nothing was in flight[\s\S]*Hello[\s\S]*genesis[\s\S]*there is no \/nonsense[\s\S]*no plan is in flight/,
	);

	const killed = start(place, [
		"--pace",
		"400",
		"run",
		"-p",
		"compare foxes and owls, with references",
		"--output-format",
		"stream-json",
	]);
	await killed.says('"plan_step"');
	await killed.kill();
	const again = await run(place, ["chat"], "/exit\n");
	expect(again.code, again.stderr).toBe(0);
	expect(again.stdout).toMatch(/restored: plan p\d+, \d of \d steps done/);
	expect(again.stdout).toMatch(/unfinished work is kept; go on later with: reyn .*chat/);
	await writeFile(join(root, "asks.ts"), "export default (ctx) => ctx.ask('Which release?');");
	expect(await run(place, ["script", "run", join(root, "asks.ts")])).toMatchObject({ code: 4 });
	const left = await run(place, ["chat", "--no-restore"], "/plan list\n/plan\n/exit\n");
	expect(left.stdout).toMatch(/p\d+ {2}running {2}\d\/\d/);
	// What nobody was told of in this process.
	expect(left.stdout).toMatch(/^[✓▸·] s1 {2}.+ \((completed|running|waits)/m);
	expect(left.stdout).toMatch(/answer with: \/answer \d+ "…"$/m);
	expect(left.stdout).toMatch(/^\? #\d+ script r\w+ asks: Which release\?$/m);
	const calls = modelCalls(place).length;
	const done = await run(place, ["resume"]);
	expect(done.code, done.stderr).toBe(0);
	expect(done.stdout).toMatch(/foxes\.md:\d+/);
	expect(modelCalls(place).length).toBeGreaterThan(calls);
});

test("nothing that a file says can move the cursor", async () => {
	await writeFile(join(here.cwd, "evil.md"), "# Evil\n\nevil \u001b[2J\u001b]0;title\u0007\u202e text about badgers\n");
	const ended = await run(here, ["run", "-p", "where are badgers?"]);
	expect(ended.stdout).toContain("badgers");
	// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this looks for
	expect(ended.stdout + ended.stderr).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202e]/);
	await rm(join(here.cwd, "evil.md"));
});
