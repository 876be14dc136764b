/** The chat on a real terminal, that of tmux: what is seen, what is written down, and what the terminal is like afterwards. */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { userPrompt } from "@reyn/runtime";
import { fileEngine, openWal } from "@reyn/wal";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ofSource, type Place, reyn, run } from "../cli.ts";
import { deepTest } from "../deep-test.ts";
import { leaves, onTerminal, says } from "../faults/lab/command-line.ts";
import { needsAll } from "../faults/lab/needs.ts";
import { sample } from "../sample.ts";

const QUESTION = "How do foxes and owls work together, and what could break? Compare their days in detail";
const noTmux = needsAll("tmux", "stty");
const noTerminal = needsAll("script", "stty");
if (typeof noTmux === "string") console.warn(`skipped: what a real terminal shows of the chat (${noTmux})`);

/** What is open when it is killed, and what is typed for that. */
const screens: readonly (readonly [string, readonly string[]])[] = [
	["a list", ["/rewind", "Enter"]],
	["a plan", [QUESTION, "Enter"]],
	["nothing", []],
	["text", ["some text"]],
	["a menu", ["/re"]],
];

let root: string;
let here: Place;
let socket: string;
beforeEach(async () => {
	root = await mkdtemp(join(tmpdir(), "reyn-chat-"));
	socket = join(root, "tmux");
	here = { cwd: join(root, "notes"), state: join(root, "state"), trace: join(root, "calls") };
	await mkdir(here.cwd);
	await writeFile(join(here.cwd, "foxes.md"), "# Foxes\n\nA fox sleeps by day. The den of a fox has two doors.\n");
	await writeFile(join(here.cwd, "owls.md"), "# Owls\n\nAn owl sleeps by day too. It hunts mice at night.\n");
});
afterEach(async () => {
	if (existsSync(socket)) tmux("kill-server");
	await rm(root, { recursive: true, force: true });
});

const tmux = (...args: readonly string[]): string =>
	execFileSync("tmux", ["-S", socket, "-f", "/dev/null", ...args], {
		encoding: "utf8",
		stdio: ["ignore", "pipe", "ignore"],
	});

const keys = (...names: readonly string[]): string => tmux("send-keys", "-t", "chat", ...names);
const seen = (...how: readonly string[]): string =>
	tmux("capture-pane", "-p", "-t", "chat", "-S", "-1000", ...how).trimEnd();

/** What is seen once it is as it should be. */
async function until(isSo: (screen: string) => boolean, what: string): Promise<string> {
	for (let tries = 0; tries < 300; tries++) {
		const screen = seen();
		if (isSo(screen)) return screen;
		await new Promise((resolve) => setTimeout(resolve, 100));
	}
	throw new Error(`the terminal does not show ${what}:\n${seen()}`);
}

const shows = (text: string): Promise<string> => until((screen) => screen.includes(text), text);
const ends = (text: string): Promise<string> => until((screen) => screen.endsWith(text), `"${text}" at its end`);

/** A chat as the first program of a shell that says how it ended. */
async function open(...args: readonly string[]): Promise<void> {
	const words = ["--cwd", here.cwd, "--state", here.state, "chat", ...args];
	await openBy([process.execPath, ...reyn, ...words]);
}

async function openBy(command: readonly string[]): Promise<void> {
	const chat = command.join(" ");
	const how = `stty -a | grep -oE -- '-?(icanon|echo|isig)\\b' | tr '\\n' ' '`;
	const script = `sh -c 'echo $$ > ${root}/pid; exec ${chat}'\necho "left with $?"\necho "terminal: $(${how})"\nexec cat\n`;
	await writeFile(join(root, "script"), script);
	tmux("new-session", "-d", "-s", "chat", "-x", "80", "-y", "24", `sh ${root}/script`);
	await shows("/help");
}

const log = async (): Promise<string> =>
	(await readFile(join(here.state, "state/wal.jsonl"), "latin1")).replaceAll("\0", "");

async function prompts(): Promise<readonly string[]> {
	const wal = await openWal(fileEngine(`${here.state}/state`), { records: [userPrompt], readOnly: true });
	const said: string[] = [];
	for await (const record of wal.read()) if (userPrompt.is(record)) said.push(record.data.text);
	await wal.close();
	return said;
}

describe.skipIf(typeof noTmux === "string")("on a terminal", () => {
	test("one asks, goes back to before, and the question is in the line again", async () => {
		await open();
		expect(seen()).not.toContain("opening …");
		keys("where does a fox sleep?", "Enter");
		await shows("A fox sleeps by day");
		keys("what does an owl hunt?", "Enter");
		await shows("hunts mice");
		await ends("ask something, or /help");
		keys("Escape");
		keys("Escape");
		await shows("Go back to");
		keys("Down", "Down", "Enter");
		expect(await shows("cancel    rewind")).toMatch(/files in your workspace are not touched/i);
		keys("Right", "Enter");
		await shows("done: rewound in #");
		const after = await ends("› what does an owl hunt?");
		expect(after.split("\n").at(-2)).toMatch(/^main · #\d+ · b\d+ · context \d+ tokens · offline$/);
		keys("C-u");
		keys("/tree", "Enter");
		await shows("Check out");
		keys("/(abandoned)");
		await shows("/ (abandoned)");
		keys("Down", "Enter");
		expect(await shows("cancel    checkout")).toMatch(/check out #\d+, on a branch that was abandoned/);
		keys("Right", "Enter");
		await shows("checked out #");
	});

	deepTest(
		"Esc Esc and Enter change nothing, and neither does Ctrl-C at a list or a question; twice it leaves",
		async () => {
			await run(here, ["run", "-p", "where does a fox sleep?"]);
			await open();
			const before = await log();
			keys("Escape");
			keys("Escape");
			await shows("Go back to");
			keys("Enter");
			await shows("nothing was changed");
			for (const [command, asked] of [
				["/rewind", "Go back to"],
				["/rewind 1", "cancel    rewind"],
				["/checkout 1", "cancel    checkout"],
			] as const) {
				keys(command, "Enter");
				await shows(asked);
				keys("C-c");
				await until((screen) => !screen.includes(asked), `no "${asked}" any more`);
				expect(await log()).toBe(before);
				// Any key: the next Ctrl-C is a first one.
				keys("x", "BSpace");
				await ends("ask something, or /help");
			}
			// Twice within 1.5 seconds: one read.
			keys("C-c", "C-c");
			expect(await shows("terminal:")).toMatch(/left with 130\nterminal: isig icanon echo/);
		},
	);

	test("Ctrl-C twice says how to go on, and that goes on in the same session", async () => {
		await open("--session", "work");
		keys("where does a fox sleep?", "Enter");
		await shows("A fox sleeps by day");
		await ends("ask something, or /help");
		keys("C-c", "C-c");
		const screen = await shows("terminal:");
		const [, words = ""] = /go on later with: reyn ([\s\S]*?)\nleft with 130/.exec(screen) ?? [];
		expect(words).toMatch(/chat -r work$/);
		expect(await run(here, ["chat", ...words.replaceAll("\n", "").split(" ").slice(-2)], "/exit\n")).toMatchObject({
			code: 0,
			stdout: expect.stringMatching(/session work .* 1 turn/),
		});
	});

	deepTest(
		"code in an answer has colours from its first line on, and without colours it is the same text",
		async () => {
			const says = "So:\n\n```ts\n/* of\n two */ const a = 1;\n```\n\n```diff\n-a\n+b\n```\nDone.";
			await writeFile(`${here.trace}.says`, says);
			const preload = pathToFileURL(join(import.meta.dirname, "saying-model.ts")).href;
			const words = ["--cwd", here.cwd, "--state", here.state, "chat"];
			const env = ["NO_COLOR=", `REYN_MODEL_TRACE=${here.trace}`, `NODE_OPTIONS="--import=${preload} --no-warnings"`];
			await openBy(["env", ...env, process.execPath, ...ofSource, ...words]);
			keys("how?", "Enter");
			await shows("Done.");
			expect(seen()).toContain(says);
			const rows = seen("-e")
				.split("\n")
				.map((row) => row.replaceAll("\x1b", ""));
			const code = rows.slice(rows.findIndex((row) => row.includes("```ts")));
			expect(code.filter((row) => /of|two|-a|\+b/.test(row))).toEqual([
				expect.stringContaining("/* of"),
				expect.stringMatching(/ two \*\/.*\[35m.*const.* a = \[33m1/),
				expect.stringMatching(/\[31m.*-a/),
				expect.stringMatching(/\[32m.*\+b/),
			]);
		},
	);

	test("300 lines that are pasted are one message, which Enter sends", async () => {
		const lines = Array.from({ length: 300 }, (_, n) => `${n}. a fox – キツネ`).join("\n");
		await open();
		await writeFile(join(root, "pasted"), lines);
		tmux("load-buffer", join(root, "pasted"));
		tmux("paste-buffer", "-p", "-t", "chat");
		await shows("[300 lines pasted]");
		expect(await prompts()).toEqual([]);
		keys(" which is the last?", "Enter");
		await shows("… (300 lines)");
		keys("C-d");
		await shows("left with 0");
		expect(await prompts()).toEqual([`${lines} which is the last?`]);
	});

	deepTest("six windows while a plan reports leave each line once, and the status above the input", async () => {
		await open("--pace", "100");
		keys(QUESTION, "Enter");
		for (const [columns, rows] of [
			[60, 24],
			[30, 12],
			[100, 30],
			[20, 10],
			[45, 20],
			[80, 24],
		] as const) {
			tmux("resize-window", "-t", "chat", "-x", `${columns}`, "-y", `${rows}`);
			await new Promise((resolve) => setTimeout(resolve, 150));
		}
		await shows("In short:");
		const screen = await ends("ask something, or /help");
		// A row that the terminal has wrapped before it was drawn anew may stay above: what counts is what stands at the end.
		expect(screen.trimEnd().split("\n").slice(-2)).toEqual([
			expect.stringMatching(/^main · #/),
			expect.stringMatching(/^› ask something/),
		]);
		expect(screen.split(`› ${QUESTION.slice(0, 12)}`)).toHaveLength(2);
		const steps = [...screen.replaceAll(/\n */g, " ").matchAll(/▸ \d\/\d (s\d) [^▸]*? ✓/g)].map(([, step]) => step);
		expect(new Set(steps).size).toBe(steps.length);
	});

	test.each(screens.slice(0, sample(1, 5)))(
		"after a kill -9 with %s on the screen the terminal is as it was",
		async (_, typed) => {
			await open("--pace", "300");
			keys(...typed);
			if (typed[0] === "/rewind") await shows("Go back to");
			if (typed[0] === QUESTION) await shows("▸");
			process.kill(Number(await readFile(join(root, "pid"), "latin1")), "SIGKILL");
			expect(await shows("terminal:")).toMatch(/left with 137/);
			expect(tmux("display-message", "-p", "-t", "chat", "#{cursor_flag}").trim()).toBe("1");
			keys("seen as it is typed", "Enter");
			await ends("seen as it is typed\nseen as it is typed");
		},
	);

	test("a chat that is put aside comes back with what was typed, and the shell has the terminal meanwhile", async () => {
		await open();
		keys("C-z");
		await until((screen) => !screen.includes("ask something"), "the shell");
		process.kill(Number(await readFile(join(root, "pid"), "latin1")), "SIGCONT");
		await ends("ask something, or /help");
		keys("still here");
		await ends("› still here");
	});
});

test.skipIf(typeof noTerminal === "string")(
	"a terminal that can do nothing gets lines, moves no cursor, and what is pasted into it is one message",
	async () => {
		const terminal = await onTerminal(here, ["chat", "--plain"]);
		await says(terminal, "/help");
		terminal.child.stdin?.write("where does a fox sleep?\nand an owl?\n");
		await says(terminal, "foxes.md:");
		terminal.child.stdin?.write("/rewind\n");
		await says(terminal, "or Enter for none");
		terminal.child.stdin?.write("1\n");
		await says(terminal, "[y/N]");
		terminal.child.stdin?.write("\n");
		await says(terminal, "nothing was changed");
		terminal.child.stdin?.write("/exit\n");
		await leaves(here, 0);
		terminal.child.stdin?.end();
		expect((await terminal.ended).stdout).not.toContain("\x1b");
		expect(await prompts()).toEqual(["where does a fox sleep?\nand an owl?"]);
	},
);
