/** The command line and plans before they start: whether one may be proposed, and who is asked. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { chat } from "../../packages/ai-sdk/test/chat-wire.ts";
import { openWire, type Wire } from "../../packages/ai-sdk/test/wire.ts";
import { reyn } from "../cli.ts";
import { type Ended, type Killable, startProcess } from "../kit/killable.ts";

let root: string;
let cwd: string;
let wire: Wire;
let states = 0;
let state: string;
beforeAll(async () => {
	root = await mkdtemp(join(tmpdir(), "reyn-plan-asked-"));
	cwd = join(root, "notes");
	await mkdir(cwd);
	await writeFile(join(cwd, "foxes.md"), "A fox sleeps by day.\n");
});
beforeEach(async () => {
	state = join(root, `state-${states++}`);
	wire = await openWire(chat);
});
afterEach(() => wire[Symbol.asyncDispose]());
afterAll(() => rm(root, { recursive: true, force: true }));

const start = (env: Readonly<Record<string, string>>, ...args: readonly string[]): Killable =>
	startProcess([process.execPath, ...reyn, "--cwd", cwd, "--state", state, ...args], {
		env: {
			...{ NO_COLOR: "1", OPENAI_API_KEY: "sk-canary-7f3a9c51d2e84b60", OPENAI_BASE_URL: wire.url },
			...{ REYN_MODEL: "openai/gpt-x", ...env },
		},
	});

const run = (env: Readonly<Record<string, string>>, ...args: readonly string[]): Promise<Ended> =>
	start(env, "run", ...args).ended;

const args = JSON.stringify({
	goal: "Find out",
	steps: [
		{ id: "a", description: "Look \u001b[2J\u202eat it", tools: ["read"] },
		{ id: "b", description: "Say it", depends_on: ["a"] },
	],
});
const proposal = { calls: [{ id: "call_1", name: "plan", args }] };
const answered = [{ text: "did a" }, { text: "did b" }];

/** The names of the tools that a request offers, and what it tells the model. */
const offered = ({ tools = [], messages }: Readonly<Record<string, unknown>> = {}) => ({
	tools: (tools as readonly { readonly function: { readonly name: string } }[]).map((tool) => tool.function.name),
	told: JSON.stringify(messages),
});

test("with --plan never, or plan.offer, the model is neither offered a plan nor told of it; --plan auto comes before", async () => {
	wire.replies.push(...Array.from({ length: 5 }, () => ({ text: "So." })));
	await run({}, "-p", "one");
	await run({}, "-p", "two", "--plan", "never");
	await run({ REYN_PLAN_OFFER: "never" }, "-p", "three");
	await run({ REYN_PLAN_OFFER: "never" }, "-p", "four", "--plan", "auto");
	await start({}, "--plan", "never", "--mode", "edits", "run", "-p", "five").ended;
	const all = wire.asked.map(offered);
	expect(all.map(({ tools }) => tools.includes("plan"))).toEqual([true, false, false, true, false]);
	expect(all.map(({ told }) => told.includes("call `plan`"))).toEqual([true, false, false, true, false]);
});

test("a step is done by the model of its class, of which there are two at least; one that cannot be asked is said at once", async () => {
	const plan = { ...JSON.parse(args) };
	const classed = plan.steps.map((step: object, i: number) => ({ ...step, ...(i === 0 && { model: "small" }) }));
	const calls = [{ id: "call_1", name: "plan", args: JSON.stringify({ ...plan, steps: classed }) }];
	wire.replies.push({ calls }, ...answered);
	const models = '{"small":"openai/gpt-s","large":"openai/gpt-l"}';
	expect(await run({ REYN_MODELS: models }, "-p", "Find out.")).toMatchObject({ code: 0 });
	expect(wire.asked.map(({ model }) => model)).toEqual(["gpt-x", "gpt-s", "gpt-x"]);
	const missing = await run({ REYN_MODELS: '{"small":"anthropic/claude-x","large":"openai/gpt-l"}' }, "-p", "Again.");
	expect(missing.code).toBe(2);
	expect(missing.stderr).toContain("models.small: anthropic/claude-x needs a key");
});

test("with plan.confirm ask it is shown before it starts; where nobody is here that is a no", async () => {
	const env = { REYN_PLAN_CONFIRM: "ask" };
	wire.replies.push(proposal, { text: "Then not." });
	expect(await run(env, "-p", "Find out.")).toMatchObject({ code: 0, stdout: "Then not.\n" });
	expect(offered(wire.asked[1]).told).toContain("denied: nobody is here who could allow this plan");
	const answers = join(root, "answers.yaml");
	await writeFile(answers, '- { to: "Start a plan of 2 steps", answer: "edit: in one step less" }\n');
	wire.replies.push(proposal, { text: "I cannot." });
	const edited = await run(env, "-p", "Find out now.", "--answers", answers);
	expect(edited).toMatchObject({ code: 0, stdout: "I cannot.\n" });
	expect(offered(wire.asked[3]).told).toContain("user wants it changed: in one step less. Propose it again");
	expect(edited.stderr).toContain("? #");
	expect(edited.stderr).toMatch(/^ +goal: Find out$/m);
	expect(edited.stderr).toMatch(/^ +a: Look \S*at it \(uses read\)$/m);
	expect(edited.stderr).toMatch(/^ +b: Say it \(needs a\)$/m);
	// biome-ignore lint/suspicious/noControlCharactersInRegex: that is what is looked for
	expect(edited.stderr).not.toMatch(/[\u001b\u202e]/);
	await writeFile(answers, '- { to: "something else", answer: "yes" }\n');
	wire.replies.push(proposal, { text: "Not so." });
	expect(await run(env, "-p", "Find out, again.", "--answers", answers)).toMatchObject({
		code: 0,
		stdout: "Not so.\n",
	});
	await writeFile(answers, '- { to: "Start a plan *", answer: "yes" }\n');
	wire.replies.push(proposal, ...answered);
	const started = await run(env, "-p", "Find out at last.", "--answers", answers);
	expect(started.code).toBe(0);
	expect(started.stdout).toMatch(/\] did b\n$/);
	expect(started.stderr).toMatch(/plan p\d+ ▸ 2 steps\n +a {2}Look/);
});
