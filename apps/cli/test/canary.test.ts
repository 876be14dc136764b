/** A key on every way into a state, by the tools and the model as a command has them: in no file of the state is any trace of it, but in what a file held. */
import { lstatSync, readdirSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { chat } from "../../../packages/ai-sdk/test/chat-wire.ts";
import { openWire, type Wire } from "../../../packages/ai-sdk/test/wire.ts";
import { openForWork } from "../src/context.ts";

/** One of the environment, and one that is known by its shape. */
const [VALUE, KEY] = ["Canary-7f3a9Zq-0x", `ghp_${"cAnary9".repeat(6)}`];
const BOTH = `${VALUE} ${KEY}`;

let root: string;
let cwd: string;
let wire: Wire;
beforeAll(async () => {
	root = await mkdtemp(join(tmpdir(), "reyn-canary-"));
	cwd = join(root, "work");
	wire = await openWire(chat);
	await mkdir(cwd);
	await mkdir(join(root, "config/reyn"), { recursive: true });
	const rules = [{ deny: "run", on: `by-config ${VALUE}` }, ...["cat", "printf"].map((on) => ({ allow: "run", on }))];
	await writeFile(join(root, "config/reyn/config.yaml"), JSON.stringify({ permissions: { mode: "edits", rules } }));
	await writeFile(join(cwd, "notes.md"), `by-file ${BOTH}\n`);
	await writeFile(join(cwd, "AGENTS.md"), `by-instructions ${BOTH}\n`);
	vi.stubEnv("XDG_STATE_HOME", join(root, "user"));
	vi.stubEnv("XDG_CONFIG_HOME", join(root, "config"));
	vi.stubEnv("OPENAI_BASE_URL", wire.url);
	vi.stubEnv("OPENAI_API_KEY", VALUE);
	vi.stubEnv("REYN_MODEL", "openai/gpt-x");
});
afterAll(async () => {
	vi.unstubAllEnvs();
	await wire[Symbol.asyncDispose]();
	await rm(root, { recursive: true, force: true });
});

const filesIn = (directory: string): readonly string[] =>
	readdirSync(directory, { recursive: true, encoding: "utf8" })
		.map((name) => join(directory, name))
		.filter((path) => lstatSync(path).isFile());

const formsOf = (secret: string): readonly string[] => [
	secret,
	secret.slice(0, 12),
	encodeURIComponent(secret),
	...[0, 1, 2].map((n) =>
		Buffer.from("x".repeat(n) + secret)
			.toString("base64")
			.slice(4, -4),
	),
];

/** The files of a state that have a trace of either. */
const hitsIn = (state: string): readonly string[] =>
	filesIn(state)
		.filter((path) =>
			[VALUE, KEY].flatMap(formsOf).some((form) => path.includes(form) || readFileSync(path).includes(form)),
		)
		.map((path) => relative(state, path));

test("a key in a prompt, a file, an argument, an output, an error, a header, a plan, a question, an answer, a skill and the configuration", async () => {
	const calls = (name: string, args: object) => ({ calls: [{ id: `c-${name}`, name, args: JSON.stringify(args) }] });
	const body = { error: { message: `by-error ${BOTH}`, type: "invalid_request_error" } };
	const step = { id: "a", description: `by-step ${BOTH}`, tools: ["read"], depends_on: [] };
	const stories: readonly (readonly [string, ...Wire["replies"]])[] = [
		[`by-prompt ${BOTH}`, { text: `by-answer ${BOTH}` }],
		["a file", calls("read", { path: "notes.md" }), calls("search", { query: "by-file" }), { text: "read" }],
		[
			"an argument",
			calls("write", { path: "new.md", text: `by-argument ${BOTH}\n` }),
			calls("list", { path: `by-path-${KEY}` }),
			{ text: "written" },
		],
		[
			"an output",
			calls("shell", { command: "cat notes.md" }),
			calls("shell", { command: `printf by-command-${KEY}` }),
			{ text: "printed" },
		],
		[
			"much of it",
			calls("shell", {
				command: "cat notes.md; for i in 1 2 3 4; do head -c 3000000 /dev/zero | tr '\\0' x; done; cat notes.md",
			}),
			{ text: "printed" },
		],
		["the configuration", calls("shell", { command: `by-config ${VALUE}` }), { text: "denied" }],
		["a question", calls("ask_user", { question: `by-question ${BOTH}?` }), { text: "asked" }],
		[
			"a plan",
			calls("plan", { goal: `by-goal ${BOTH}`, steps: [step, { ...step, id: "b", depends_on: ["a"] }] }),
			{ text: `by-result ${BOTH}` },
			{ text: "b" },
			{ text: "all" },
		],
		["an error", { refusal: { status: 400, headers: { "x-request-id": `by-header-${KEY}` }, body } }],
	];
	const state = join(cwd, ".reyn");
	const ask = async ({ question }: { readonly question: string }): Promise<string> =>
		question.startsWith("by-question") ? `by-reply ${BOTH}` : "once";
	const work = async () => openForWork({ cwd, pace: 0 }, { unanswered: "wait", ask });
	const runtime = await work();
	for (const [prompt, ...replies] of stories) {
		wire.replies.splice(0, wire.replies.length, ...replies);
		await runtime.prompt(prompt);
		await runtime.idle();
	}
	wire.replies.splice(0, wire.replies.length, { text: `by-digest ${BOTH}` });
	await runtime.runSkill("digest", { topic: `by-skill ${BOTH}` });
	await runtime.idle();
	await runtime.timeline.label(runtime.wal.tip, "mine", { actor: `by-actor ${BOTH}` });
	await runtime.close();
	// What stays of each is there, so each was on its way.
	const all = filesIn(state)
		.map((path) => readFileSync(path, "utf8"))
		.join("\n");
	for (const door of [
		"prompt",
		"answer",
		"file",
		"argument",
		"step",
		"goal",
		"result",
		"question",
		"reply",
		"error",
		"digest",
		"skill",
		"config",
	])
		expect(all, door).toMatch(new RegExp(`by-${door}[ -]\\[redacted `));
	expect(readdirSync(join(state, "state/commands")).length).toBeGreaterThan(2);
	expect(hitsIn(state)).toEqual([]);
	// The next life reads all of it; and what a file held is kept as it was, to be given back.
	const again = await work();
	wire.replies.splice(0, wire.replies.length, calls("edit", { path: "notes.md", old: "by-file", new: "edited" }), {
		text: "edited",
	});
	await again.prompt("an image");
	await again.idle();
	await again.gc();
	await again.close();
	expect(hitsIn(state)).toEqual([expect.stringMatching(/^state\/images\//)]);
});
