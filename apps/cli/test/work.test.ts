/** What `run` and `resume` print and end with while the model is away, in each output format. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openRuntime, type RuntimeOptions } from "@reyn/runtime";
import { afterAll, afterEach, beforeEach, expect, test, vi } from "vitest";
import { pauseless } from "../../../tests/kit/timers.ts";
import { work } from "../src/work.ts";

/** What the model does in its next calls; then it answers. */
let refusals: unknown[] = [];
/** It makes a plan, of which nothing succeeds. */
let isPlanning = false;
const PLAN = {
	goal: "g",
	steps: [
		{ id: "a", description: "fail", tools: [], depends_on: [] },
		{ id: "b", description: "fail too", tools: [], depends_on: ["a"] },
	],
};
let cwd: string;
beforeEach(async () => {
	cwd = await mkdtemp(join(tmpdir(), "reyn-work-"));
	await writeFile(join(cwd, "a.md"), "# A\n");
});
afterEach(async () => {
	vi.restoreAllMocks();
	await rm(cwd, { recursive: true, force: true });
});

const model: RuntimeOptions["model"] = {
	id: "provider",
	async *generate({ tools, messages }) {
		if (isPlanning && tools.every(({ name }) => name !== "plan")) throw new Error("no");
		if (isPlanning && messages.length === 1) yield { type: "toolCall", call: { id: "1", name: "plan", args: PLAN } };
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
	openToAsk: (_: unknown, more: Partial<RuntimeOptions>) =>
		openRuntime({
			state: join(cwd, ".reyn"),
			model,
			tools: [],
			timers: pauseless(),
			...more,
		}),
}));

async function run(format: "text" | "json" | "stream-json", prompt?: string) {
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
	isPlanning = true;
	const { exitCode, stderr } = await run("text", "well?");
	isPlanning = false;
	expect(stderr).toMatch(/plan p\d+ finished; failed steps: a, b/);
	expect(exitCode).toBe(6);
});
