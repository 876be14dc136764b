/** Row 15, seen by a person: the command line waits for space, says so, and Ctrl-C ends it without any. */
import assert from "node:assert/strict";
import type { ChildProcess } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Place } from "../../cli.ts";
import type { Killable } from "../../kit/killable.ts";
import { type Case, type Fault, runCases } from "../fault.ts";
import { cli, isClosed, leaves, noteOf, onTerminal, says, withPlace } from "../lab/command-line.ts";
import { needsAll } from "../lab/needs.ts";
import { sleep } from "../lab/start.ts";
import { mounted, resize } from "../lab/tmpfs.ts";

/** Room for the files of a state and for a question, and not for what a tool reads to answer it. */
const SMALL = "28k";
const QUESTION = "where does a fox sleep?";
const LONG = `A fox sleeps by day${" and by day".repeat(30)}.\n`.repeat(60);
const RUN = ["run", "-p", QUESTION];
const FULL = "the disk is full (ENOSPC)";
const SCRIPT =
	"export default async (ctx) => { for (let n = 1; n <= 20; n++) await ctx.agent('What is ' + n + '?'); };";

const cases: readonly Case[] = [
	{ name: "run, Ctrl-C while it waits", run: stopped },
	{ name: "script run, Ctrl-C while it waits", run: scriptStopped },
	{ name: "chat on a terminal, Ctrl-C twice while it waits", run: chatStopped },
	{ name: "run --json, space again", run: goesOn },
	{ name: "run as a stream, space again", run: streamGoesOn },
];

export const fault: Fault = {
	name: "full",
	title: "the command line on a full disk",
	promise: "it says that it waits, goes on with space, and is stopped without any",
	rows: [
		{
			row: 15,
			title: "disk full, under the real command line",
			how: "a tmpfs of 28 KB: `run`, `script run`, `chat` in a terminal",
			promise:
				"it says once that it waits and once that it goes on, on stderr or in the stream; one Ctrl-C ends it without any space, exit 130, the log closed; what is recorded is not paid again",
			seen: "as expected; a script stopped at its 4th call of 20 pays 21 in all",
		},
	],
	privileged: true,
	needs: () => needsAll("root", "mount", "script", "stty"),
	run: (settings) => runCases(cases, settings),
};

async function stopped(): Promise<string> {
	return onSmallDisk(async (here) => {
		const { modelCalls, run, start } = await cli();
		await isStopped(start(here, RUN));
		await isClosed(here);
		resize(here.state, "4m");
		const { code, stdout, stderr } = await run(here, ["resume"]);
		assert.equal(code, 0, stderr);
		assert.match(stdout, /A fox sleeps by day/);
		return `exit 130, the log closed; resume answers, after ${modelCalls(here).length} model calls in all`;
	});
}

async function scriptStopped(): Promise<string> {
	return onSmallDisk(async (here) => {
		const { modelCalls, run, start } = await cli();
		const path = noteOf(here, "twenty.ts");
		await writeFile(path, SCRIPT);
		await isStopped(start(here, ["--pace", "50", "script", "run", path]));
		await isClosed(here);
		const before = modelCalls(here).length;
		resize(here.state, "4m");
		const [{ run: id }] = JSON.parse((await run(here, ["--json", "script", "list"])).stdout) as [{ run: string }];
		const again = await run(here, ["script", "resume", id]);
		assert.equal(again.code, 0, again.stderr);
		const calls = modelCalls(here).length;
		assert.ok(before < 20, "the disk was never full");
		assert.equal(calls, 21, "it costs the call whose answer found no space, and no other");
		return `exit 130 after ${before} of 20 calls, the log closed; resume pays for ${calls - before}, one of them again`;
	});
}

async function chatStopped(): Promise<string> {
	return onSmallDisk(async (here) => {
		const terminal = await onTerminal(here, ["chat"]);
		const full = says(terminal, FULL);
		await says(terminal, "/help");
		terminal.child.stdin?.write(`${QUESTION}\r`);
		await full;
		for (let press = 0; press < 2; press++) {
			terminal.child.stdin?.write("\x03");
			await sleep(300);
		}
		await leaves(here, 130);
		terminal.child.stdin?.end();
		await isClosed(here);
		return "exit 130, the terminal as before, the log closed";
	});
}

async function goesOn(): Promise<string> {
	return onSmallDisk(async (here) => {
		const { start } = await cli();
		const running = start(here, [...RUN, "--json"]);
		await says(running, FULL, "stderr");
		await waits(running.child);
		resize(here.state, "4m");
		const { code, stdout, stderr } = await running.ended;
		assert.equal(code, 0, stderr);
		assert.match((JSON.parse(stdout) as { reply: string }).reply, /A fox sleeps by day/);
		assert.match(stderr, /^the disk is full .*\nthere is space again: .*\n$/);
		return "two lines on stderr, the document on stdout, exit 0";
	});
}

async function streamGoesOn(): Promise<string> {
	return onSmallDisk(async (here) => {
		const { start, streamLines } = await cli();
		const running = start(here, [...RUN, "--output-format", "stream-json"]);
		await says(running, '"disk_full"');
		await waits(running.child);
		resize(here.state, "4m");
		const end = await running.ended;
		assert.equal(end.code, 0, end.stderr);
		const types = streamLines(end).map(({ type }) => type);
		assert.deepEqual(
			types.filter((type) => type.startsWith("disk_")),
			["disk_full", "disk_free"],
		);
		await isClosed(here);
		return "said once that it waits and once that it goes on; exit 0";
	});
}

/** It says that it waits, and does; one Ctrl-C ends it, though there is no space. */
async function isStopped(running: Killable): Promise<void> {
	const { child, ended } = running;
	await says(running, FULL, "stderr");
	await waits(child);
	child.kill("SIGINT");
	const late = sleep(5000).then(() => undefined);
	const end = await Promise.race([ended, late]);
	assert.ok(end, "Ctrl-C waits for space too");
	assert.equal(end.code, 130, `it ended with ${end.code ?? end.signal}: ${end.stderr}`);
	assert.equal(end.stderr.split(FULL).length, 2, "it is not said once");
	assert.match(end.stderr, /what found no space is done again\. Go on with: reyn/);
}

/** Longer than until the log tries again. */
async function waits(child: ChildProcess): Promise<void> {
	await sleep(1500);
	assert.equal(child.exitCode, null, "it did not wait");
}

const onSmallDisk = (use: (here: Place) => Promise<string>): Promise<string> =>
	withPlace(async (here) => {
		await writeFile(join(here.cwd, "foxes.md"), LONG);
		await mkdir(here.state);
		return mounted(here.state, SMALL, () => use(here));
	});
