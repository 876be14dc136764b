/** The command line with a real provider's package, against a server on this machine that speaks as the provider does. */
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { anthropic } from "../../packages/ai-sdk/test/anthropic-wire.ts";
import { chat } from "../../packages/ai-sdk/test/chat-wire.ts";
import { openWire, type Wire } from "../../packages/ai-sdk/test/wire.ts";
import { reyn } from "../cli.ts";
import { type Ended, type Killable, startProcess } from "../kit/killable.ts";
import { some } from "../sample.ts";

const KEY = "sk-canary-7f3a9c51d2e84b60";

let root: string;
let cwd: string;
beforeAll(async () => {
	root = await mkdtemp(join(tmpdir(), "reyn-models-"));
	cwd = join(root, "notes");
	await mkdir(cwd);
	await writeFile(join(cwd, "foxes.md"), "# Foxes\n\nA fox sleeps by day.\n");
});
afterAll(() => rm(root, { recursive: true, force: true }));

interface Spoken {
	readonly model: string;
	readonly speaker: typeof anthropic;
	env(wire: Wire): Readonly<Record<string, string>>;
}

const spoken: readonly Spoken[] = [
	{
		...{ model: "anthropic/claude-x", speaker: anthropic },
		env: ({ url }) => ({ ANTHROPIC_API_KEY: KEY, ANTHROPIC_BASE_URL: url }),
	},
	{ ...{ model: "openai/gpt-x", speaker: chat }, env: ({ url }) => ({ OPENAI_API_KEY: KEY, OPENAI_BASE_URL: url }) },
	{ ...{ model: "ollama/llama-x", speaker: chat }, env: ({ url }) => ({ OLLAMA_HOST: new URL(url).host }) },
];

const start = (state: string, env: Readonly<Record<string, string>>, ...args: readonly string[]): Killable =>
	startProcess([process.execPath, ...reyn, "--cwd", cwd, "--state", state, ...args], {
		env: { NO_COLOR: "1", ...env },
	});

const run = (...how: Parameters<typeof start>): Promise<Ended> => start(...how).ended;

/** All that lies in a directory, as one text. */
async function written(directory: string): Promise<string> {
	const files = (await readdir(directory, { recursive: true, withFileTypes: true })).filter((each) => each.isFile());
	const texts = files.map(({ parentPath, name }) => readFile(join(parentPath, name), "latin1"));
	return (await Promise.all(texts)).join("\n");
}

const SHOT = Buffer.from("\x89PNG\r\n\x1a\n a fox in the snow", "latin1");

test("a server that cuts a long prompt in silence is found out, and what to set is said: its answer stands", async () => {
	const context = 4096;
	// As Ollama does: the newest that fits is read, and what was counted is that.
	const tokensOf = (body: unknown): number => (JSON.stringify(body).match(/\w+/g) ?? []).length;
	await using wire = await openWire(chat, (body) => ({ text: "I see.", reads: Math.min(context, tokensOf(body)) }));
	const [, , { model, env }] = spoken as [Spoken, Spoken, Spoken];
	const state = join(root, "unread");
	const ask = (text: string) => run(state, env(wire), "--model", model, "run", "-p", text);
	const told =
		/ollama\/llama-x read 4096 of at least \d+ tokens, and does not say so: set OLLAMA_CONTEXT_LENGTH or model_settings\.max_input_tokens/;
	expect((await ask(`${"fox ".repeat(2000)}?`)).stderr).not.toMatch(told);
	// First what was said before is cut, then also what is asked.
	for (const prompt of [`${"den ".repeat(2500)}?`, `${"hare ".repeat(5000)}?`]) {
		const cut = await ask(prompt);
		expect([cut.code, cut.stdout]).toEqual([0, "I see.\n"]);
		expect(cut.stderr).toMatch(told);
	}
	expect(wire.asked.length).toBe(3);
});

test("a preview says what is paid again where another model goes on with a skill, and the resume pays no more", async () => {
	await using wire = await openWire(chat);
	const [, { model, env }] = spoken as [Spoken, Spoken, Spoken];
	const state = join(root, "another");
	await mkdir(join(state, "skills"), { recursive: true });
	const ask = (text: string) => `await model({ system: "", messages: [{ role: "user", text: "${text}" }], tools: [] })`;
	await writeFile(
		join(state, "skills/twice.mjs"),
		`import { defineSkill, done } from "@reyn/skill-resume";
import { z } from "zod";
const one = async ({ model }) => done((${ask("a")}).text + (${ask("b")}).text);
export default defineSkill({ name: "twice", description: "asks twice", input: z.unknown(), start: "one", phases: { one } });
`,
	);
	wire.replies.push({ text: "First." }, { isSilent: true });
	const killed = start(state, env(wire), "--trust", "--model", model, "skill", "run", "twice");
	await expect.poll(() => wire.asked.length).toBe(2);
	await killed.kill();
	const [{ run: id }] = JSON.parse((await run(state, {}, "skill", "list", "--json")).stdout).runs;
	const resume = (...more: readonly string[]) =>
		run(state, env(wire), "--trust", "--model", "openai/gpt-y", "skill", "resume", id, ...more);
	expect((await resume("--dry-run")).stdout).toContain(
		`begun with ${model}, goes on with openai/gpt-y: this phase asks it anew; at most paid again: 1 model call, 55 tokens`,
	);
	wire.replies.push({ text: "Second, " }, { text: "third." });
	expect((await resume()).stdout).toBe(`[${id}] Second, third.\n`);
	expect(wire.asked).toHaveLength(4);
});

describe.each(some(spoken, spoken.length))("$model", ({ model, speaker, env }) => {
	test("is shown an image of a prompt; killed before it answers, it is asked the same once more", async () => {
		await using wire = await openWire(speaker);
		const state = join(root, `${model.replace("/", "-")}-shot`);
		const shot = join(root, "shot.png");
		await writeFile(shot, SHOT);
		wire.replies.push({ isSilent: true });
		const killed = start(state, env(wire), "--model", model, "run", "-p", "What is it?", "--attach", shot);
		while (wire.asked.length < 1) await new Promise((resolve) => setTimeout(resolve, 20));
		killed.kill();
		await killed.ended;
		await rm(shot);
		wire.replies.push({ text: "A fox." });
		expect(await run(state, env(wire), "--model", model, "resume")).toMatchObject({ code: 0, stdout: "A fox.\n" });
		expect(wire.asked[1]).toEqual(wire.asked[0]);
		expect(JSON.stringify(wire.asked[1])).toContain(SHOT.toString("base64"));
		// Shown as a line, and its bytes are in no file but their own.
		const { stdout } = await run(state, env(wire), "transcript");
		expect(stdout).toContain("What is it?\n  [image shot.png, 26 B]\n");
		const all = await written(state);
		expect([all.split("a fox in the snow").length - 1, all.includes(SHOT.toString("base64"))]).toEqual([1, false]);
	});

	const search = { calls: [{ id: "call_1", name: "search", args: '{"query":"sleeps"}' }] };

	test("answers with what a tool has found; killed behind that it is asked for the rest alone", async () => {
		await using wire = await openWire(speaker);
		const state = join(root, model.replace("/", "-"));
		wire.replies.push({ text: "I look.", ...search }, { isSilent: true });
		const killed = start(state, env(wire), "--model", model, "run", "-p", "Where does a fox sleep?");
		await expect.poll(() => wire.asked.length).toBe(2);
		expect(JSON.stringify(wire.asked[1])).toContain("A fox sleeps by day.");
		await killed.kill();
		wire.replies.push({ text: "By day." });
		const ended = await run(state, { ...env(wire), REYN_MODEL: model }, "resume");
		expect(ended).toMatchObject({ code: 0, stdout: "By day.\n" });
		expect(wire.asked).toHaveLength(3);
		expect(wire.asked[2]).toEqual(wire.asked[1]);
		const spend = JSON.parse((await run(state, {}, "spend", "--json")).stdout);
		expect(spend.paid).toEqual({ calls: 2, inputTokens: 96, outputTokens: 14, cost: { usd: "0", unknown: 2 } });
		expect(await written(state)).not.toContain(KEY);
	});

	test("goes on with what was begun with it, unless another one is said; without its key or address nothing is lost", async () => {
		await using wire = await openWire(speaker);
		const state = join(root, `${model.replace("/", "-")}-begun`);
		wire.replies.push({ isSilent: true });
		const killed = start(state, env(wire), "--model", model, "run", "-p", "Where does a fox sleep?");
		await expect.poll(() => wire.asked.length).toBe(1);
		await killed.kill();
		if (!model.startsWith("ollama")) {
			const refused = await run(state, {}, "resume");
			expect(refused).toMatchObject({ code: 2, stdout: "" });
			expect(refused.stderr).toMatch(
				/needs a key: .* what is unfinished was begun with it, and nothing of that is lost/,
			);
		}
		wire.replies.push({ text: "By day." });
		expect(await run(state, env(wire), "resume")).toMatchObject({ code: 0, stdout: "By day.\n" });
		expect(wire.asked).toHaveLength(2);

		wire.replies.push({ isSilent: true });
		const again = start(state, env(wire), "--model", model, "run", "-p", "What does foxes.md say?");
		await expect.poll(() => wire.asked.length).toBe(3);
		await again.kill();
		const shown = (await run(state, env(wire), "--model", "offline", "resume", "--dry-run")).stdout.split("\n");
		expect(shown).toEqual([
			expect.stringMatching(/^turn #\d+ of default\/main goes on: What does foxes\.md say\?$/),
			`  begun with ${model}, goes on with offline; what is recorded counts all the same`,
			"  not paid again: 0 model calls, 0 tokens; what it has yet to ask is paid, and not known",
			"",
		]);
		const other = await run(state, env(wire), "--model", "offline", "resume");
		expect(other.code).toBe(0);
		expect(other.stderr).toContain(`was begun with ${model} and goes on with offline`);
		expect(wire.asked).toHaveLength(3);
	});

	test("goes on with a script that was begun with it; without its key or address the run stays as it is", async () => {
		await using wire = await openWire(speaker);
		const state = join(root, `${model.replace("/", "-")}-script`);
		const file = join(root, "two.ts");
		await writeFile(file, 'export default async (ctx) => [await ctx.agent("one"), await ctx.agent("two")];\n');
		wire.replies.push({ text: "First." }, { isSilent: true });
		const killed = start(state, env(wire), "--model", model, "script", "run", file);
		await expect.poll(() => wire.asked.length).toBe(2);
		await killed.kill();
		const [{ run: id }] = JSON.parse((await run(state, {}, "script", "list", "--json")).stdout);
		if (!model.startsWith("ollama")) {
			const refused = await run(state, {}, "script", "resume", id);
			expect(refused).toMatchObject({ code: 2, stdout: "" });
			expect(refused.stderr).toMatch(/needs a key: .* what is unfinished was begun with it/);
			expect(await written(state)).not.toContain("script_resumed");
		}
		const explained = (await run(state, {}, "--model", "offline", "script", "resume", id, "--explain")).stdout;
		expect(explained).toMatch(/would stop, and call nothing: script\/\w+ #\d+: expected .*; got /);
		expect((await run(state, env(wire), "script", "explain", id)).stdout).not.toContain("would stop");
		const other = await run(state, {}, "--model", "offline", "script", "resume", id);
		expect(other.stderr).toContain(`script ${id} was begun with ${model} and goes on with offline`);
		expect(other.stderr).toContain("Nothing was called");
		wire.replies.push({ text: "Second." });
		const ended = await run(state, env(wire), "script", "resume", id);
		expect([ended.code, JSON.parse(ended.stdout)]).toEqual([0, ["First.", "Second."]]);
		expect(wire.asked).toHaveLength(3);
	});

	test("refuses a key: that is said, without it, and nothing is asked again", async () => {
		await using wire = await openWire(speaker);
		const state = join(root, `${model.replace("/", "-")}-refused`);
		const message = `invalid key: ${KEY}`;
		wire.replies.push({
			refusal: { status: 401, body: { type: "error", error: { type: "authentication_error", message } } },
		});
		const ended = await run(
			state,
			{ ...env(wire), OTHER_KEY: KEY },
			"--model",
			model,
			"run",
			"-p",
			"Where does a fox sleep?",
		);
		expect(ended.code).toBe(1);
		expect(ended.stderr).toContain("401: invalid key: [redacted");
		expect(wire.asked).toHaveLength(1);
		expect(ended.stdout + ended.stderr + (await written(state))).not.toContain(KEY);
	});
});

test("a model with a price: what it costs is said, and at the limit of a budget it is not called off a terminal", async () => {
	const [, { model, speaker, env }] = spoken as [Spoken, Spoken];
	await using wire = await openWire(speaker);
	wire.replies.push({ text: "By day." }, { text: "By night." });
	const [state, home] = [join(root, "priced"), join(root, "home")];
	await mkdir(join(home, "reyn"), { recursive: true });
	const price = "{ input: 1.25, output: 10, cached_input: 0.125 }";
	const own = (budget: number) =>
		writeFile(join(home, "reyn/config.yaml"), `prices: { ${model}: ${price} }\nbudget: { session_usd: ${budget} }\n`);
	const ask = () => run(state, { ...env(wire), XDG_CONFIG_HOME: home }, "--model", model, "run", "-p", "When?");
	await own(0.0001);
	const first = await ask();
	expect([first.code, first.stderr]).toEqual([
		0,
		expect.stringContaining("paid now: 1 model call, 55 tokens, $0.0001"),
	]);
	const second = await ask();
	expect([second.code, wire.asked.length]).toEqual([4, 1]);
	expect(second.stderr).toContain("this session has spent $0.0001 of $0.0001. Go on for another $0.0001?");
	const spent = async () =>
		JSON.parse((await run(state, { XDG_CONFIG_HOME: home }, "spend", "--by", "session", "--json")).stdout);
	// 40 tokens in, 8 from a cache, 7 out.
	expect((await spent()).by).toMatchObject([
		{ kind: "session", name: "default/main", paid: { calls: 1, cost: { usd: "0.000121", unknown: 0 } } },
	]);
	await own(1);
	expect(await ask()).toMatchObject({ code: 0, stdout: "By night.\n" });
	expect((await spent()).paid).toMatchObject({ calls: 2, cost: { usd: "0.000242", unknown: 0 } });
});

test("an answer that is cut is shown as far as it came, and said to be cut; the next prompt is asked as ever", async () => {
	const [{ model, speaker, env }] = spoken as [Spoken];
	await using wire = await openWire(speaker);
	const state = join(root, "cut");
	wire.replies.push({ text: "A fox sl", finish: "length" }, { text: "By day." });
	const cut = await run(state, env(wire), "--model", model, "run", "-p", "Where does a fox sleep?");
	expect(cut.code).toBe(1);
	expect(cut.stderr).toMatch(/the answer of anthropic\/claude-x was cut after 7 tokens, at its limit of tokens/);
	const next = await run(state, env(wire), "--model", model, "run", "-p", "And now?");
	expect(next).toMatchObject({ code: 0, stdout: "By day.\n" });
	expect(wire.asked).toHaveLength(2);
});

test.each([
	["claude-x", /--model takes offline, or <provider>\/<model> of anthropic, google, ollama, openai; found "claude-x"/],
	["anthropic/claude-x", /anthropic\/claude-x needs a key: set ANTHROPIC_API_KEY/],
])("the model %s cannot be asked here: nothing is written, and what to do is said", async (model, said) => {
	const state = join(root, "none");
	const ended = await run(state, { ANTHROPIC_API_KEY: "" }, "--model", model, "run", "-p", "hello");
	expect([ended.code, ended.stdout]).toEqual([2, ""]);
	expect(ended.stderr).toMatch(said);
	await expect(readdir(state)).rejects.toMatchObject({ code: "ENOENT" });
});

/** Has Node find, in place of a package, what an expression in its hook says. */
const finding = (name: string, expression: string): string => {
	const hook = `import { registerHooks } from "node:module";
registerHooks({ resolve: (name, context, next) => (name === ${JSON.stringify(name)} ? ${expression} : next(name, context)) });`;
	return `--import=data:text/javascript;base64,${Buffer.from(hook).toString("base64")}`;
};
const isMissing = '(() => { throw Object.assign(new Error(name), { code: "ERR_MODULE_NOT_FOUND" }); })()';
const isOther = '({ url: "data:text/javascript,export {}", shortCircuit: true })';

test.each([
	...["anthropic", "openai", "google"].map((name) => [`${name}/x`, `@ai-sdk/${name}`, isMissing] as const),
	["ollama/x", "@ai-sdk/openai-compatible", isMissing],
	["openai/x", "@ai-sdk/openai", isOther],
] as const)("the package of %s, which its user has to install, is named: %s %#", async (model, from, expression) => {
	const state = join(root, "without");
	const keys = { ANTHROPIC_API_KEY: KEY, OPENAI_API_KEY: KEY, GOOGLE_GENERATIVE_AI_API_KEY: KEY };
	const env = { ...keys, NODE_OPTIONS: finding(from, expression) };
	const ended = await run(state, env, "--model", model, "run", "-p", "hello");
	expect([ended.code, ended.stdout]).toEqual([2, ""]);
	expect(ended.stderr).toContain(
		expression === isMissing
			? `${model} needs the package ${from}, which is not installed beside reyn: npm install -g ${from}\n`
			: `${from} is of another version than ${model} needs: npm install -g ${from}@latest\n`,
	);
	await expect(readdir(state)).rejects.toMatchObject({ code: "ENOENT" });
});

test("what is configured holds: the model of a user, its settings, how often it is asked, and what gc keeps", async () => {
	const [{ model, speaker, env }] = spoken as [Spoken];
	await using wire = await openWire(speaker);
	const [state, home, directory] = ["configured", "home", "with-config"].map((name) => join(root, name));
	await mkdir(join(home as string, "reyn"), { recursive: true });
	await mkdir(directory as string);
	await writeFile(join(directory as string, "foxes.md"), "# Foxes\n");
	await writeFile(
		join(home as string, "reyn/config.yaml"),
		`model: ${model}\nmodel_settings: { max_output_tokens: 77 }\n`,
	);
	await writeFile(join(directory as string, "reyn.yaml"), "model_policy: { tries: 2 }\nretention: { keep_days: 5 }\n");
	const reynIn = (...args: readonly string[]): Promise<Ended> =>
		startProcess([process.execPath, ...reyn, "--cwd", directory as string, "--state", state as string, ...args], {
			env: { NO_COLOR: "1", XDG_CONFIG_HOME: home as string, ...env(wire) },
		}).ended;
	const refusal = {
		status: 500,
		headers: { "retry-after-ms": "1" },
		body: { error: { type: "api_error", message: "no" } },
	};
	wire.replies.push({ refusal }, { refusal });
	const asked = await reynIn("run", "-p", "Where does a fox sleep?");
	expect([asked.code, wire.asked.length]).toEqual([1, 2]);
	expect(asked.stderr).toContain("gave no answer in 2 tries");
	expect(wire.asked[0]).toMatchObject({ model: "claude-x", max_tokens: 77 });
	expect((await reynIn("gc", "--dry-run")).stdout).toContain("5 days");
	expect((await reynIn("gc", "--dry-run", "--keep-days", "9")).stdout).toContain("9 days");
	await writeFile(join(directory as string, "reyn.yaml"), "plan:\n  concurrency: many\n");
	const wrong = await reynIn("log");
	expect([wrong.code, wrong.stderr]).toEqual([
		2,
		expect.stringContaining("reyn.yaml:2:16: plan.concurrency: expected number"),
	]);
});
