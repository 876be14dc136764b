/** What is unfinished, as a person finds it after a process was cut: a plan with its steps, a question without an answer, a script that asks. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { offlineModel } from "@reyn/offline-model";
import { openRuntime, type Runtime, type RuntimeOptions } from "@reyn/runtime";
import { createFileTools } from "@reyn/tools";
import { afterAll, beforeAll, expect, test } from "vitest";
import { documentSchema, type ReadVerb, type WorkVerb } from "../src/index.ts";
import { asJson } from "../src/text.ts";
import { say, verbOf } from "./house.ts";

let root: string;
let reader: Runtime;
let plan: string;
let options: RuntimeOptions;
beforeAll(async () => {
	root = await mkdtemp(join(tmpdir(), "reyn-status-"));
	await writeFile(join(root, "foxes.md"), "# Foxes\n\nA fox sleeps by day.\n");
	await writeFile(join(root, "owls.md"), "# Owls\n\nAn owl hunts at night.\n");
	options = { state: join(root, "state"), model: offlineModel(), tools: createFileTools(root) };
	const runtime = await openRuntime({
		...options,
		onEvent(event) {
			if (event.type !== "plan_started") return;
			plan = event.plan;
			runtime.cancel();
		},
	});
	const source = "export default (ctx) => ctx.ask('Which release?', { choices: ['1.0', '2.0'] });";
	await (await runtime.scripts.start({ name: "asks.ts", source }, undefined)).end;
	await runtime.prompt("How do foxes and owls differ? Compare them in detail.");
	await runtime.idle();
	await runtime.close();
	reader = await openRuntime({ ...options, readOnly: true });
});
afterAll(async () => {
	await reader.close();
	await rm(root, { recursive: true });
});

async function told(name: string, raw: Readonly<Record<string, unknown>> = {}) {
	const verb = verbOf(name) as ReadVerb;
	const found = await verb.read(reader, raw);
	documentSchema(verb).parse(JSON.parse(asJson(found)));
	return { found, lines: verb.lines(found, say, raw) };
}

test("who has it open is said, and what to type where nobody answers", async () => {
	const verb = verbOf("status") as ReadVerb;
	const by = async (pid: number | undefined) => {
		const asked: string[] = [];
		const found = await verb.read(reader, {}, async (log) => {
			asked.push(log);
			return pid;
		});
		expect(asked).toEqual([reader.wal.id]);
		documentSchema(verb).parse(JSON.parse(asJson(found)));
		return { holder: (found as { holder?: unknown }).holder, last: verb.lines(found, say, {}).at(-1) };
	};
	expect(await by(4242)).toEqual({ holder: 4242, last: "process 4242 has it open" });
	expect(await by(undefined)).toEqual({
		holder: null,
		last: "no process answers for it; go on with: resume",
	});
	// Whoever has it open asks nobody, and hears nothing of it.
	const { found, lines } = await told("status");
	expect(found).not.toHaveProperty("holder");
	expect(lines.join("\n")).not.toMatch(/answers for it|has it open/);
});

test("what a resume would go on with is said before it does, with what it has paid and what it would pay", async () => {
	const { preview } = verbOf("resume") as WorkVerb;
	const told = async (runtime: Runtime) => {
		const found = await (preview as ReadVerb).read(runtime, {});
		documentSchema(preview as ReadVerb).parse(JSON.parse(asJson(found)));
		return (preview as ReadVerb).lines(found, say, {});
	};
	// It was stopped as it began: which answers came before that is left to the moment.
	let [calls, tokens] = [0, 0];
	for await (const { kind, data } of reader.wal.read()) {
		const { lane, usage } = data as { lane?: string; usage?: { inputTokens: number; outputTokens: number } };
		if (kind !== "step_completed" || !lane?.startsWith(`plan/${plan}/`) || !usage) continue;
		calls++;
		tokens += usage.inputTokens + usage.outputTokens;
	}
	expect(await told(reader)).toEqual([
		`plan ${plan} goes on: How do foxes and owls differ? Compare them in detail.`,
		`  not paid again: ${calls} model ${calls === 1 ? "call" : "calls"}, ${tokens} tokens`,
		"  would run: s1 (unknown), s2 (unknown), s3 (unknown), s4 (unknown), s5 (unknown)",
		"  price, if they take what they took last: unknown",
	]);
	const other = { ...options, model: { ...options.model, id: "other", generate: options.model.generate } };
	await using another = await openRuntime({ ...other, readOnly: true });
	expect((await told(another))[1]).toBe(
		"  begun with offline, goes on with other; what is recorded counts all the same",
	);
	await using givesUp = await openRuntime({ ...options, planResume: "discard", readOnly: true });
	expect(await told(givesUp)).toEqual([`plan ${plan} is given up: its process ended, and plan_resume says discard`]);
});

test("all of it is said at once", async () => {
	const { found, lines } = await told("status");
	expect(found).toMatchObject({
		plans: [{ plan, status: "running" }],
		skills: [],
		scripts: [{ name: "asks.ts", questions: [{ question: "Which release?", choices: ["1.0", "2.0"] }] }],
	});
	expect(lines).toEqual(
		expect.arrayContaining([
			expect.stringMatching(new RegExp(`^${plan} {2}running {2}0/\\d`)),
			expect.stringMatching(/^r\w+ {2}open .*asks\.ts {2}asks: Which release\?$/),
		]),
	);
});

test("a plan is shown with its steps, what each waits for, and how far it is", async () => {
	const { found, lines } = await told("plan show", { id: plan });
	const { steps } = found as { steps: readonly { id: string; needs: readonly string[]; status: string }[] };
	const last = steps.at(-1);
	expect(last?.needs.toSorted()).toEqual(steps.slice(0, -1).map(({ id }) => id));
	expect(steps.map(({ status }) => status)).not.toContain("completed");
	// Nobody has said what the offline model costs here.
	expect(found).toMatchObject({ cost: { usd: "0", unknown: expect.any(Number) } });
	expect(lines[0]).toMatch(/^p\w+ {2}running {2}0\/\d, at least [\d,]+ tokens(, price unknown)? {2}/);
	expect(lines.at(-1)).toContain(`after ${last?.needs.join(", ")}`);
	await expect(told("plan show", { id: "p999" })).rejects.toMatchObject({ code: "PLAN_UNKNOWN" });
});
