/**
 * Golden lanes: what every line of work asks of models and leaves in the log, byte for byte. Steps are known again by that: a
 * request that is put otherwise would make each run in flight pay again. To record a new one: `REYN_GOLDEN=write`.
 */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type Model, shownOf, type Tool, type ToolCall } from "@reyn/journal";
import { PLAN_TOOL } from "@reyn/plan";
import { defineSkill, done, next } from "@reyn/skill-resume";
import type { Clock, Ids, Seq, WalRecord } from "@reyn/wal";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { pauseless } from "../../../tests/kit/timers.ts";
import { layoutOf, type Runtime, type RuntimeOptions } from "../src/index.ts";
import { areaIn } from "../src/stores/layout.ts";
import { makeProject, open, overSqlite, type Project } from "./project.ts";
import { runToEnd, script } from "./script-runs.ts";

let project: Project;
beforeEach(async () => {
	project = await makeProject();
});
afterEach(() => project[Symbol.asyncDispose]());

interface Run {
	/** What the model says, answer by answer. */
	readonly says: readonly Said[];
	begin(runtime: Runtime): Promise<unknown>;
	readonly options?: Partial<RuntimeOptions>;
}

/** A text, tools to call, both, or how the call fails. */
type Said = string | readonly Call[] | { readonly text: string; readonly calls: readonly Call[] } | Error;
type Call = Omit<ToolCall, "id">;

const prompts =
	(...texts: readonly string[]) =>
	async (runtime: Runtime): Promise<void> => {
		for (const text of texts) {
			await runtime.prompt(text);
			await runtime.idle();
		}
	};

const look: Call = { name: "look", args: { at: "a" } };
const pay: Call = { name: "pay", args: { euros: 3 } };

const tools: readonly Tool[] = [
	{
		name: "look",
		description: "Looks at a place.",
		parameters: { type: "object", properties: { at: { type: "string" } } },
		purity: "world",
		call: async (args) => `seen: ${JSON.stringify(args)}`,
	},
	{
		name: "pay",
		description: "Pays.",
		parameters: { type: "object" },
		purity: "side_effect",
		call: async (args, { idempotencyKey }) => `paid ${JSON.stringify(args)} ${idempotencyKey?.length}`,
	},
	{
		name: "fail",
		description: "Fails.",
		parameters: { type: "object" },
		purity: "external",
		call: () => Promise.reject(Object.assign(new Error("ERROR in the far side"), { code: "FAR_SIDE" })),
	},
	{
		name: "complain",
		description: "Answers with what looks like an error.",
		parameters: { type: "object" },
		purity: "world",
		call: async () => "ERROR: none, this is only how the text begins",
	},
];

const plan = (
	...steps: readonly (readonly [id: string, tools: readonly string[], needs: readonly string[]])[]
): Call => ({
	name: PLAN_TOOL,
	args: {
		goal: "the goal",
		steps: steps.map(([id, names, needs]) => ({ id, description: `do ${id}`, tools: names, depends_on: needs })),
	},
});
const invalid: Call = { name: PLAN_TOOL, args: { goal: "x", steps: [] } };
const two = plan(["a", ["look", "pay"], []], ["b", [], ["a"]]);

const busy = (): Error => Object.assign(new Error("the model is busy"), { retryable: true });

const count = '{ type: "object", properties: { n: { type: "integer" } }, required: ["n"] }';
const scripts = (body: string) => (runtime: Runtime) => runToEnd(runtime, script(body));

const report = defineSkill({
	name: "report",
	description: "Writes a report.",
	input: z.unknown(),
	start: "gather",
	phases: {
		gather: async ({ step, model }) => {
			const rate = await step("rate", async () => 1.1, { purity: "world", args: { of: "euro" } });
			const paid = await step("pay", async () => "paid", { purity: "side_effect", args: { rate } });
			const { text } = await model({ system: "gather", messages: [{ role: "user", text: paid }], tools: [] });
			return next("write", text);
		},
		write: async ({ model }, input, before) => {
			const { text } = await model({
				system: "write",
				messages: [{ role: "user", text: `${JSON.stringify(input)}: ${before}` }],
				tools: [{ name: "none", description: "", parameters: {} }],
			});
			return done(text);
		},
	},
});

const runs: Readonly<Record<string, Run>> = {
	"turn-plain": { says: ["one", "two"], begin: prompts("first", "second") },
	"turn-tools": {
		says: [[look, pay], { text: "let me look again", calls: [look, look] }, "done", "and done"],
		begin: prompts("work", "what was that?"),
	},
	"turn-failing-tools": {
		says: [
			[{ name: "fail", args: { n: 1 } }, { name: "nowhere", args: {} }, { name: "fail" }, { name: "complain" }],
			[{ name: "fail", args: { n: 1 } }],
			"it fails",
			"it failed",
		],
		begin: prompts("fail", "what was that?"),
	},
	"turn-retries": { says: [busy(), [look], busy(), busy(), "at last"], begin: prompts("be patient") },
	"turn-rounds": {
		says: Array.from({ length: 12 }, () => [look]),
		begin: prompts("look for ever"),
		options: { ask: async () => "no", unanswered: "wait" },
	},
	"turn-plan-accepted": {
		says: [{ text: "I make a plan", calls: [look, two] }, [look, pay], "a is done", "b is done", "it was so"],
		begin: prompts("plan", "how was it?"),
	},
	"turn-plan-mended": { says: [[invalid], [two], "a", "b"], begin: prompts("plan") },
	"turn-plan-refused": {
		says: [[invalid], { text: "again", calls: [look, invalid] }, "so it is"],
		begin: prompts("plan", "why?"),
	},
	"turn-plan-failed": {
		says: [[two], "why it was"],
		begin: async (runtime) => {
			const path = areaIn(layoutOf(project.state), "plans");
			await mkdir(dirname(path), { recursive: true });
			await writeFile(path, "a file where a directory is needed");
			await prompts("plan", "why?")(runtime);
		},
		// The path is another one each time.
		options: { redact: (text) => text.replace(/\/\S*reyn-runtime-[^\s,;:"]*/g, "(a path)") },
	},
	"plan-failing-tools": {
		says: [
			[plan(["a", ["fail"], []], ["b", ["complain"], ["a"]], ["c", [], ["a", "b"]])],
			[{ name: "fail", args: {} }, { name: "nowhere" }, look],
			"it fails",
			[{ name: "complain" }],
			{ text: "hm", calls: [{ name: "complain", args: {} }] },
			"it complains",
			"c",
		],
		begin: prompts("plan"),
	},
	"plan-limit": {
		says: [[two], [look], [look], [look], [look], [look], "a has failed"],
		begin: prompts("plan"),
	},
	"plan-retries": {
		says: [[two], busy(), [look], busy(), "a", ...Array.from({ length: 4 }, busy)],
		begin: prompts("plan"),
	},
	"plan-broken": { says: [[two], new Error("no such model"), "a has failed"], begin: prompts("plan") },
	"script-agent": {
		says: [
			"one",
			[look, pay],
			{ text: "once more", calls: [{ name: "look" }, { name: "fail" }, { name: "nowhere" }] },
			"two",
		],
		begin: scripts(
			'return [await ctx.agent("first"), await ctx.agent("second", { system: "short", label: "2", tools: ["look", "pay", "fail"] })];',
		),
	},
	"script-schema": {
		says: ["four", [look], '{"n":4}', '{"n":5}'],
		begin: scripts(
			`return [await ctx.agent("count", { schema: ${count}, tools: ["look"] }), await ctx.agent("count", { schema: ${count} })];`,
		),
	},
	"script-schema-twice-wrong": {
		says: ["four", "five"],
		begin: scripts(`return ctx.agent("count", { schema: ${count} });`),
	},
	"script-limit": {
		says: [[look], [look], [look]],
		begin: scripts('return ctx.agent("look for ever", { tools: ["look"], maxTurns: 3 });'),
	},
	"script-retries": {
		says: [busy(), "one", new Error("no such model")],
		begin: scripts('return [await ctx.agent("a"), await ctx.agent("b")];'),
	},
	"script-tools": {
		says: [],
		begin: scripts(
			'const said = await ctx.tool("look", { at: "b" }); try { await ctx.tool("fail", {}); } catch (error) { return [said, error.message, error.code, await ctx.tool("pay", {})]; }',
		),
	},
	"plan-skill": {
		says: [
			[plan(["a", ["skill_report"], []], ["b", [], ["a"]])],
			[{ name: "skill_report", args: { to: "bob" } }],
			...["gathered", "written", "it is written", "b"],
		],
		begin: prompts("plan"),
		options: { skills: [report] },
	},
	skill: {
		options: { skills: [report] },
		says: [busy(), "gathered", "written"],
		begin: async (runtime) => {
			await runtime.runSkill("report", { to: "bob" });
			await runtime.idle();
		},
	},
	"skill-file": {
		options: {
			findSkills: async () => ({
				skills: [{ ...report, source: { path: "/skills/report.ts", hash: "0".repeat(64) } }],
				problems: [],
			}),
		},
		says: [busy(), "gathered", "written"],
		begin: async (runtime) => {
			await runtime.runSkill("report", { to: "bob" });
			await runtime.idle();
		},
	},
};

describe("golden lanes", () => {
	// The one that fails does so by a file where a directory is needed.
	const all = Object.entries(runs).filter(([name]) => !(overSqlite && name === "turn-plan-failed"));
	if (all.length < Object.keys(runs).length)
		console.log("not over sqlite: turn-plan-failed (a file where a directory is needed)");
	test.each(all)("%s asks and records what it did before", async (name, run) => {
		const text = await lanesOf(run);
		const file = join(import.meta.dirname, "golden-lanes", `${name}.txt`);
		if (process.env.REYN_GOLDEN === "write") {
			await mkdir(join(import.meta.dirname, "golden-lanes"), { recursive: true });
			await writeFile(file, text);
		}
		expect(text).toBe(await readFile(file, "utf8"));
	});

	test("are the same each time", async () => {
		const run = runs["turn-plan-accepted"] as Run;
		const first = await lanesOf(run);
		await using other = await makeProject();
		project = other;
		expect(await lanesOf(run)).toBe(first);
	});
});

/** Runs it once, and says what the model was asked and what each lane has. */
async function lanesOf({ says, begin, options }: Run): Promise<string> {
	const asked: string[] = [];
	const model: Model = {
		id: "golden",
		async *generate(request) {
			const said = says[asked.push(JSON.stringify(request)) - 1];
			if (said === undefined) throw new Error("there is nothing more to say");
			if (said instanceof Error) throw said;
			const { text, calls } =
				typeof said === "string" ? { text: said, calls: [] } : "calls" in said ? said : { text: "", calls: said };
			if (text) yield { type: "text", text };
			for (const [i, call] of calls.entries())
				yield { type: "toolCall", call: { id: `${asked.length}-${i}`, ...call } };
			yield { type: "usage", usage: { inputTokens: asked.length, outputTokens: 1 } };
		},
	};
	const { runtime, events } = await open(project, {
		model,
		tools,
		limits: { concurrency: 1 },
		turnRounds: 12,
		unanswered: "deny",
		ids: counted(),
		clock: frozenAt(1_700_000_000_000),
		random: () => 0.5,
		timers: pauseless(),
		...options,
	});
	await begin(runtime);
	await runtime.idle();
	const records: WalRecord[] = [];
	for await (const record of runtime.wal.read()) if (!record.kind.startsWith("wal_")) records.push(record);
	await runtime.close();
	const told = events.flatMap((event) =>
		event.type === "text" || event.type === "tool"
			? [JSON.stringify({ ...event, scope: undefined, seq: undefined })]
			: [],
	);
	return [section("asked", asked), section("told", told), ...groups(records)].join("\n");
}

/** The records of each lane, and of each scope. Seqs have the names of the records: those of other lanes may come between. */
function groups(records: readonly WalRecord[]): readonly string[] {
	const lines = new Map<string, string[]>();
	const names = new Map<Seq, string>();
	for (const record of records) {
		const { lane } = record.data as { lane?: string };
		const of = lane ?? Object.values(record.scope).join("/");
		const group = lines.get(of) ?? [];
		lines.set(of, group);
		names.set(record.seq, `${of}#${group.length}`);
		const data = JSON.stringify(record.data, (key, value: unknown) => {
			// Since they were recorded, an error is one by what its record says; before, by how its text begins.
			if (key === "result" && (value as { isError?: true }).isError) return shownOf(value);
			return typeof value === "number" && seqs.has(key) ? (names.get(value) ?? value) : value;
		});
		group.push(`${record.kind} ${data}`);
	}
	return [...lines].map(([of, group]) => section(of, group));
}

const seqs = new Set(["after", "within", "started", "adopts", "turn", "message"]);

const section = (title: string, lines: readonly string[]): string =>
	`# ${title}\n${lines.map((line) => `${line}\n`).join("")}`;

/** The same names in each life. */
function counted(): Ids {
	let count = 0;
	return { hex: (bytes) => (++count).toString(16).padStart(2 * bytes, "0") };
}

const frozenAt = (ms: number): Clock => ({ now: () => ms });
