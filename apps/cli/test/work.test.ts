/** What `run` and `resume` print and end with while the model is away, in each output format. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openRuntime, type Runtime, type RuntimeOptions } from "@reyn/runtime";
import { defineSkill, type Skill } from "@reyn/skill-resume";
import { afterAll, afterEach, beforeEach, expect, test, vi } from "vitest";
import { z } from "zod";
import { pauseless } from "../../../tests/kit/timers.ts";
import { work } from "../src/work.ts";

const mail = defineSkill({
	...{ name: "mail", description: "mails", input: z.unknown(), start: "send" },
	phases: { send: async () => Promise.reject(new Error("no mail")) },
}) as Skill;

/** What the model does in its next calls; then it answers. */
let refusals: unknown[] = [];
/** What becomes of the steps of a plan that it makes, by their ids; absent: it makes none. */
let steps: Readonly<Record<string, "fails" | "ends" | "hangs">> | undefined;
const PLAN = {
	goal: "g",
	steps: [
		{ id: "a", description: "look", tools: [], depends_on: [] },
		{ id: "b", description: "say it", tools: [], depends_on: ["a"] },
	],
};
let cwd: string;
beforeEach(async () => {
	cwd = await mkdtemp(join(tmpdir(), "reyn-work-"));
	await writeFile(join(cwd, "a.md"), "# A\n");
});
afterEach(async () => {
	vi.restoreAllMocks();
	steps = undefined;
	await rm(cwd, { recursive: true, force: true });
});

const model: RuntimeOptions["model"] = {
	id: "provider",
	async *generate({ tools, messages }, { signal }) {
		const step = /^Step (\w+):/m.exec(messages[0]?.text ?? "")?.[1];
		if (step !== undefined && steps?.[step] === "fails") throw new Error("no");
		if (step !== undefined && steps?.[step] === "hangs") {
			await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
			throw signal.reason;
		}
		if (steps && tools.some(({ name }) => name === "plan"))
			yield { type: "toolCall", call: { id: "1", name: "plan", args: PLAN } };
		if (refusals.length > 0) {
			yield { type: "text", text: "half an " };
			throw refusals.shift();
		}
		yield { type: "text", text: "a whole answer" };
		yield { type: "usage", usage: { inputTokens: 10, outputTokens: 1 } };
	},
};

// Files of tests share their modules: a mock has some of its own.
vi.hoisted(() => vi.resetModules());
afterAll(() => {
	vi.doUnmock("../src/context.ts");
	vi.resetModules();
});
vi.mock("../src/context.ts", () => ({
	modelOf: async () => model.id,
	openToAsk: (_: unknown, more: Partial<RuntimeOptions>) =>
		openRuntime({
			state: join(cwd, ".reyn"),
			model,
			tools: [],
			skills: [mail],
			timers: pauseless(),
			...more,
		}),
}));

async function run(
	format: "text" | "json" | "stream-json",
	prompt?: string,
	then: (runtime: Runtime) => Promise<void> = async () => {},
) {
	let stdout = "";
	let stderr = "";
	vi.spyOn(process.stdout, "write").mockImplementation((text, then?: unknown) => {
		stdout += text;
		if (typeof then === "function") then();
		return true;
	});
	vi.spyOn(process.stderr, "write").mockImplementation((text) => {
		stderr += text;
		return true;
	});
	const exitCode = await work({
		globals: { cwd, pace: 0 },
		format,
		start: async (runtime) => {
			if (prompt !== undefined) await runtime.prompt(prompt);
			await then(runtime);
		},
	});
	vi.restoreAllMocks();
	return { exitCode, stdout, stderr };
}

const busy = (): Error => Object.assign(new Error("429"), { retryable: true });

test("an answer that broke off and came again is on stdout once, and each try is said", async () => {
	refusals = [busy(), busy()];
	const { exitCode, stdout, stderr } = await run("text", "well?");
	expect([exitCode, stdout]).toEqual([0, "a whole answer\n"]);
	expect(stderr).toMatch(/the model gave no answer \(try 1 of 6: 429\); it is asked again in \d s\n.*try 2 of 6/);
});

test("a model that is away ends the work with 1 and says how to go on; resumed, or asked again, it ends with 0", async () => {
	for (const again of [undefined, "well?"]) {
		refusals = Array.from({ length: 6 }, busy);
		const first = await run("text", "well?");
		expect([first.exitCode, first.stdout]).toEqual([1, ""]);
		expect(first.stderr).toMatch(
			/no answer yet: provider gave no answer in 6 tries: 429\. What is done is kept[^\n]*\ngo on with: reyn resume\n/,
		);
		const second = await run("text", again);
		expect([second.exitCode, second.stdout]).toEqual([0, "a whole answer\n"]);
		expect(second.stderr).toContain("restored: an unanswered question: well?");
	}
});

test("a program reads what is unfinished, why, and how to go on", async () => {
	refusals = Array.from({ length: 12 }, busy);
	const { exitCode, stdout } = await run("json", "well?");
	expect(JSON.parse(stdout)).toMatchObject({
		exitCode: 1,
		unfinished: ["provider gave no answer in 6 tries: 429"],
		goOn: "reyn resume",
	});
	expect(exitCode).toBe(1);
	const lines = (await run("stream-json")).stdout
		.trim()
		.split("\n")
		.map((line) => JSON.parse(line) as { type: string });
	expect(lines.filter(({ type }) => type === "model_retry")).toHaveLength(5);
	expect(lines).toContainEqual(expect.objectContaining({ type: "turn_end", outcome: "stopped" }));
	expect(lines.at(-1)).toMatchObject({ type: "result", exitCode: 1 });
});

test("a plan of which steps failed is over, and ends with 6", async () => {
	steps = { a: "fails", b: "fails" };
	const { exitCode, stderr } = await run("text", "well?");
	expect(stderr).toMatch(/^plan p\d+ ▸ 1\/2 a look ✗ no \(after \d.* s, tokens unknown\)$/m);
	expect(stderr).toMatch(/plan p\d+ failed; failed steps: a, b/);
	expect(exitCode).toBe(6);
});

test("where its last step alone fails, what the others have found is the answer, and it ends with 6", async () => {
	steps = { a: "ends", b: "fails" };
	const { exitCode, stdout, stderr } = await run("text", "well?");
	expect(stderr).toMatch(/^plan p\d+ ▸ 1\/2 a look ✓ after \d.* s, 11 tokens$/m);
	expect(stdout).toMatch(/its last step, b, failed: no\n[\s\S]*## a: look\na whole answer/);
	expect(exitCode).toBe(6);
	const json = JSON.parse((await run("json", "again?")).stdout);
	expect(json).toMatchObject({ exitCode: 6, messages: [{ text: expect.stringContaining("a whole answer") }] });
});

test("a plan that a person pauses says why and how it goes on, once, and ends with 4; resumed, it ends with 0", async () => {
	steps = { a: "ends", b: "hangs" };
	let plan = "";
	const pause = async (runtime: Runtime): Promise<void> => {
		await vi.waitUntil(() => runtime.plans()[0]?.finished === 1);
		plan = runtime.plans()[0]?.plan ?? "";
		await runtime.pausePlan(plan);
	};
	const { exitCode, stderr } = await run("text", "well?", pause);
	expect(stderr.split("\n").filter((line) => /paused|stopped|go on/.test(line))).toEqual([
		`plan ${plan} is paused: a person has paused it; go on with: reyn plan resume ${plan}`,
	]);
	expect(exitCode).toBe(4);
	steps = { a: "fails", b: "ends" };
	const waits = await run("text");
	expect(waits.stderr).toContain(`paused (a person has paused it); go on with reyn plan resume ${plan}`);
	const resumed = await run("json", undefined, async (runtime) => void (await runtime.resumePlan(plan)));
	expect(JSON.parse(resumed.stdout)).toMatchObject({ exitCode: 0, messages: [{ from: plan, text: "a whole answer" }] });
	expect(JSON.parse(resumed.stdout)).not.toHaveProperty("paused");
});

test("a skill run that has failed too often says so and which command goes on with it, once, and ends with 4", async () => {
	let id = "";
	const failed = await run("text", undefined, async (runtime) => {
		id = await runtime.runSkill("mail", {});
	});
	expect([failed.exitCode, (await run("text")).exitCode]).toEqual([1, 1]);
	const why = 'it has failed at 3 starts in phase "send", visit 1: no mail';
	const { exitCode, stderr } = await run("text");
	expect(stderr.split("\n").filter((line) => /paused|stopped|go on/.test(line))).toEqual([
		`skill ${id} is paused: ${why}; go on with: reyn skill resume ${id}`,
	]);
	expect(exitCode).toBe(4);
	// A resume counts anew.
	const again = await run("json", undefined, (runtime) => runtime.resumeSkillRun(id));
	expect(JSON.parse(again.stdout)).toMatchObject({ unfinished: ["no mail"], exitCode: 1 });
	await run("text");
	expect(JSON.parse((await run("json")).stdout)).toEqual(
		expect.objectContaining({ paused: [{ run: id, why }], exitCode: 4 }),
	);
});
