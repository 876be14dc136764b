/** The command line asks before a model changes something: once, whatever process is killed, and whoever answers from another one. */
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { chat } from "../../packages/ai-sdk/test/chat-wire.ts";
import { openWire, type Wire } from "../../packages/ai-sdk/test/wire.ts";
import { reyn } from "../cli.ts";
import { type Ended, type Killable, startProcess } from "../kit/killable.ts";
import { pageOf } from "../kit/page.ts";

let root: string;
let cwd: string;
let wire: Wire;
let open: Killable[] = [];
let states = 0;
let state: string;
beforeAll(async () => {
	root = await mkdtemp(join(tmpdir(), "reyn-permissions-"));
	cwd = join(root, "notes");
	await mkdir(cwd);
});
beforeEach(async () => {
	await writeFile(join(cwd, "foxes.md"), "A fox sleeps by day.\n");
	state = join(root, `state-${states++}`);
	wire = await openWire(chat);
});
afterEach(async () => {
	for (const each of open) await each.kill();
	open = [];
	await wire[Symbol.asyncDispose]();
	await rm(join(cwd, "reyn.yaml"), { force: true });
});
afterAll(() => rm(root, { recursive: true, force: true }));

function start(...args: readonly string[]): Killable {
	return startWith(undefined, ...args);
}

function startWith(input: string | undefined, ...args: readonly string[]): Killable {
	const env = {
		NO_COLOR: "1",
		OPENAI_API_KEY: "sk-canary-7f3a9c51d2e84b60",
		OPENAI_BASE_URL: wire.url,
		REYN_MODEL: "openai/gpt-x",
	};
	const started = startProcess([process.execPath, ...reyn, "--cwd", cwd, "--state", state, ...args], {
		env,
		...(input !== undefined && { input }),
	});
	open.push(started);
	return started;
}

const run = (...args: readonly string[]): Promise<Ended> => start(...args).ended;
const json = async (...args: readonly string[]) => JSON.parse((await run(...args, "--json")).stdout);
const foxes = (): Promise<string> => readFile(join(cwd, "foxes.md"), "utf8");

/** There is a history. */
async function begun(): Promise<void> {
	wire.replies.push({ text: "Hello." });
	expect(await run("run", "-p", "hello")).toMatchObject({ code: 0 });
	wire.asked.length = 0;
}

/** The model changes a word, and then says that it has. */
function changes(from: string, to: string): void {
	const args = JSON.stringify({ path: "foxes.md", old: from, new: to });
	wire.replies.push({ calls: [{ id: "call_1", name: "edit", args }] }, { text: "I tried." });
}

test("off a terminal nobody is asked, and nothing is changed; with --mode edits it is", async () => {
	changes("day", "night");
	expect(await run("run", "-p", "Mend it.")).toMatchObject({ code: 0, stdout: "I tried.\n" });
	expect(JSON.stringify(wire.asked[1])).toContain("denied: write foxes.md: nobody is here who could allow it");
	expect(await foxes()).toContain("by day");
	expect(await json("questions")).toEqual([]);
	changes("day", "night");
	expect(await run("run", "-p", "Mend it now.", "--mode", "edits")).toMatchObject({ code: 0 });
	expect(await foxes()).toContain("by night");
	changes("night", "day");
	await writeFile(join(cwd, "reyn.yaml"), "permissions:\n  rules:\n    - deny: write\n      on: '*.md'\n");
	expect(await run("run", "-p", "And back.", "--mode", "all")).toMatchObject({ code: 0 });
	expect(JSON.stringify(wire.asked.at(-1))).toContain("denied: write foxes.md: a rule denies it (deny write on *.md)");
	expect(await foxes()).toContain("by night");
});

test("off a terminal a file answers what is asked; what it does not answer is denied, or stays open", async () => {
	const answers = join(root, "answers.yaml");
	const given = (...entries: readonly object[]) => writeFile(answers, JSON.stringify(entries));
	await given(
		{ to: "write other/*", answer: "always" },
		{ to: "write *.md", answer: "once" },
		{ to: "*", answer: "no" },
	);
	changes("day", "night");
	const ended = await run("run", "-p", "Mend it.", "--answers", answers);
	expect(ended).toMatchObject({ code: 0, stdout: "I tried.\n" });
	expect(ended.stderr).toContain(`${answers}:1 answers: once`);
	expect(await foxes()).toContain("by night");
	expect((await json("permissions")).grants).toEqual([]);

	await given({ to: "write *.txt", answer: "once" }, { to: "write foxes.md", answer: "yes" });
	changes("night", "day");
	const denied = await run("run", "-p", "And back.", "--answers", answers);
	expect(denied).toMatchObject({ code: 0, stdout: "I tried.\n" });
	expect(denied.stderr).toContain(`${answers}:1: "yes" is no answer to "write foxes.md?"; one is: once`);
	expect(JSON.stringify(wire.asked.at(-1))).toContain("user says no: nobody is here who could allow it");
	expect(await foxes()).toContain("by night");

	const ask = { name: "ask_user", args: JSON.stringify({ question: "Which colour?" }) };
	wire.replies.push({ calls: [{ id: "call_1", ...ask }] }, { text: "Good." });
	expect(await run("run", "-p", "Paint.", "--answers", answers)).toMatchObject({ code: 4 });
	await given({ to: "Which colour?", answer: "red" });
	expect(await run("resume", "--answers", answers)).toMatchObject({ code: 0, stdout: "Good.\n" });
	expect(JSON.stringify(wire.asked.at(-1))).toContain("red");
});

test.each([
	["- to: a\n  answer: true\n", /answers\.yaml:2:11: 0\.answer: expected string, received boolean; found true/],
	["to: a\n", /answers\.yaml:1:1: expected array/],
	["- { to: a, answer: b, of: c }\n", /answers\.yaml:1:23: 0\.of: there is no such key; there are to, answer/],
	["- [\n", /answers\.yaml:\d+:\d+: this is no YAML/],
	[undefined, /answers\.yaml cannot be read: ENOENT/],
])("a file of answers that says %j is refused before anything is done", async (text, why) => {
	const answers = join(root, "answers.yaml");
	await rm(answers, { force: true });
	if (text !== undefined) await writeFile(answers, text);
	expect(await run("run", "-p", "Mend it.", "--answers", answers)).toMatchObject({
		code: 2,
		stderr: expect.stringMatching(why),
	});
	expect(wire.asked).toEqual([]);
});

test("a question of a process that was killed is answered by another one, which goes on and pays nothing again", async () => {
	await begun();
	changes("day", "night");
	const page = await pageOf(start("ui"));
	expect(await page.ask("/api/begin", { verb: "ask", given: { text: "Mend it." } })).toMatchObject({ status: 200 });
	await expect.poll(() => json("questions")).toHaveLength(1);
	const [asked] = await json("questions");
	expect(asked).toMatchObject({
		question: "write foxes.md?",
		lines: [
			expect.stringMatching(/^at line 1 of version [0-9a-f]{16}:$/),
			"- day",
			"+ night",
			"session, always: write foxes.md",
		],
	});
	await page.process.kill();
	expect((await run("status")).stdout).toContain(
		`answer with: reyn --cwd ${cwd} --state ${state} answer ${asked.seq} once|session|always|no|"no: …"`,
	);
	expect(await run("answer", String(asked.seq), "maybe")).toMatchObject({
		stderr: expect.stringMatching(/takes one of "once", "session", "always", "no", or "no: <why>"; found "maybe"/),
	});
	expect(await foxes()).toContain("by day");
	const answered = await run("answer", `#${asked.seq}`, "always");
	expect(answered).toMatchObject({ code: 0, stdout: "I tried.\n" });
	expect(await foxes()).toContain("by night");
	expect(wire.asked).toHaveLength(2);
	expect(await run("answer", String(asked.seq), "no")).toMatchObject({ code: 3 });

	// What was granted for good holds for the next process, until it is taken back.
	const { grants, mode } = await json("permissions");
	expect([mode, grants]).toEqual(["ask", [expect.objectContaining({ action: "write", on: "foxes.md", by: "user" })]]);
	changes("night", "day");
	expect(await run("run", "-p", "And back.")).toMatchObject({ code: 0 });
	expect(await foxes()).toContain("by day");
	expect(await run("revoke", String(grants[0].seq), "--yes")).toMatchObject({ code: 0 });
	changes("day", "night");
	expect(await run("run", "-p", "Once more.")).toMatchObject({ code: 0 });
	expect(await foxes()).toContain("by day");
});

test("a question is answered on the page that asks it, and work that waits holds no other up", async () => {
	await begun();
	changes("day", "night");
	const page = await pageOf(start("ui"));
	await page.ask("/api/begin", { verb: "ask", given: { text: "Mend it." } });
	const asked = async () => (await page.ask("/api/read", { verb: "questions", given: {} })).body.document;
	await expect.poll(asked).toHaveLength(1);
	const [{ seq }] = await asked();
	wire.replies.unshift({ text: "By day." });
	expect(await run("run", "-p", "Where does it sleep?", "--session", "side")).toMatchObject({
		code: 0,
		stdout: "By day.\n",
	});
	const done = await page.ask("/api/begin", { verb: "answer", given: { question: seq, answer: "no: it is right" } });
	expect(done.body).toMatchObject({ begun: { question: seq, from: { kind: "turn" } } });
	await expect.poll(() => wire.asked.length).toBe(3);
	expect(JSON.stringify(wire.asked[2])).toContain("denied: write foxes.md: user says no: it is right");
	expect(await foxes()).toContain("by day");
});

const count = (text: string, part: string): number => text.split(part).length - 1;

test("a budget that is reached off a terminal leaves the turn open, and each answer leads to the next question, said once", async () => {
	await writeFile(join(cwd, "reyn.yaml"), "budget:\n  turn_tokens: 50\n");
	changes("day", "night");
	const stopped = await run("run", "-p", "Mend it.");
	expect(stopped).toMatchObject({ code: 4, stdout: "" });
	const [limit] = await json("questions");
	expect(limit.question).toMatch(/^turn \d+ has spent 55 of 50 tokens\. Go on for another 50 tokens\?$/);
	const how = `answer ${limit.seq} yes|no|"no: …"`;
	expect([count(stopped.stderr, limit.question), count(stopped.stderr, how)]).toEqual([1, 1]);
	expect(await run("resume")).toMatchObject({ code: 4 });
	expect(wire.asked).toHaveLength(1);

	// Once it may be spent it goes on, and asks for what it is to do next.
	wire.replies.unshift({
		calls: [{ id: "call_2", name: "edit", args: JSON.stringify({ path: "foxes.md", old: "fox", new: "vixen" }) }],
	});
	const next = await run("answer", String(limit.seq), "yes");
	expect(next).toMatchObject({ code: 4, stdout: "" });
	const [edit] = await json("questions");
	expect(edit.question).toBe("write foxes.md?");
	expect(count(next.stderr, "write foxes.md?")).toBe(1);
	expect(next.stderr).toContain("replayed free: 1 model call, 55 tokens (50 %)   paid now: 1 model call, 55 tokens");
	await writeFile(join(cwd, "reyn.yaml"), "budget:\n  turn_tokens: 500\n");
	expect(await run("answer", String(edit.seq), "once")).toMatchObject({ code: 0, stdout: "I tried.\n" });
	expect(await foxes()).toContain("vixen");

	// What was answered is said, and what is no question.
	expect((await run("answer", String(edit.seq), "no")).stderr).toMatch(
		new RegExp(`#${edit.seq} is answered already: once, at #\\d+; open are none`),
	);
	for (const seq of ["1", "9999"])
		expect(await run("answer", seq, "no")).toMatchObject({
			code: 3,
			stderr: expect.stringContaining(`nobody asks #${seq} now; open are none`),
		});
});

test("an answer from beside a process that works returns once more is asked there, and says what", async () => {
	await begun();
	changes("day", "night");
	const page = await pageOf(start("ui"));
	await page.ask("/api/begin", { verb: "ask", given: { text: "Mend it." } });
	await expect.poll(() => json("questions")).toHaveLength(1);
	const [first] = await json("questions");
	wire.replies.unshift({
		calls: [{ id: "call_2", name: "edit", args: JSON.stringify({ path: "foxes.md", old: "fox", new: "vixen" }) }],
	});
	const asked = await run("answer", String(first.seq), "once");
	expect(asked).toMatchObject({ code: 4 });
	const [second] = await json("questions");
	expect(asked.stderr).toContain(`answer ${second.seq} once|session|always|no|"no: …"`);
	expect(asked.stderr).toMatch(/it waits for that in process \d+/);
	expect(await run("answer", String(second.seq), "once")).toMatchObject({ code: 0 });
});

test("a model begins in an empty directory; --mode counts before the command too, and is not that of a rewind", async () => {
	const empty = join(root, "empty");
	await mkdir(empty);
	const args = JSON.stringify({ path: "first.md", text: "one\n" });
	wire.replies.push({ calls: [{ id: "call_1", name: "write", args }] }, { text: "It is there." });
	const made = await run("--cwd", empty, "--mode", "edits", "run", "-p", "Make one.");
	expect([made.code, made.stdout, await readFile(join(empty, "first.md"), "utf8")]).toEqual([
		0,
		"It is there.\n",
		"one\n",
	]);
	expect((await run("--mode=edits", "rewind", "@")).stderr).toContain("Allowed choices are both, conversation_only");
});

test("a permission is not given in a mode that denies what it is for: the question stays", async () => {
	await begun();
	changes("day", "night");
	const page = await pageOf(start("ui"));
	await page.ask("/api/begin", { verb: "ask", given: { text: "Mend it." } });
	await expect.poll(() => json("questions")).toHaveLength(1);
	await page.process.kill();
	const [{ seq }] = await json("questions");
	expect(await run("answer", String(seq), "once", "--mode", "read-only")).toMatchObject({
		code: 2,
		stderr: expect.stringContaining(`#${seq} asks for what the mode read-only denies; nothing was answered`),
	});
	expect(await json("questions")).toHaveLength(1);
	expect(await run("answer", String(seq), "no: leave it", "--mode", "read-only")).toMatchObject({ code: 0 });
	expect(await foxes()).toContain("by day");
});

test("/mode in a chat shows the mode, and changes it for the chat", async () => {
	changes("day", "night");
	const typed = ["/mode", "Mend it.", "/mode some", "/mode edits", "Mend it now.", ""].join("\n");
	wire.replies.push({
		calls: [{ id: "call_1", name: "edit", args: JSON.stringify({ path: "foxes.md", old: "day", new: "night" }) }],
	});
	const { stdout } = await startWith(typed, "chat").ended;
	expect(stdout).toMatch(/^mode ask: what only looks is done, all else is asked about$/m);
	expect(stdout).toContain("denied: write foxes.md: nobody is here who could allow it");
	expect(stdout).toContain('/mode takes one of ask, edits, all, read-only; found "some"');
	expect(stdout).toMatch(/^mode edits: files are read and changed, all else is asked about$/m);
	expect(await foxes()).toContain("by night");
	const kept = await startWith("/mode all\n", "chat", "--mode", "read-only").ended;
	expect(kept.stdout).toMatch(/this chat was begun in read-only.*chat --mode all/);
});

test("what was said before tools were called is not said again by who goes on", async () => {
	const call = (id: string, path: string) => ({ id, name: "write", args: JSON.stringify({ path, text: "x\n" }) });
	wire.replies.push(
		...["a.md", "b.md"].map((path) => ({ text: `I write ${path}.`, calls: [call(`call_${path}`, path)] })),
		{ text: "Both are there." },
	);
	await writeFile(join(cwd, "reyn.yaml"), "limits:\n  turn_rounds: 1\n");
	const said: string[] = [];
	let ended = await run("run", "--mode", "edits", "-p", "Write two.");
	while (ended.code === 4) {
		said.push(ended.stdout);
		const [{ seq }] = await json("questions");
		ended = await run("answer", String(seq), "yes", "--mode", "edits");
	}
	expect([...said, ended.stdout]).toEqual(["I write a.md.\n", "I write b.md.\n", "Both are there.\n"]);
	expect(ended.code).toBe(0);
	for (const path of ["a.md", "b.md"]) await rm(join(cwd, path));
});

test("a command that outlives a killed process is joined by the next one, and was begun once", async () => {
	const args = JSON.stringify({
		command:
			"echo begun >> begun; until [ -e go ]; do sleep 0.1; done; echo it is done; env # ghp_a8B3c9D1e7F2g6H4i5J0k9L8m7N6o5P4q3R2",
	});
	// The environment of a machine may be long: a server that has read less of it than it was sent has cut it.
	const reads = 100_000;
	wire.replies.push({ calls: [{ id: "call_1", name: "shell", args }], reads }, { text: "It ran.", reads });
	const working = start("run", "--mode", "all", "-p", "Run it.");
	const begun = (): Promise<string> => readFile(join(cwd, "begun"), "utf8").catch(() => "");
	await expect.poll(begun).toBe("begun\n");
	await working.kill();
	const resuming = start("resume");
	// It may be joined while it runs, or be over by then.
	await pause(1000);
	await writeFile(join(cwd, "go"), "");
	const resumed = await resuming.ended;
	expect(resumed, resumed.stderr).toMatchObject({ code: 0, stdout: "It ran.\n" });
	expect(await begun()).toBe("begun\n");
	expect(wire.asked).toHaveLength(2);
	const told = JSON.stringify(wire.asked[1]);
	expect(told).toMatch(/it ended with 0 after \d+\.\d s:\\nit is done/);
	expect(told).not.toMatch(/OPENAI_API_KEY|canary/);
	// The trail says which command it was, without what is secret.
	const { lines } = await json("events", "--kind", "tool");
	expect(lines.map(({ what, subject }: { what: string; subject?: string }) => [what, subject])).toContainEqual([
		"started",
		expect.stringMatching(/^echo begun >> begun; until .*; echo it is done; env # (?!.*8B3c9D1)/),
	]);
	for (const name of ["begun", "go"]) await rm(join(cwd, name));
});

test("what the directory tells agents is told to the model, below the person, as it is at each turn", async () => {
	const told = (): string => JSON.stringify(wire.asked.at(-1));
	await begun();
	wire.replies.push({ text: "One." }, { text: "Two." }, { text: "Three." });
	await writeFile(join(cwd, "AGENTS.md"), "Say fox, never vulpine.\n");
	try {
		expect(await run("run", "-p", "one")).toMatchObject({ code: 0 });
		expect(told()).toContain("tell agents the following, in AGENTS.md");
		expect(told()).toContain("Say fox, never vulpine.");
		await writeFile(join(cwd, "AGENTS.md"), "Say vixen.\n");
		expect(await run("run", "-p", "two")).toMatchObject({ code: 0 });
		expect(told()).toContain("Say vixen.");
		expect(told()).not.toContain("vulpine");
		// A person is shown the same, with its tokens.
		const shown = (await startWith("/context\n", "chat").ended).stdout;
		expect(shown).toMatch(/^model +openai\/gpt-x$/m);
		expect(shown).toMatch(/^reads +unknown how much at once; model_settings\.max_input_tokens says it$/m);
		expect(shown).toMatch(/^instructions +\d{3} characters, about [1-9]\d\d tokens$/m);
		expect(shown).toMatch(/^AGENTS\.md +10 characters, about \d\d? tokens$/m);
		expect(shown).toMatch(/^conversation +6 entries, about [1-9]\d tokens as it is shown now$/m);
		await writeFile(join(cwd, "AGENTS.md"), "\0");
		expect(await run("run", "-p", "three")).toMatchObject({
			code: 0,
			stdout: "Three.\n",
			stderr: expect.stringContaining("without the instructions of this directory: AGENTS.md is a binary file"),
		});
		expect(told()).not.toContain("AGENTS.md");
	} finally {
		await rm(join(cwd, "AGENTS.md"), { force: true });
	}
});
