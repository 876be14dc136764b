/** `reyn ui`: what is confirmed on the page is done, whoever has the log, and the page sees what others do. */
import { cp, mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { modelCalls, type Place, run, start } from "../cli.ts";
import { deepTest } from "../deep-test.ts";
import type { Killable } from "../kit/killable.ts";
import { type Page, pageOf } from "../kit/page.ts";
import { sample } from "../sample.ts";

let root: string;
let here: Place;
let open: Killable[] = [];
beforeAll(async () => {
	root = await mkdtemp(join(tmpdir(), "reyn-ui-"));
	here = { cwd: join(root, "notes"), state: join(root, "state"), trace: join(root, "calls") };
	await mkdir(here.cwd);
	await writeFile(join(here.cwd, "foxes.md"), "# Foxes\n\nA fox sleeps by day.\n");
	for (const question of ["Where does a fox sleep?", "What does a fox do by day?"])
		expect(await run(here, ["run", "-p", question])).toMatchObject({ code: 0 });
});
afterEach(async () => {
	for (const each of open) await each.kill();
	open = [];
});
afterAll(() => rm(root, { recursive: true, force: true }));

function begin(args: readonly string[], input?: "as it goes", where = here): Killable {
	const started = start(where, args, input);
	open.push(started);
	return started;
}

const page = (args: readonly string[] = [], where = here): Promise<Page> =>
	pageOf(begin(["ui", ...args], undefined, where));

const historyOf = async (): Promise<{ readonly tip: number; readonly entries: readonly { readonly seq: number }[] }> =>
	JSON.parse((await run(here, ["log", "--json"])).stdout);

async function confirm({ ask }: Page, verb: string, given: object = {}): Promise<readonly string[]> {
	const { body } = await ask("/api/look", { verb, given });
	const done = await ask("/api/act", { seen: body.seen });
	expect(done.status, JSON.stringify(done.body)).toBe(200);
	return done.body.lines;
}

deepTest(
	"where nobody has the log it goes there, comes back, and lets the log go; Ctrl-C ends the page alone",
	async () => {
		const shown = await page();
		const before = await historyOf();
		const first = String(before.entries.at(-2)?.seq);
		expect((await confirm(shown, "rewind", { ref: first })).join()).toContain("done: rewound");
		const after = await historyOf();
		expect(after.tip).toBeGreaterThan(before.tip);
		expect((await shown.ask("/api/state")).body).toMatchObject({ tip: after.tip, directory: here.cwd, readOnly: null });
		// Another command has the log meanwhile, and the page sees what it did.
		expect(await run(here, ["undo", "--yes"])).toMatchObject({ code: 0 });
		expect((await shown.ask("/api/state")).body.tip).toBe((await historyOf()).tip);
		shown.process.child.kill("SIGINT");
		expect(await shown.process.ended).toMatchObject({ code: 130 });
	},
);

deepTest("beside a chat it is done by the chat, which goes on", async () => {
	const chat = begin(["chat"], "as it goes");
	await chat.says("ask something");
	const shown = await page();
	const { tip } = await historyOf();
	await confirm(shown, "label", { ref: "@", name: "seen-on-the-page" });
	expect((await run(here, ["labels"])).stdout).toContain("seen-on-the-page");
	chat.child.stdin?.write("Who sleeps by day?\n");
	await expect.poll(async () => (await shown.ask("/api/state")).body.tip).toBeGreaterThan(tip + 2);
});

test("with --read-only a state of somebody else is looked at, damaged or not, and nothing in it changes", async () => {
	const copy: Place = { ...here, state: join(root, "copy") };
	// A socket that a killed process left is no part of it.
	await cp(here.state, copy.state, { recursive: true, filter: (path) => !path.endsWith(".sock") });
	const log = join(copy.state, "state/wal.jsonl");
	const bytes = await readFile(log);
	for (const isDamaged of [false, true]) {
		if (isDamaged) bytes[bytes.indexOf("fox")] = "F".charCodeAt(0);
		await writeFile(log, bytes);
		const shown = await page(["--read-only"], copy);
		const { status, body } = await shown.ask("/api/state");
		expect(isDamaged ? [status, body.error.code] : [status, body.readOnly]).toEqual(
			isDamaged ? [422, "WAL_CORRUPT"] : [200, "it was started with --read-only"],
		);
		await shown.process.kill();
		expect((await readFile(log)).equals(bytes)).toBe(true);
	}
	await rm(copy.state, { recursive: true });
});

const ROUNDS = sample(2, 5);
const moves = [
	["rewind", "reset"],
	["undo", "reset"],
	["label", "label"],
] as const;

test(`what was shown as done is there, though who did it is killed at once: ${ROUNDS} of ${ROUNDS} times`, async () => {
	const first = String((await historyOf()).entries.at(-2)?.seq);
	for (let round = 0; round < ROUNDS; round++) {
		// By the chat that has the log, and by the page itself, in turn.
		const chat = round % 2 === 0 ? begin(["chat"], "as it goes") : undefined;
		await chat?.says("ask something");
		const shown = await page();
		const { tip } = (await shown.ask("/api/state")).body;
		const [verb, kind] = moves[Math.floor(round / 2) % moves.length] as (typeof moves)[number];
		const given = { rewind: { ref: first }, undo: {}, label: { ref: "@", name: `round-${round}` } }[verb];
		await confirm(shown, verb, given);
		await (chat ?? shown.process).kill();
		await shown.process.kill();
		const { records } = JSON.parse((await run(here, ["records", "--kind", kind, "-n", "1", "--json"])).stdout);
		expect(records, `round ${round}: ${verb}`).toMatchObject([{ kind, seq: expect.any(Number) }]);
		expect(records[0].seq, `round ${round}: ${verb}`).toBeGreaterThan(tip);
	}
});

/** The questions that have no answer yet. */
const openIn = async ({ ask }: Page): Promise<readonly unknown[]> =>
	(await ask("/api/read", { verb: "status", given: {} })).body.document.turns;

const holderOf = async ({ ask }: Page): Promise<unknown> => (await ask("/api/state")).body.holder;

test("what is asked on the page is answered by it, and the log let go; what a kill cuts goes on, and is not paid again", async () => {
	const shown = await page();
	const text = "Where is it said what a fox does at night?";
	const asked = await shown.ask("/api/begin", { verb: "ask", given: { text: "Where does a fox sleep?" } });
	expect(asked).toMatchObject({ status: 200, body: { pid: shown.process.child.pid } });
	await expect.poll(() => holderOf(shown)).toBeNull();
	expect(await openIn(shown)).toEqual([]);
	// Each model call takes longer than all of this now: the page dies in the middle.
	const slow = await page(["--pace", "20000"]);
	let calls = modelCalls(here).length;
	expect((await slow.ask("/api/begin", { verb: "ask", given: { text } })).status).toBe(200);
	expect(await holderOf(slow)).toMatchObject({ isHere: true });
	await expect.poll(() => modelCalls(here).length).toBeGreaterThan(calls);
	// What is stopped from elsewhere is over; another one is cut.
	expect(await run(here, ["interrupt"])).toMatchObject({ code: 0, stdout: "it is stopped\n" });
	expect(await openIn(shown)).toEqual([]);
	expect(await run(here, ["interrupt"])).toMatchObject({ code: 3 });
	await expect.poll(() => holderOf(slow)).toBeNull();
	calls = modelCalls(here).length;
	expect((await slow.ask("/api/begin", { verb: "ask", given: { text: `${text} Really?` } })).status).toBe(200);
	await expect.poll(() => modelCalls(here).length).toBeGreaterThan(calls);
	slow.process.child.kill("SIGKILL");
	await slow.process.ended;
	expect(await holderOf(shown)).toBeNull();
	expect((await shown.ask("/api/begin", { verb: "resume", given: {} })).status).toBe(200);
	await expect.poll(() => holderOf(shown)).toBeNull();
	expect(await openIn(shown)).toEqual([]);
	const paid = modelCalls(here)
		.slice(calls)
		.map(({ request }) => request);
	const twice = paid.filter((request, i) => paid.indexOf(request) !== i);
	// At most the one that was under way.
	expect(twice.length).toBeLessThanOrEqual(1);
	shown.process.child.kill("SIGINT");
	expect(await shown.process.ended).toMatchObject({ code: 130 });
});

deepTest("a question of a script is answered on the page: here, and in the chat that asks it", async () => {
	const script = join(root, "asks.ts");
	await writeFile(script, "export default (ctx) => ctx.ask('Well?', { choices: ['this', 'that'] });");
	expect((await run(here, ["script", "run", script])).stderr).toContain("waits for an answer");
	const shown = await page();
	const [found] = (await shown.ask("/api/read", { verb: "script list", given: {} })).body.document;
	const [{ seq }] = found.questions;
	const given = { question: seq, answer: "that" };
	expect((await shown.ask("/api/begin", { verb: "answer", given })).status).toBe(200);
	await expect.poll(async () => (await run(here, ["script", "list"])).stdout).toContain("completed");
	expect((await shown.ask("/api/begin", { verb: "answer", given })).body.error.code).toBe("RUNTIME_UNKNOWN_QUESTION");
	const chat = begin(["chat"], "as it goes");
	await chat.says("ask something");
	chat.child.stdin?.write(`/script run ${script}\n`);
	const { ask } = shown;
	const waiting = async () =>
		(await ask("/api/read", { verb: "script list", given: {} })).body.document.find(
			({ questions }: { readonly questions: readonly unknown[] }) => questions.length > 0,
		);
	await expect.poll(waiting).toBeTruthy();
	const [{ seq: question }] = (await waiting()).questions;
	const there = await ask("/api/begin", { verb: "answer", given: { question, answer: "this" } });
	expect(there).toMatchObject({ status: 200, body: { pid: chat.child.pid } });
	await expect.poll(waiting).toBeUndefined();
});

const isServed = (address: URL): Promise<boolean> =>
	fetch(address).then(
		() => true,
		() => false,
	);

test("a chat gives a page of itself, and it ends with the chat, however that ends", async () => {
	const chat = begin(["chat"], "as it goes");
	await chat.says("ask something");
	chat.child.stdin?.write("/ui\n");
	const address = new URL(await chat.line("http://127.0.0.1:"));
	const code = address.hash.slice("#k=".length);
	const answer = await fetch(new URL("/api/session", address), {
		method: "POST",
		headers: { "content-type": "application/json" },
		body: JSON.stringify({ code }),
	});
	expect(answer.status).toBe(200);
	chat.child.kill("SIGKILL");
	await chat.ended;
	await expect.poll(() => isServed(address)).toBe(false);
});

test("a chat that has given a page ends as it would without", async () => {
	const chat = begin(["chat"], "as it goes");
	await chat.says("ask something");
	chat.child.stdin?.write("/ui\n");
	const address = new URL(await chat.line("http://127.0.0.1:"));
	chat.child.stdin?.write("/exit\n");
	expect(await chat.ended).toMatchObject({ code: 0 });
	await expect.poll(() => isServed(address)).toBe(false);
});

test("--open shows it by a file of this user alone: no argument has the address, and the file goes with the page", async () => {
	const bin = join(root, "bin");
	await mkdir(bin);
	// It notes what it was given, and what is there.
	await writeFile(join(bin, "xdg-open"), `#!/bin/sh\nprintf '%s\\n' "$@" > "${root}/given"\n`, { mode: 0o755 });
	const opened = start(here, ["ui", "--open"], undefined, ["env", `PATH=${bin}:${process.env.PATH}`]);
	open.push(opened);
	const address = await opened.line("http://127.0.0.1:");
	await expect.poll(() => readFile(join(root, "given"), "utf8").catch(() => "")).toContain("file:");
	const file = new URL((await readFile(join(root, "given"), "utf8")).trim());
	expect(file.href).not.toContain("#k=");
	expect(await readFile(file, "utf8")).toContain(`url=${address}`);
	expect((await stat(file)).mode & 0o777).toBe(0o600);
	opened.child.kill("SIGINT");
	await opened.ended;
	await expect(stat(file)).rejects.toMatchObject({ code: "ENOENT" });
});

test("--read-only offers nothing that writes, and does none", async () => {
	const shown = await page(["--read-only"]);
	const { body } = await shown.ask("/api/state");
	expect(body.readOnly).toContain("--read-only");
	expect(body.verbs).not.toContain("rewind");
	expect((await shown.ask("/api/act", { seen: "x" })).status).toBe(405);
});

if (process.platform !== "linux")
	console.log("skipped: a copy that does not fit (a limit for files is set with prlimit)");

test.skipIf(process.platform !== "linux")("a copy is a new file, whole or not at all", async () => {
	const file = join(root, "history.html");
	const small = await run(here, ["export", file], undefined, ["prlimit", "--fsize=20000"]);
	expect(small).toMatchObject({ code: 2, stderr: expect.stringContaining("cannot be written (EFBIG)") });
	expect(await stat(file).catch(({ code }) => code)).toBe("ENOENT");
	expect(await run(here, ["export", file])).toMatchObject({ code: 0, stdout: expect.stringContaining(file) });
	const before = await readFile(file);
	expect(await run(here, ["export", file])).toMatchObject({ code: 4 });
	expect(await readFile(file)).toEqual(before);
	expect(await run(here, ["export", `${file}.2`, "--session", "gone"])).toMatchObject({ code: 3 });
});
