/** `shell`: how commands end, what is kept of what they print, and that one is begun once, whatever dies meanwhile. */
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { testTool } from "@reyn/journal/testing";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { startSource } from "../../../tests/kit/killable.ts";
import { SEED } from "../../../tests/kit/seeded.ts";
import { findCommand, runCommand } from "../src/shell/command.ts";
import { hasBubblewrap } from "../src/shell/confinement.ts";
import { createShellTool, type ShellOptions } from "../src/shell/index.ts";

let root: string;
beforeEach(async () => {
	root = await realpath(await mkdtemp(join(tmpdir(), "reyn-shell-")));
	await mkdir(join(root, "files"));
});
afterEach(() => rm(root, { recursive: true, force: true }));

const { signal } = new AbortController();
const shell = (more: Partial<ShellOptions> = {}) =>
	createShellTool(join(root, "files"), {
		records: join(root, "commands"),
		env: { PATH: process.env.PATH },
		confine: false,
		...more,
	});
test("what is recorded of a command before it begins is the command, cut to a name", async () => {
	const prepared = (command: string) => shell().prepare?.({ command }, { signal });
	expect(await prepared("npm test")).toEqual({ command: "npm test" });
	expect(await prepared(`${"x".repeat(498)}🦊x`)).toEqual({ command: `${"x".repeat(498)}\ufffd…` });
});

let keys = 0;
const run = async (command: string, more: object = {}, until = signal): Promise<string> =>
	String(await shell().call({ command, ...more }, { signal: until, idempotencyKey: `key ${keys++}` }));

/** Processes of the machine whose command line has a text in it. */
const processesWith = (text: string): readonly string[] =>
	readdirSync("/proc").filter((pid) => {
		if (!/^\d+$/.test(pid) || Number(pid) === process.pid) return false;
		try {
			return execFileSync("cat", [`/proc/${pid}/cmdline`], {
				encoding: "utf8",
				stdio: ["ignore", "pipe", "ignore"],
			}).includes(text);
		} catch {
			return false;
		}
	});

testTool(
	{ describe, test, expect },
	{
		name: "shell",
		make: shell,
		args: { command: "echo one" },
		refused: [{}, { command: "" }, { command: "a\0b" }, { command: "true", timeout_seconds: 0 }],
	},
);

describe("a command", () => {
	test.each([
		["echo one; echo two >&2", /^it ended with 0 after \d+\.\d s:\none\ntwo$/],
		["exit 3", /^it ended with 3 after \d+\.\d s, and printed nothing$/],
		["kill -9 $$", /^it was ended by SIGKILL after/],
		["nothing-of-this-name", /^it ended with 127 after .*:\n.*not found$/s],
		['read x; echo "got $x"', /^it ended with 0 after .*:\ngot$/s],
		["printf 'a\\033[31mred\\033[0m\\rb\\n'", /:\naredb$/],
		["printf '\\377\\376 half \\360\\237'", /half$/],
		["pwd", /files$/],
	])("%j says how it ended, and what it printed", async (command, said) => {
		expect(await run(command)).toMatch(said);
	});

	test("that is not in PATH, or a directory that is gone, is said", async () => {
		const tool = createShellTool(join(root, "gone"), { records: join(root, "commands"), env: {} });
		await expect(tool.call({ command: "true" }, { signal, idempotencyKey: "k" })).rejects.toThrow(/ENOENT/);
	});

	test("that prints without an end is kept as it begins and ends, and holds nothing up", async () => {
		const text = await run("echo first; head -c 30000000 /dev/zero | tr '\\0' x; echo; echo last");
		expect(text).toMatch(/^it ended with 0 after .*:\nfirst\nxxx/s);
		expect(text).toMatch(/xxx\nlast$/);
		expect(text).toMatch(/\n… 30 MB left out …\n/);
		expect(text.length).toBeLessThan(34_000);
		const kept = execFileSync("du", ["-sb", join(root, "commands")], { encoding: "utf8" });
		expect(Number.parseInt(kept, 10)).toBeLessThan(9_000_000);
	});

	test("that takes too long is stopped with all that it has begun", async () => {
		const mark = `41${SEED}07`;
		expect(await run(`sleep ${mark} & sleep ${mark}; echo no`, { timeout_seconds: 1 })).toMatch(
			/^it was stopped after 1\.\d s, its limit, and printed nothing$/,
		);
		await expect.poll(() => processesWith(mark)).toEqual([]);
		expect(await run(`sleep ${mark} & echo left`)).toMatch(/:\nleft$/);
		await expect.poll(() => processesWith(mark)).toEqual([]);
		// It does not want to hear that it is to end.
		expect(await run(`trap '' TERM; while :; do sleep 0.1; done`, { timeout_seconds: 1 })).toMatch(
			/^it was stopped after [1-9]/,
		);
	});

	test("is stopped with the work that has begun it, and that is its outcome", async () => {
		const stop = new AbortController();
		const asked = run("echo begun; touch begun; sleep 100", {}, stop.signal);
		await expect.poll(() => existsSync(join(root, "files/begun"))).toBe(true);
		stop.abort(new Error("no more"));
		expect(await asked).toMatch(/^it was stopped after .* s, with the work that had begun it:\nbegun$/);
	});

	test("is stopped by who asks for that as it begins, and that is its outcome", async () => {
		const mark = `43${SEED}07`;
		// As early as anybody knows of it: its first act.
		for (let each = 0; each < 5; each++)
			expect(await run(`kill -TERM $PPID; sleep ${mark}`)).toMatch(/^it was stopped after .* s, with the work/);
		await expect.poll(() => processesWith(mark)).toEqual([]);
	});

	test("leaves no secret of what it prints, however it ends, and keeps each byte of what is none", async () => {
		const redact = (text: string): string => text.replaceAll("canary", "[redacted]");
		const tool = shell({ redact });
		const say = async (command: string, more: object = {}): Promise<string> =>
			String(await tool.call({ command, ...more }, { signal, idempotencyKey: `secret ${keys++}` }));
		expect(await say("echo a canary; echo b >&2")).toMatch(/:\na \[redacted\]\nb$/);
		expect(await say("echo canary; sleep 100", { timeout_seconds: 1 })).toMatch(/its limit:\n\[redacted\]$/);
		const long = await say("echo canary; head -c 30000000 /dev/zero | tr '\\0' x; echo; echo canary");
		expect([long.slice(0, 60), long.slice(-11)]).toEqual([
			expect.stringMatching(/:\n\[redacted\]\nxxx/),
			"\n[redacted]",
		]);
		await say("printf '\\377\\376 canary \\000 \\351'");
		const texts = readdirSync(join(root, "commands"), { recursive: true, encoding: "utf8" })
			.map((name) => join(root, "commands", name))
			.filter((path) => statSync(path).isFile())
			.map((path) => readFileSync(path));
		const ends = texts.flatMap((text) => /"end":"([^"]+)"/.exec(text.toString())?.[1] ?? []);
		expect(ends).toHaveLength(1);
		for (const text of [...texts, Buffer.from(ends[0] ?? "", "base64")]) expect(text.includes("canary")).toBe(false);
		expect(texts.some((text) => text.equals(Buffer.from("\xff\xfe [redacted] \0 \xe9", "latin1")))).toBe(true);
	});

	test("has the environment that it was given, and no other", async () => {
		process.env.REYN_TEST_SECRET = "canary";
		try {
			expect(await run("env")).not.toMatch(/canary|NODE/);
		} finally {
			delete process.env.REYN_TEST_SECRET;
		}
	});

	test("says what it would do, and what a lasting permission covers", async () => {
		const wants = async (command: string) => (await shell().wants?.({ command }, { signal }))?.[0];
		expect(await wants("npm test --silent")).toMatchObject({
			action: "run",
			subject: "npm test --silent",
			covers: "npm test",
		});
		expect(await wants("ls -la")).toMatchObject({ covers: "ls" });
		for (const command of [
			"npm test; rm -rf x",
			"npm test $(x)",
			"npm  test",
			"A=b npm test\n",
			"npm test > x",
			"'npm' test",
			"~/x y",
		])
			expect([command, (await wants(command))?.covers]).toEqual([command, undefined]);
		expect((await wants("ls"))?.shows).toEqual(["not confined: it can do all that you can", "for 120 s at most"]);
	});
});

describe("after a crash", () => {
	const at = (): string => join(root, "commands/one");
	const spec = (command: string) => ({
		...{ argv: ["/bin/sh", "-c", command], cwd: join(root, "files"), timeoutMs: 60_000 },
		env: { PATH: process.env.PATH ?? "" },
	});

	test("what was never begun is known not to be, and will not be", async () => {
		expect(await findCommand(at(), signal)).toBe("never");
		// Its directory is there, and whoever was to run it is late.
		await mkdir(join(at(), "1-aaaaaa"), { recursive: true });
		expect(await findCommand(at(), signal)).toBe("never");
		const late = startSource(join(import.meta.dirname, "../src/shell/runner.ts"), [join(at(), "1-aaaaaa")], {
			input: JSON.stringify(spec("touch done")),
		});
		expect((await late.ended).code).toBe(1);
		expect(existsSync(join(root, "files/done"))).toBe(false);
		expect(await findCommand(at(), signal)).toBe("never");
	});

	test("one whose starter died before it had said all is not run", async () => {
		await mkdir(join(at(), "1-aaaaaa"), { recursive: true });
		const half = startSource(join(import.meta.dirname, "../src/shell/runner.ts"), [join(at(), "1-aaaaaa")], {
			input: JSON.stringify(spec("touch done")).slice(0, -1),
		});
		expect((await half.ended).code).not.toBe(0);
		expect(await findCommand(at(), signal)).toBe("never");
		expect(existsSync(join(root, "files/done"))).toBe(false);
	});

	test("one that has ended is found as it ended; one whose process is gone is unknown", async () => {
		await runCommand(at(), spec("echo one"), signal);
		const found = await findCommand(at(), signal);
		expect(found).toMatchObject({ status: { code: 0 }, head: Buffer.from("one\n") });
		const [attempt = ""] = readdirSync(at());
		const redact = (text: string): string => text.replace("one", "[redacted]");
		expect(await findCommand(at(), signal, redact)).toMatchObject({ head: Buffer.from("[redacted]\n") });
		expect(readFileSync(join(at(), attempt, "output"), "utf8")).toBe("[redacted]\n");
		await rm(join(at(), attempt, "status.json"));
		expect(await findCommand(at(), signal)).toBe("unknown");
		// Another process has its number by now.
		await writeFile(join(at(), attempt, "runner.json"), JSON.stringify({ pid: process.pid, start: "1" }));
		expect(await findCommand(at(), signal)).toBe("unknown");
		await writeFile(join(at(), attempt, "status.json"), "{");
		expect(await findCommand(at(), signal)).toBe("unknown");
	});

	test("what cannot be written without its secret goes, and how it ended is known all the same", async () => {
		await runCommand(at(), spec("echo canary; exit 3"), signal);
		const directory = join(at(), readdirSync(at())[0] ?? "");
		// As a full disk does, this leaves no room for the copy.
		await mkdir(join(directory, "output.tmp"));
		const redact = (text: string): string => text.replace("canary", "[redacted]");
		expect(await findCommand(at(), signal, redact)).toMatchObject({ status: { code: 3 }, head: Buffer.alloc(0) });
		expect(existsSync(join(directory, "output"))).toBe(false);
	});

	test.each(["", '{"pid":"1"}'])(
		"one that nobody knows who runs it (%j) is unknown, and waited for a while",
		async (text) => {
			await mkdir(join(at(), "1-aaaaaa"), { recursive: true });
			await writeFile(join(at(), "1-aaaaaa/runner.json"), text);
			const stop = new AbortController();
			const stopped = findCommand(at(), stop.signal);
			stop.abort(new Error("no more"));
			await expect(stopped).rejects.toThrow();
			expect(await findCommand(at(), signal)).toBe("unknown");
			expect(readdirSync(join(at(), "1-aaaaaa"))).toEqual(["runner.json"]);
		},
	);

	test("one that runs is waited for, and stopped with whoever waits", async () => {
		const first = runCommand(at(), spec("echo on; while [ ! -e go ]; do sleep 0.05; done; echo off"), signal);
		await expect
			.poll(() => existsSync(at()) && readdirSync(join(at(), readdirSync(at())[0] ?? "")).includes("runner.json"))
			.toBe(true);
		const joined = findCommand(at(), signal);
		await writeFile(join(root, "files/go"), "");
		expect(await joined).toMatchObject({ status: { code: 0 }, head: Buffer.from("on\noff\n") });
		await first;
		await rm(at(), { recursive: true });
		const second = runCommand(at(), spec("touch begun; sleep 100"), signal);
		await expect.poll(() => existsSync(join(root, "files/begun"))).toBe(true);
		const stop = new AbortController();
		const waiting = findCommand(at(), stop.signal);
		await pause(100);
		stop.abort(new Error("no more"));
		await expect(waiting).rejects.toThrow();
		expect(await second).toMatchObject({ status: { stopped: "asked" } });
		expect(await findCommand(at(), signal)).toMatchObject({ status: { stopped: "asked" } });
	});
});

const hasWalls = await hasBubblewrap();
if (!hasWalls) console.log("confined commands are not tried: there is no bubblewrap here, or it may not be used");

describe.skipIf(!hasWalls)("confined", () => {
	test("it writes in its directory and in a temporary one alone, and sees nothing of what is closed", async () => {
		await mkdir(join(root, "closed"));
		await writeFile(join(root, "closed/secret"), "canary");
		const tool = shell({ confine: true, closed: [join(root, "closed")] });
		const said = String(
			await tool.call(
				{
					command: `touch here /tmp/there && echo yes; touch ${root}/above; cat ${root}/closed/secret; ps ax | wc -l; kill -9 ${process.pid}`,
				},
				{ signal, idempotencyKey: "confined" },
			),
		);
		expect(said).toMatch(/^it ended with \d+ after .*\nyes\n/s);
		expect(said).not.toContain("canary");
		expect(existsSync(join(root, "above"))).toBe(false);
		expect(existsSync(join(root, "files/here"))).toBe(true);
		expect((await tool.wants?.({ command: "ls" }, { signal }))?.[0]?.shows?.[0]).toMatch(/^confined/);
	});

	test("all that it begins ends with it, also what has left its group", async () => {
		const mark = `43${SEED}09`;
		const tool = shell({ confine: true });
		expect(
			String(await tool.call({ command: `setsid sleep ${mark} & echo left` }, { signal, idempotencyKey: "left" })),
		).toMatch(/left$/);
		await expect.poll(() => processesWith(mark)).toEqual([]);
	});
});
