/** Row 49: what is pasted into `reyn chat` is one message, which nobody pays for before Enter; the terminal is left as it was. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { userPrompt } from "@reyn/runtime";
import { fileEngine, openWal } from "@reyn/wal";
import { type Case, type Fault, runCases } from "../fault.ts";
import { isClosed, leaves, noteOf, onTerminal, says, withPlace } from "../lab/command-line.ts";
import { needsAll } from "../lab/needs.ts";

const LINES = Array.from({ length: 300 }, (_, n) => `${n}. a fox – キツネ`);
const MARKED = "\x1b[?2004h";
const UNMARKED = "\x1b[?2004l";

const cases: readonly Case[] = [
	{ name: "300 lines, in pieces", run: pasted },
	{ name: "stopped by SIGTERM in the midst of one", run: stopped },
];

export const fault: Fault = {
	name: "paste",
	title: "lines that are pasted into chat",
	promise: "one message, sent by Enter alone",
	rows: [
		{
			row: 49,
			title: "lines pasted into `reyn chat`, in pieces of 100 bytes that cut letters; SIGTERM in the midst of a paste",
			how: "a terminal of `script`",
			promise:
				"one message with its line breaks and without control codes, sent by Enter alone; the terminal no longer marks pastes afterwards",
			seen: "300 lines: 1 message (before: 301), exit 0; SIGTERM: 143, nothing sent (before: 1)",
			command: "`paste`, `vitest run --project @reyn/cli keys`",
		},
	],
	needs: () => needsAll("script", "stty"),
	run: (settings) => runCases(cases, settings),
};

async function pasted(): Promise<string> {
	return withPlace(async (here) => {
		const terminal = await onTerminal(here, ["chat"]);
		await says(terminal, "/help");
		const bytes = Buffer.from(`look at \x1b[200~${LINES.join("\r")}\r\x1b[31m\x1b[201~ what is it?\r/exit\r`);
		for (let at = 0; at < bytes.length; at += 100) terminal.child.stdin?.write(bytes.subarray(at, at + 100));
		await leaves(here, 0);
		terminal.child.stdin?.end();
		const { stdout: written } = await terminal.ended;
		await isClosed(here);
		const said = await promptsIn(here.state);
		assert.equal(said.length, 1, `${said.length} messages, and not one: ${said.slice(0, 3)} …`);
		assert.equal(said[0], `look at ${LINES.join("\n")}\n what is it?`);
		assert.ok(written.includes(MARKED), "the terminal was not told to mark pastes");
		assert.ok(written.lastIndexOf(UNMARKED) > written.lastIndexOf(MARKED), "the terminal still marks pastes");
		return `1 message of ${LINES.length + 1} lines, exit 0`;
	});
}

async function stopped(): Promise<string> {
	return withPlace(async (here) => {
		const terminal = await onTerminal(here, ["chat"]);
		await says(terminal, "/help");
		const heard = says(terminal, "look at");
		terminal.child.stdin?.write(`look at \x1b[200~${LINES.slice(0, 10).join("\r")}\r`);
		await heard;
		process.kill(Number(await readFile(noteOf(here, "pid"), "latin1")), "SIGTERM");
		await leaves(here, 143);
		terminal.child.stdin?.end();
		const { stdout: written } = await terminal.ended;
		await isClosed(here);
		assert.deepEqual(await promptsIn(here.state), []);
		assert.ok(written.lastIndexOf(UNMARKED) > written.lastIndexOf(MARKED), "the terminal still marks pastes");
		return "exit 143, nothing was sent, the terminal as before";
	});
}

async function promptsIn(state: string): Promise<readonly string[]> {
	const wal = await openWal(fileEngine(`${state}/state`), { records: [userPrompt], readOnly: true });
	const said: string[] = [];
	for await (const record of wal.read()) if (userPrompt.is(record)) said.push(record.data.text);
	await wal.close();
	return said;
}
