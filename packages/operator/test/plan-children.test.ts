/** Plans whose steps run skills: what is shown of the children, while they work and after their process ended. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Model } from "@reyn/journal";
import { PLAN_TOOL } from "@reyn/plan";
import { openRuntime, type Runtime } from "@reyn/runtime";
import { defineSkill, done } from "@reyn/skill-resume";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { z } from "zod";
import { carryOut, type Desk, documentSchema, type Told } from "../src/index.ts";
import { say, verbOf } from "./house.ts";

/** The skill, as it is listed. */
const COUNT = "count  counts  built in";

const steps = [
	{ id: "a", description: "count", tools: ["skill_count"] },
	{ id: "b", description: "say it", depends_on: ["a"] },
];

const model: Model = {
	id: "scripted",
	async *generate({ messages, system }) {
		const [first] = messages;
		if (system === "count") yield { type: "text", text: "three" };
		else if (!first?.text.includes("Step "))
			yield { type: "toolCall", call: { id: "1", name: PLAN_TOOL, args: { goal: "Count", steps } } };
		else if (first.text.includes("Step a") && messages.at(-1)?.role !== "tool")
			yield { type: "toolCall", call: { id: "1", name: "skill_count", args: {} } };
		else yield { type: "text", text: "it is three" };
		yield { type: "usage", usage: { inputTokens: 9, outputTokens: 1 } };
	},
};

let root: string;
let runtime: Runtime;
/** Does the skill hang behind what it asks its model? */
let isHeld: boolean;

const count = defineSkill({
	name: "count",
	description: "counts",
	input: z.unknown(),
	start: "one",
	phases: {
		one: async ({ model, signal }) => {
			const { text } = await model({ system: "count", messages: [{ role: "user", text: "count" }], tools: [] });
			if (isHeld)
				await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));
			return done(text);
		},
	},
});

const open = async (readOnly = false): Promise<Runtime> =>
	openRuntime({ ...{ state: join(root, "state"), model, tools: [], skills: [count] }, readOnly });

beforeEach(async () => {
	root = await mkdtemp(join(tmpdir(), "reyn-children-"));
	isHeld = true;
	runtime = await open();
	await runtime.prompt("count them");
	await vi.waitUntil(() => runtime.restored().runs.length === 1, 10_000);
	await vi.waitUntil(
		async () => (await shown("plan show", { id: plan() })).some((line) => line.includes("10 tokens")),
		10_000,
	);
});
afterEach(async () => {
	await runtime.close();
	await rm(root, { recursive: true, force: true });
});

const plan = (): string => runtime.plans()[0]?.plan ?? "";

const desk: Desk = {
	reading: (use) => use(runtime),
	examining: () => Promise.reject(new Error()),
	acting: () => Promise.reject(new Error()),
	confirm: async () => true,
	say,
};

async function told(name: string, raw: Readonly<Record<string, unknown>> = {}): Promise<Told> {
	const verb = verbOf(name);
	if (verb.access !== "read") throw new Error(name);
	const told = await carryOut(verb, raw, desk);
	const document = JSON.parse(JSON.stringify(told.document));
	// What is said is all published.
	expect(documentSchema(verb).parse(document)).toEqual(document);
	return told;
}

const shown = async (name: string, raw: Readonly<Record<string, unknown>> = {}): Promise<readonly string[]> =>
	(await told(name, raw)).lines;

test("a child is shown with its step, and what it cost; in no way is it one to be discarded", async () => {
	const lines = await shown("plan show", { id: plan() });
	expect(lines[1]).toMatch(/^a {2}running/);
	expect(lines[2]).toMatch(/^ {4}c\d+ {2}skill count {2}running {2}10 tokens$/);
	expect(await shown("skill list")).toEqual([
		expect.stringMatching(/^c\d+ {2}count {2}running {2}one {2}of step a of plan p\d+$/),
		COUNT,
	]);
	expect((await shown("status")).join("\n")).toContain(`of step a of plan ${plan()}`);
});

test("a step that its process has left in a child is interrupted with it, and goes on to its end", async () => {
	await runtime.close();
	isHeld = false;
	runtime = await open();
	const found = await told("plan show", { id: plan() });
	expect(found.document).toMatchObject({
		steps: [
			{ id: "a", status: "interrupted_with_child", children: [{ skill: "count", status: "running" }] },
			{ id: "b", status: "pending" },
		],
	});
	expect((await shown("plan show", { id: plan() }))[2]).toMatch(/ {2}skill count {2}open {2}10 tokens$/);
	runtime.resume();
	await runtime.idle();
	const lines = await shown("plan show", { id: plan() });
	expect(lines[1]).toMatch(/^a {2}completed {2}30 tokens/);
	expect(lines[2]).toMatch(/completed {2}10 tokens$/);
	expect(await shown("skill list")).toEqual(["no skill run is in flight", COUNT]);
});

test("what a child that is given up has cost is unknown, where no answer was recorded", async () => {
	await runtime.close();
	const log = join(root, "state/state/wal.jsonl");
	const lines = (await readFile(log, "utf8")).split("\n");
	const at = lines.findIndex((line) => line.includes('"skill_run_started"'));
	await writeFile(
		log,
		lines
			.slice(0, at + 1)
			.join("\n")
			.concat("\n"),
	);
	await rm(join(root, "state/state/wal.head"), { force: true });
	runtime = await open();
	await runtime.discardPlan(plan());
	expect((await shown("plan show", { id: plan() }))[2]).toMatch(/ {2}discarded {2}unknown$/);
});

test("who only reads does not say that nobody works on it, unless the plan is paused", async () => {
	const statusIn = async () => (await told("plan show", { id: plan() })).document as { steps: { status: string }[] };
	const writer = runtime;
	runtime = await open(true);
	expect((await statusIn()).steps[0]?.status).toBe("running");
	await writer.pausePlan(plan());
	await runtime.refresh();
	expect((await statusIn()).steps[0]?.status).toBe("interrupted_with_child");
	await runtime.close();
	runtime = writer;
});
