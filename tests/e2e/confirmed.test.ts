/** On a terminal a person looks at a preview for a while: what they say yes to is done, or nothing is. */
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { offlineModel } from "@reyn/offline-model";
import { openRuntime, type Runtime } from "@reyn/runtime";
import { createFileTools } from "@reyn/tools";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { carryOut as run } from "../carry-out.ts";
import type { Place } from "../cli.ts";
import { leaves, onTerminal, says } from "../faults/lab/command-line.ts";
import { needsAll } from "../faults/lab/needs.ts";
import { some } from "../sample.ts";

const noTerminal = needsAll("script", "stty");

let root: string;
let here: Place;
/** The tip after the first question. */
let first: number;

beforeEach(async () => {
	root = await mkdtemp(join(tmpdir(), "reyn-confirmed-"));
	here = { cwd: join(root, "project"), state: join(root, "state"), trace: join(root, "calls.jsonl"), isCopy: true };
	await mkdir(here.cwd);
	await writeFile(join(here.cwd, "foxes.md"), "# Foxes\n\nA fox sleeps by day.\n");
	await inAnother(async (runtime) => {
		await runtime.prompt("where does a fox sleep?");
		await runtime.idle();
		first = runtime.wal.tip;
		await runtime.prompt("what does a fox do by day?");
		await runtime.idle();
	});
});
afterEach(() => rm(root, { recursive: true, force: true }));

/** Somebody else has the directory for a moment. */
async function inAnother(work: (runtime: Runtime) => Promise<unknown>): Promise<void> {
	const runtime = await openRuntime({ state: here.state, model: offlineModel(), tools: createFileTools(here.cwd) });
	await work(runtime);
	await runtime.idle();
	await runtime.close();
}

/** All that counts: a start of its own leaves a record too, which says nothing. */
async function records(): Promise<readonly string[]> {
	const directory = join(here.state, "state");
	const segments = (await readdir(directory)).filter((name) => name.endsWith(".jsonl")).sort();
	const log = (await Promise.all(segments.map((name) => readFile(join(directory, name), "utf8")))).join("");
	return log.split("\n").filter((line) => line.includes('"kind":') && !line.includes('"kind":"wal_'));
}

const ask = (): Promise<void> => inAnother((runtime) => runtime.prompt("where does a fox sleep now?"));

/** Starts a command, lets something happen once it asks, says yes, and gives what it printed. */
async function confirmed(args: readonly string[], meanwhile: () => Promise<unknown>, code: number): Promise<string> {
	const terminal = await onTerminal(here, args);
	await says(terminal, "[y/N]");
	await meanwhile();
	terminal.child.stdin?.write("y\n");
	await leaves(here, code);
	// What it wrote last may still be on its way.
	terminal.child.stdin?.end();
	return (await terminal.ended).stdout;
}

describe.skipIf(typeof noTerminal === "string")("what came while a person looked at a preview", () => {
	const rewinds = (times: number) =>
		inAnother(async (runtime) => {
			for (let seq = first; times > 0; times--, seq--) await runtime.checkout(seq, "ada");
		});

	test.each(some(["rewind", "checkout"], 2))("a turn of another process is not thrown away by a %s", async (verb) => {
		let before: readonly string[] = [];
		const meanwhile = async () => {
			await ask();
			before = await records();
		};
		const text = await confirmed([verb, `${first}`], meanwhile, 4);
		expect(text).toMatch(/previewed at seq \d+, and user_prompt came at seq \d+; nothing was written/);
		expect(await records()).toEqual(before);
		// Shown again and confirmed again, it is made.
		await confirmed([verb, `${first}`], async () => {}, 0);
		expect((await records()).length).toBeGreaterThan(before.length);
	});

	test.each(some(["undo", "redo"] as const, 2))("%s takes the move that it named, or none", async (verb) => {
		await rewinds(3);
		await inAnother(async (runtime) => {
			await runtime.undo("ada");
			await runtime.undo("ada");
		});
		let before: readonly string[] = [];
		const meanwhile = async () => {
			await inAnother((runtime) => (verb === "undo" ? runtime.checkout(0, "bob") : runtime.redo("bob")));
			before = await records();
		};
		const text = await confirmed([verb], meanwhile, 4);
		expect(text).toMatch(
			new RegExp(
				`${verb} the [^\\n]+ by ada[^\\n]* \\(#(\\d+), [^\\n]+\\)[\\s\\S]*${verb} #\\1\\?[\\s\\S]*${verb} was asked of what was done at seq \\1`,
			),
		);
		expect(await records()).toEqual(before);
		expect(await confirmed([verb], async () => {}, 0)).toMatch(
			new RegExp(`${verb === "undo" ? "undone" : "taken back"}: the `),
		);
	});

	test.each([
		["Ctrl-C", "\x03", 130, "rewind"],
		["Ctrl-D", "\x04", 4, "checkout"],
	])("%s at the question leaves the log as it is, to the byte", async (_, key, code, verb) => {
		const log = () => readFile(join(here.state, "state/wal.jsonl"));
		// A state that was not known is taken over first.
		await run(here, ["log"]);
		const before = await log();
		const terminal = await onTerminal(here, [verb, `${first}`]);
		await says(terminal, "[y/N]");
		terminal.child.stdin?.write(key);
		await leaves(here, code);
		terminal.child.stdin?.end();
		expect((await terminal.ended).stdout).toContain("reyn: nothing was changed");
		expect(await log()).toEqual(before);
	});

	test("a start and a stop of another process are nothing", async () => {
		const text = await confirmed(["rewind", `${first}`], () => inAnother(async () => {}), 0);
		expect(text).toMatch(/done: rewound in #\d+/);
	});
});

test("who asks is somebody, and what is refused is written nowhere", async () => {
	const before = await records();
	for (const actor of ["", "x".repeat(257)])
		for (const args of [
			["rewind", `${first}`, "--yes"],
			["checkout", `${first}`, "--yes"],
			["label", `${first}`, "here"],
		]) {
			const ended = await run(here, [...args, "--actor", actor, "--json"]);
			expect(ended.code).toBe(2);
			expect(JSON.parse(ended.stdout)).toMatchObject({ error: { code: "TIMETRAVEL_ACTOR" } });
		}
	expect(await records()).toEqual(before);
});

test("chat takes moves back and makes them again", async () => {
	const ended = await run(
		here,
		["chat"],
		`/rewind ${first} both --yes\n/undo --yes\n/redo --yes\n/redo --yes\n/undo\n/exit\n`,
	);
	// The first that failed had nothing to redo, and whoever wrote the lines hears of it.
	expect(ended.code, ended.stderr).toBe(3);
	expect(ended.stdout).toMatch(
		/done: rewound in #(\d+)[\s\S]*undone: the rewind to #\d+ \(both\) by user, \d+ records \(#\1,[\s\S]*taken back: the undo by user of the rewind to #\d+ \(both\) by user/,
	);
	expect(ended.stdout).toMatch(/there is nothing to redo/);
	expect(ended.stdout).toMatch(/nothing was changed: this is not a terminal/);
});
