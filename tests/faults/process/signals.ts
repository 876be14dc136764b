/** Row 41: the command line is told to stop, its terminal is closed, or whoever reads its output goes: it closes its log. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import type { Place } from "../../cli.ts";
import type { Ended } from "../../kit/killable.ts";
import { type Random, seeded } from "../../kit/seeded.ts";
import { type Case, type Fault, runCases } from "../fault.ts";
import {
	cli,
	isClosed,
	isSound,
	leaves,
	logOf,
	noteOf,
	onTerminal,
	QUESTION,
	says,
	withPlace,
} from "../lab/command-line.ts";
import { needsAll } from "../lab/needs.ts";
import { sleep } from "../lab/start.ts";

const RUN = ["--pace", "150", "run", "-p", QUESTION];
const ASK = [...RUN, "--output-format", "stream-json"];
/** In reyn itself: a moment after the first step has begun. */
const UNDER_WAY = '"plan_step"';

const quick: readonly Case[] = [
	{
		name: "chat on a terminal, SIGTERM",
		needs: () => needsAll("script", "stty"),
		run: () => chatStopped("SIGTERM", 143),
	},
];

const cases: readonly Case[] = [
	...quick,
	{ name: "run, SIGTERM", run: () => stopped("SIGTERM", 143) },
	{ name: "run, SIGINT", run: () => stopped("SIGINT", 130) },
	{ name: "run, SIGHUP", run: () => stopped("SIGHUP", 129) },
	{ name: "run, SIGTERM at random moments", run: ({ rounds, seed }) => atRandom(rounds ?? 25, seeded(seed)) },
	{ name: "chat, SIGTERM while lines wait", run: linesWait },
	{
		name: "chat on a terminal, Ctrl-C twice",
		needs: () => needsAll("script", "stty"),
		run: () => chatStopped("keys", 130),
	},
	{
		name: "chat on a terminal, SIGHUP",
		needs: () => needsAll("script", "stty"),
		run: () => chatStopped("SIGHUP", 129),
	},
	{ name: "chat, its terminal closed", needs: () => needsAll("script"), run: terminalClosed },
	{
		name: "script run on a terminal, Ctrl-C at a question",
		needs: () => needsAll("script", "stty"),
		run: askedAndStopped,
	},
	{ name: "run, the reader of stdout goes", run: () => readerGone("stdout", UNDER_WAY, ASK) },
	{ name: "run, the reader of stderr goes", run: () => readerGone("stderr", "▸", RUN) },
	{ name: "run, nobody is there for the answer", run: answerUnread },
	{ name: "script run, the reader of stdout goes", run: scriptUnread },
	{
		name: "chat, the reader of stdout goes",
		run: () => readerGone("stdout", "▸", ["--pace", "150", "chat"], `${QUESTION}\n`),
	},
	{ name: "log, the reader goes", needs: () => needsAll("head"), run: lookerGone },
	{ name: "run, stdout on a full disk", needs: () => needsAll("sh"), run: () => unwritten("stdout") },
	{ name: "run, stderr on a full disk", needs: () => needsAll("sh"), run: () => unwritten("stderr") },
	{ name: "run --json, the document on a full disk", needs: () => needsAll("sh"), run: documentUnwritten },
	{ name: "log, stdout on a full disk", needs: () => needsAll("sh"), run: shownUnwritten },
];

export const fault: Fault = {
	name: "signals",
	title: "the command line is stopped, hung up or not read any more",
	promise: "a clean close, an exit code, the terminal restored",
	rows: [
		{
			row: 41,
			title:
				"SIGINT, SIGTERM, SIGHUP, Ctrl-C twice, Ctrl-C at a question of a script, the terminal closed, nobody reads the output, stdout or stderr on a full disk",
			how: "the real command line, in a terminal made by `script`",
			promise:
				"the log closed, exit 130, 143, 129, the terminal as before; unread work stops with 141, and goes on with `resume`",
			seen: "as expected: `run` and `chat`, and the terminal closed; SIGTERM at 25 random moments: none torn; at the question the run stays open, is asked again, and an answer completes it; `run`, `script run` and `chat` that nobody reads: 141, the log closed; `log` into `head`: exit 0; output that cannot be written: 1, one line, the log closed; lines typed ahead of SIGTERM in `chat`: not carried out",
		},
	],
	needs: () => (process.platform === "win32" ? "needs signals" : undefined),
	run: (settings) => runCases(settings.short ? quick : cases, settings),
};

async function stopped(signal: NodeJS.Signals, code: number): Promise<string> {
	return withPlace(async (here) => {
		const { start, run } = await cli();
		const running = start(here, ASK);
		await says(running, UNDER_WAY);
		running.child.kill(signal);
		const end = await running.ended;
		assert.equal(end.code, code, `it ended with ${end.code ?? end.signal}: ${end.stderr}`);
		await isClosed(here);
		const again = await run(here, ["resume"]);
		assert.equal(again.code, 0, again.stderr);
		return `exit ${code}, the log closed, resume goes on`;
	});
}

/** Also while it starts, when nobody listens to signals yet: it is as killed then, and nothing is torn. */
async function atRandom(rounds: number, random: Random): Promise<string> {
	const { start } = await cli();
	const ends = new Map<string, number>();
	for (let i = 0; i < rounds; i++) {
		await withPlace(async (here) => {
			const { child, ended } = start(here, ASK);
			await sleep(random() * 2000);
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

/** What was typed ahead of a stop is not carried out after it, and not said to have failed. */
async function linesWait(): Promise<string> {
	return withPlace(async (here) => {
		const { start } = await cli();
		const running = start(here, ["--pace", "150", "chat"], `${QUESTION}\n/meter\n/rewind 1 both --yes\n`);
		await says(running, "▸");
		running.child.kill("SIGTERM");
		const { code, stdout, stderr } = await running.ended;
		assert.equal(code, 143, stderr);
		assert.doesNotMatch(stdout, /paid now|rewind|reyn: /);
		assert.match(stdout, /unfinished work is kept; go on later/);
		await isClosed(here);
		return "exit 143, the lines not carried out, the log closed";
	});
}

async function chatStopped(how: NodeJS.Signals | "keys", code: number): Promise<string> {
	return withPlace(async (here) => {
		const terminal = await onTerminal(here, ["chat"]);
		await says(terminal, "/help");
		await sleep(300);
		if (how === "keys")
			for (let press = 0; press < 2; press++) {
				terminal.child.stdin?.write("\x03");
				await sleep(300);
			}
		else process.kill(Number(await readFile(noteOf(here, "pid"), "latin1")), how);
		await leaves(here, code);
		terminal.child.stdin?.end();
		await isClosed(here);
		return `exit ${code}, the terminal as before, the log closed`;
	});
}

async function terminalClosed(): Promise<string> {
	return withPlace(async (here) => {
		const terminal = await onTerminal(here, ["chat"]);
		await says(terminal, "/help");
		const pid = Number(await readFile(noteOf(here, "pid"), "latin1"));
		void terminal.kill();
		for (let tries = 0; existsSync(`/proc/${pid}/fd/0`) && tries < 100; tries++) await sleep(50);
		assert.ok(!existsSync(`/proc/${pid}/fd/0`), "it goes on without a terminal");
		await isClosed(here);
		return "ended, the log closed";
	});
}

/** At a question Ctrl-C is a key: the run stays open, the question is asked again, and an answer completes it. */
async function askedAndStopped(): Promise<string> {
	return withPlace(async (here) => {
		const { run } = await cli();
		const path = noteOf(here, "ask.ts");
		await writeFile(
			path,
			'export default async (ctx) => [await ctx.agent("What is a fox?"), await ctx.ask("Which one?")];',
		);
		await askedOnTerminal(here, ["script", "run", path], "\x03", 130);
		const listed = await run(here, ["--json", "script", "list"]);
		const [{ run: id, status, question }] = JSON.parse(listed.stdout) as [Record<string, string>];
		assert.deepEqual([status, question], ["open", "Which one?"]);
		const resume = ["script", "resume", id ?? ""];
		await askedOnTerminal(here, resume, "\x04", 4);
		const { code, stdout, stderr } = await run(here, ["--json", ...resume, "--answer", "the red one"]);
		assert.equal(code, 0, stderr);
		const { result, meter } = JSON.parse(stdout) as { result: unknown[]; meter: { paid: { calls: number } } };
		assert.deepEqual([result[1], meter.paid.calls], ["the red one", 0]);
		return "exit 130, the run open and the log closed; asked again, then answered, nothing paid again";
	});
}

async function askedOnTerminal(here: Place, args: readonly string[], key: string, code: number): Promise<void> {
	const terminal = await onTerminal(here, args);
	// What a line is typed behind, once the question stands above it.
	await says(terminal, '"…"? ');
	await sleep(300);
	terminal.child.stdin?.write(key);
	await leaves(here, code);
	terminal.child.stdin?.end();
	await isClosed(here);
}

/** Nobody reads any more, so it stops as by SIGPIPE, and does not say that it did what was asked. */
async function readerGone(
	which: "stdout" | "stderr",
	after: string,
	args: readonly string[],
	input?: string,
): Promise<string> {
	return withPlace(async (here) => {
		const { start } = await cli();
		const running = start(here, args, input);
		await says(running, after, which);
		running.child[which]?.destroy();
		await isUnread(here, running.ended);
		await goesOn(here, ["resume"]);
		return "exit 141, the log closed, resume goes on";
	});
}

async function answerUnread(): Promise<string> {
	return withPlace(async (here) => {
		const { start } = await cli();
		const { child, ended } = start(here, [...RUN, "--json"]);
		child.stdout?.destroy();
		await isUnread(here, ended);
		return "exit 141, the log closed";
	});
}

async function scriptUnread(): Promise<string> {
	return withPlace(async (here) => {
		const { start, run } = await cli();
		const path = noteOf(here, "five.ts");
		await writeFile(
			path,
			"export default async (ctx) => { for (const n of [1, 2, 3, 4, 5]) await ctx.agent('What is ' + n); };",
		);
		const running = start(here, ["--pace", "300", "script", "run", path, "--output-format", "stream-json"]);
		await says(running, '"state":"live"');
		running.child.stdout?.destroy();
		await isUnread(here, running.ended);
		const [{ run: id }] = JSON.parse((await run(here, ["--json", "script", "list"])).stdout) as [{ run: string }];
		await goesOn(here, ["script", "resume", id]);
		return "exit 141, the log closed, resume goes on";
	});
}

async function goesOn(here: Place, args: readonly string[]): Promise<void> {
	const { modelCalls, run } = await cli();
	const before = modelCalls(here).length;
	const { code, stderr } = await run(here, args);
	assert.equal(code, 0, stderr);
	assert.ok(modelCalls(here).length > before, "nothing was left to do: it had worked on for nobody");
}

async function isUnread(here: Place, ended: Promise<Ended>): Promise<void> {
	const { code, signal, stderr } = await ended;
	assert.equal(code, 141, `it ended with ${code ?? signal}: ${stderr}`);
	assert.doesNotMatch(stderr, /EPIPE/);
	await isClosed(here);
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

/** Work whose output finds no space is stopped, and stderr says so where it can. */
async function unwritten(which: "stdout" | "stderr"): Promise<string> {
	return withPlace(async (here) => {
		const { run } = await cli();
		const args = which === "stdout" ? ASK : RUN;
		const end = await run(here, args, undefined, intoFull(which));
		if (which === "stdout") isToldOnce(end);
		else assert.equal(end.code, 1, `it ended with ${end.code ?? end.signal}: ${end.stdout}`);
		await isClosed(here);
		await goesOn(here, ["resume"]);
		return "exit 1, the log closed, resume goes on";
	});
}

/** All is done by then but the answer. */
async function documentUnwritten(): Promise<string> {
	return withPlace(async (here) => {
		const { run } = await cli();
		const end = await run(here, [...RUN, "--json"], undefined, intoFull("stdout"));
		isToldOnce(end);
		await isClosed(here);
		return "one line on stderr, exit 1, the log closed";
	});
}

async function shownUnwritten(): Promise<string> {
	return withPlace(async (here) => {
		const { run } = await cli();
		assert.equal((await run(here, ["run", "-p", "where does a fox sleep?"])).code, 0);
		isToldOnce(await run(here, ["log"], undefined, intoFull("stdout")));
		return "one line on stderr, exit 1";
	});
}

function isToldOnce({ code, signal, stderr }: Ended): void {
	assert.equal(code, 1, `it ended with ${code ?? signal}: ${stderr}`);
	assert.equal(stderr, "reyn: cannot write to stdout (ENOSPC); send it to where it can be written\n");
}

/** The device on which every write finds no space. */
const intoFull = (which: "stdout" | "stderr"): readonly string[] => [
	"sh",
	"-c",
	`exec "$@" ${which === "stdout" ? 1 : 2}>/dev/full`,
	"sh",
];
