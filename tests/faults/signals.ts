/** Row 41: the command line is told to stop, its terminal is closed, or whoever reads its output goes: it closes its log. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Ended, Place } from "../cli.ts";
import { type Case, type Fault, needsAll, random, runCases } from "./fault.ts";
import { sleep, withDirectory } from "./start.ts";

const QUESTION = "How do foxes and owls work together, and what could break? Compare their days in detail";
const ASK = ["--pace", "150", "run", "-p", QUESTION, "--output-format", "stream-json"];
/** In reyn itself: a moment after the first step has begun. */
const UNDER_WAY = '"plan_step"';

const quick: readonly Case[] = [
	{
		name: "chat on a terminal, SIGTERM",
		needs: () => needsAll("script", "stty"),
		run: () => onTerminal("SIGTERM", 143),
	},
];

const cases: readonly Case[] = [
	...quick,
	{ name: "run, SIGTERM", run: () => stopped("SIGTERM", 143) },
	{ name: "run, SIGINT", run: () => stopped("SIGINT", 130) },
	{ name: "run, SIGHUP", run: () => stopped("SIGHUP", 129) },
	{ name: "run, SIGTERM at random moments", run: ({ rounds, seed }) => atRandom(rounds ?? 25, random(seed)) },
	{
		name: "chat on a terminal, Ctrl-C twice",
		needs: () => needsAll("script", "stty"),
		run: () => onTerminal("keys", 130),
	},
	{
		name: "chat on a terminal, SIGHUP",
		needs: () => needsAll("script", "stty"),
		run: () => onTerminal("SIGHUP", 129),
	},
	{ name: "chat, its terminal closed", needs: () => needsAll("script"), run: terminalClosed },
	{ name: "run, the reader of stdout goes", bug: "B15", run: () => readerGone("stdout") },
	{ name: "run, the reader of stderr goes", bug: "B15", run: () => readerGone("stderr") },
	{ name: "log, the reader goes", needs: () => needsAll("head"), run: lookerGone },
];

export const fault: Fault = {
	name: "signals",
	rows: [41],
	title:
		"the command line is stopped, hung up or not read any more: a clean close, an exit code, the terminal restored",
	needs: () => (process.platform === "win32" ? "needs signals" : undefined),
	run: (settings) => runCases(settings.short ? quick : cases, settings),
};

/** The command line lies outside what the planted defects copy. */
const cli = () => import("../cli.ts");

async function stopped(signal: NodeJS.Signals, code: number): Promise<string> {
	return withPlace(async (here) => {
		const { start, run } = await cli();
		const { child, ended } = start(here, ASK);
		await says(child, "stdout", UNDER_WAY);
		child.kill(signal);
		const end = await ended;
		assert.equal(end.code, code, `it ended with ${end.code ?? end.signal}: ${end.stderr}`);
		await isClosed(here);
		const again = await run(here, ["resume"]);
		assert.equal(again.code, 0, again.stderr);
		return `exit ${code}, the log closed, resume goes on`;
	});
}

/** Also while it starts, when nobody listens to signals yet: it is as killed then, and nothing is torn. */
async function atRandom(rounds: number, next: () => number): Promise<string> {
	const { start } = await cli();
	const ends = new Map<string, number>();
	for (let i = 0; i < rounds; i++) {
		await withPlace(async (here) => {
			const { child, ended } = start(here, ASK);
			await sleep(next() * 2000);
			child.kill("SIGTERM");
			const { code, signal, stderr } = await ended;
			const how = code === null ? `${signal} while it starts` : `exit ${code}`;
			assert.ok(["SIGTERM while it starts", "exit 143", "exit 0"].includes(how), `${how}: ${stderr}`);
			if (code !== null) await isClosed(here);
			else if (existsSync(logOf(here))) await isSound(here);
			ends.set(how, (ends.get(how) ?? 0) + 1);
		});
	}
	return `${rounds} rounds, none torn: ${[...ends].map(([how, count]) => `${how} ${count}`).join(", ")}`;
}

async function onTerminal(how: NodeJS.Signals | "keys", code: number): Promise<string> {
	return withPlace(async (here) => {
		const terminal = await chatOnTerminal(here);
		await says(terminal, "stdout", "/help");
		await sleep(300);
		if (how === "keys")
			for (let press = 0; press < 2; press++) {
				terminal.stdin?.write("\x03");
				await sleep(300);
			}
		else process.kill(Number(await readFile(noteOf(here, "pid"), "latin1")), how);
		const [before, after] = [await appears(noteOf(here, "before")), await appears(noteOf(here, "after"))];
		assert.equal((await readFile(noteOf(here, "code"), "latin1")).trim(), String(code));
		assert.equal(after, before, "the terminal is not as it was");
		terminal.stdin?.end();
		await isClosed(here);
		return `exit ${code}, the terminal as before, the log closed`;
	});
}

async function terminalClosed(): Promise<string> {
	return withPlace(async (here) => {
		const terminal = await chatOnTerminal(here);
		await says(terminal, "stdout", "/help");
		const pid = Number(await readFile(noteOf(here, "pid"), "latin1"));
		terminal.kill("SIGKILL");
		for (let tries = 0; existsSync(`/proc/${pid}/fd/0`) && tries < 100; tries++) await sleep(50);
		assert.ok(!existsSync(`/proc/${pid}/fd/0`), "it goes on without a terminal");
		await isClosed(here);
		return "ended, the log closed";
	});
}

/** Nobody reads any more, so it stops, and does not say that it did what was asked. */
async function readerGone(which: "stdout" | "stderr"): Promise<string> {
	return withPlace(async (here) => {
		const { start } = await cli();
		const { child, ended } = start(here, which === "stdout" ? ASK : ASK.slice(0, -2));
		await says(child, which, which === "stdout" ? UNDER_WAY : "▸");
		child[which]?.destroy();
		const { code, signal } = await ended;
		await isClosed(here);
		assert.notEqual(code, 0, "it says that it did what was asked");
		return `ended with ${code ?? signal}, the log closed`;
	});
}

async function lookerGone(): Promise<string> {
	return withPlace(async (here) => {
		const { run } = await cli();
		assert.equal((await run(here, ["run", "-p", "where does a fox sleep?"])).code, 0);
		const piped: Ended = await run(here, ["log"], undefined, ["sh", "-c", '{ "$@"; echo $? >&2; } | head -c 1', "sh"]);
		assert.equal(piped.stderr.trim(), "0", "a reader that has seen enough is no error");
		await isClosed(here);
		return "exit 0";
	});
}

async function withPlace<T>(use: (here: Place) => Promise<T>): Promise<T> {
	return withDirectory(async (root) => {
		const cwd = join(root, "project");
		await mkdir(cwd);
		await writeFile(join(cwd, "foxes.md"), "# Foxes\n\nA fox sleeps by day. The den of a fox has two doors.\n");
		await writeFile(join(cwd, "owls.md"), "# Owls\n\nAn owl sleeps by day too. It hunts mice at night.\n");
		return use({ cwd, state: join(root, "reyn"), trace: join(root, "calls.jsonl") });
	});
}

/** `reyn chat` as the only program of a terminal, with the terminal's settings noted before and after. */
async function chatOnTerminal(here: Place): Promise<ChildProcess> {
	const chat = `${process.execPath} --conditions=@reyn/source ${join(import.meta.dirname, "../../apps/cli/src/bin.ts")}`;
	const note = (name: string): string => noteOf(here, name);
	const script = [
		`stty -g > ${note("before")}`,
		`sh -c 'echo $$ > ${note("pid")}; exec ${chat} --cwd ${here.cwd} --state ${here.state} chat'`,
		`echo $? > ${note("code")}`,
		`stty -g > ${note("after.tmp")}; mv ${note("after.tmp")} ${note("after")}`,
	].join("\n");
	await writeFile(note("script"), script);
	const env = { ...process.env, NO_COLOR: "1", TERM: "xterm" };
	return spawn("script", ["-qec", `sh ${note("script")}`, "/dev/null"], { stdio: ["pipe", "pipe", "ignore"], env });
}

const noteOf = ({ cwd }: Place, name: string): string => join(cwd, "..", name);
const logOf = ({ state }: Place): string => join(state, "state/wal.jsonl");

/** Resolves when that was written; rejects when the program ends without it. */
function says(child: ChildProcess, on: "stdout" | "stderr", what: string): Promise<void> {
	return new Promise((resolve, reject) => {
		let text = "";
		child[on]?.on("data", (data) => {
			text += data;
			if (text.includes(what)) resolve();
		});
		child.once("close", () => reject(new Error(`it ended without "${what}": ${text}`)));
	});
}

async function appears(path: string): Promise<string> {
	for (let tries = 0; tries < 200 && !existsSync(path); tries++) await sleep(50);
	return readFile(path, "latin1");
}

/** A log that was closed ends with its last record: what was allocated ahead is given back. */
async function isClosed(here: Place): Promise<void> {
	await isSound(here);
	const text = await readFile(logOf(here), "latin1");
	assert.ok(/\}\n$/.test(text.slice(-2)), "the log was left as by a crash");
}

async function isSound(here: Place): Promise<void> {
	const { run } = await cli();
	const { code, stdout, stderr } = await run(here, ["--json", "wal", "verify"]);
	assert.equal(code, 0, `${stdout} ${stderr}`);
	assert.equal((JSON.parse(stdout) as { torn?: unknown }).torn, undefined, "a torn tail");
}
