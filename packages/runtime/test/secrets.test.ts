/** A secret on every way to the disk: in no file of the state is any trace of it, and what was done is known again. */
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Tool } from "@reyn/journal";
import { defineSkill, done, next, type Skill } from "@reyn/skill-resume";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { mainSession, type Runtime, type RuntimeOptions, redactSecrets } from "../src/index.ts";
import { lastOf, makeProject, open, type Project, scripted } from "./project.ts";
import { recordsOf, resumeToEnd, runToEnd, script, till } from "./script-runs.ts";

/** Of the environment, with what JSON and addresses write otherwise. */
const VALUE = 'Canary-7f3a"9Zq\\x/1';
/** Of nobody's environment. */
const KEY = `sk-ant-api03-${"cAnary9".repeat(6)}`;
const BOTH = `${VALUE} and ${KEY}`;
const redact = redactSecrets({ DEPLOY_TOKEN: VALUE, HOME: "/home/jane" });

let project: Project;
beforeEach(async () => {
	project = await makeProject();
});
afterEach(() => project[Symbol.asyncDispose]());

/** The files that have a secret in them, in any form that one is written in. */
async function found(state = project.state): Promise<readonly string[]> {
	const forms = [VALUE, KEY, VALUE.slice(0, 12), KEY.slice(0, 30)].flatMap((secret) => [
		Buffer.from(secret),
		Buffer.from(JSON.stringify(secret).slice(1, -1)),
		Buffer.from(JSON.stringify(JSON.stringify(secret).slice(1, -1)).slice(1, -1)),
		Buffer.from(encodeURIComponent(secret)),
		Buffer.from(secret, "utf16le"),
		...[0, 1, 2].map((n) =>
			Buffer.from(
				Buffer.from("x".repeat(n) + secret)
					.toString("base64")
					.slice(4, -4),
			),
		),
	]);
	const entries = await readdir(state, { recursive: true, withFileTypes: true });
	const hits: string[] = [];
	for (const entry of entries) {
		const path = join(entry.parentPath, entry.name);
		const bytes = Buffer.concat([Buffer.from(entry.name), entry.isFile() ? await readFile(path) : Buffer.alloc(0)]);
		const at = forms.map((form) => bytes.indexOf(form)).find((each) => each !== -1);
		if (at !== undefined) hits.push(`${path}: ${bytes.subarray(Math.max(0, at - 200), at + 60)}`);
	}
	return hits;
}

const tool = (name: string, call: Tool["call"]): Tool => ({
	name,
	description: name,
	parameters: { type: "object" },
	purity: "side_effect",
	call,
});

const failing = tool("fail", async () => {
	const error = Object.assign(new Error(`401 for ${BOTH}`), { code: `NO ${KEY}`, detail: { [VALUE]: [KEY] } });
	error.name = `Refused ${KEY}`;
	error.stack = `${error.stack} ${BOTH}`;
	throw error;
});
const telling = tool("tell", async () => `${BOTH} ${JSON.stringify({ BOTH })} ${encodeURIComponent(VALUE)}`);
const spilling = tool("spill", async () => `${BOTH} `.repeat(1000));

const skill = defineSkill<{ topic: string }>({
	name: "leak",
	description: "says what it is given",
	input: z.strictObject({ topic: z.string() }),
	start: "a",
	phases: {
		async a(context, { topic }) {
			const all = await context.step("get", async () => `${topic} ${BOTH}`, { purity: "side_effect", args: { BOTH } });
			return next("b", { all, BOTH });
		},
		b: async (_, { topic }, before) => done(`${topic} ${JSON.stringify(before)} ${BOTH}`.repeat(1000)),
	},
}) as Skill;

/** Everything that a person and a model can do with it. */
async function doAll(options: Partial<RuntimeOptions>): Promise<{ runtime: Runtime; asked: readonly string[] }> {
	const model = scripted((request) => {
		const last = lastOf(request);
		if (last.startsWith("plan")) {
			const step = { id: "a", description: `find ${BOTH}`, tools: ["tell", "fail"], depends_on: [] };
			const steps = [step, { ...step, id: "b", depends_on: ["a"] }];
			return [{ name: "plan", args: { goal: `know ${BOTH}`, steps } }];
		}
		if (last.startsWith("call")) return ["tell", "spill", "fail"].map((name) => ({ name, args: { [VALUE]: KEY } }));
		if (last.startsWith("break")) throw new Error(`the provider refuses ${BOTH}`);
		return `it is ${BOTH}, ${JSON.stringify({ BOTH })}, ${Buffer.from(VALUE).toString("base64")}`;
	});
	const tools = [telling, spilling, failing, till()];
	const { runtime } = await open(project, { model, tools, skills: [skill], ask: async () => BOTH, ...options });
	for (const text of [BOTH, "call them", "plan it", `break ${BOTH}`]) {
		await runtime.prompt(`${text}`);
		await runtime.idle();
	}
	await runtime.prompt(`another session ${BOTH}`, { agent: "default", session: "other" });
	await runtime.runSkill("leak", { topic: BOTH });
	await runtime.idle();
	await runtime.timeline.label(runtime.wal.tip, `mine-${KEY}`, { actor: `actor ${BOTH}` }).catch(() => {});
	// What a script makes up itself is in its text in parts alone.
	const made = [VALUE, KEY].map((each) => [...each].map((c) => c.charCodeAt(0)));
	const text = script(`const [value, key] = ${JSON.stringify(made)}.map((codes) => String.fromCharCode(...codes));
		const both = value + " and " + key;
		await ctx.agent("x".repeat(44) + " " + both + both, { system: both });
		await ctx.agent("first", { label: both });
		await ctx.ask("is it " + both + "?");
		await ctx.tool("pay", { [value]: { [key]: [both] } });
		await ctx.tool("spill", { both });
		await ctx.phase("phase " + both, () => ctx.tool("tell", { both }));
		await ctx.parallel([() => ctx.tool("fail", { both }), () => ctx.agent(both)]).catch(() => {});
		if (args.isBad) throw Object.assign(new Error(both), { code: key, detail: { [value]: key } });
		return { [value]: [both] };`);
	for (const isBad of [false, true]) await runToEnd(runtime, text, { isBad });
	const { seq } = (await recordsOf(runtime, "user_prompt"))[1] as { seq: number };
	await runtime.checkout(seq, `actor ${BOTH}`);
	return { runtime, asked: model.asked.map((request) => JSON.stringify(request)) };
}

describe("a secret that is met everywhere", () => {
	test("is in no file, in no form, and no part of it", async () => {
		const { runtime } = await doAll({ redact });
		expect(await recordsOf(runtime, "plan_completed")).toHaveLength(1);
		expect(await recordsOf(runtime, "skill_run_completed")).toHaveLength(1);
		expect(await recordsOf(runtime, "script_completed")).toHaveLength(1);
		expect(await recordsOf(runtime, "script_failed")).toHaveLength(1);
		expect(await recordsOf(runtime, "tool_failed")).not.toHaveLength(0);
		await runtime.close();
		expect(await found()).toEqual([]);
		expect(await readFile(join(project.state, "state/wal.jsonl"), "utf8")).toContain(
			"[redacted DEPLOY_TOKEN] and [redacted Anthropic key]",
		);
		// The next life reads all of it, and writes more.
		const again = await open(project, { redact, tools: [], model: scripted(() => BOTH) });
		again.runtime.resume();
		await again.runtime.idle();
		await again.runtime.gc();
		await again.runtime.close();
		expect(await found()).toEqual([]);
	});

	test("is found by these tests where nothing takes it out", async () => {
		const { runtime } = await doAll({});
		await runtime.close();
		const places = (await found()).map((each) => each.slice(project.state.length, each.indexOf(":")));
		for (const part of ["state/wal.jsonl", "results/", "plans/", "scripts/"])
			expect(
				places.filter((each) => each.includes(part)),
				part,
			).not.toEqual([]);
	});
});

test("what was asked is known again without its secret, and the person is told", async () => {
	const model = scripted(() => "fine");
	const { runtime, events } = await open(project, { redact, model });
	await runtime.prompt(`use ${KEY}`);
	await runtime.idle();
	expect(events).toContainEqual({ type: "prompt_redacted", scope: mainSession });
	expect(model.asked.map(lastOf)).toEqual(["use [redacted Anthropic key]"]);
	await runtime.close();
});

test("a session has no name with a secret", async () => {
	const { runtime } = await open(project, { redact });
	await expect(runtime.prompt("hello", { agent: "default", session: KEY })).rejects.toMatchObject({
		code: "RUNTIME_SECRET",
	});
	await runtime.close();
	expect(await found()).toEqual([]);
});

describe("a script", () => {
	test("with a secret in its text, its name or its arguments is refused, with the line, before anything is written", async () => {
		const { runtime } = await open(project, { redact });
		const tip = runtime.wal.tip;
		const start = (name: string, source: string, args: unknown) => runtime.scripts.start({ name, source }, args);
		const source = "export default async (ctx) => 1;";
		const refusal = { code: "RUNTIME_SECRET", message: expect.not.stringContaining("cAnary9") };
		await expect(start("a.ts", `${source}\n// ${KEY}\n`, {})).rejects.toMatchObject({
			...refusal,
			detail: { what: "a.ts", line: 2 },
		});
		await expect(start(`${KEY}.ts`, source, {})).rejects.toMatchObject(refusal);
		await expect(start("a.ts", source, { a: 1, b: [KEY] })).rejects.toMatchObject({ ...refusal, detail: { line: 4 } });
		await expect(start("a.ts", source, { [VALUE]: 1 })).rejects.toMatchObject(refusal);
		expect(runtime.wal.tip).toBe(tip);
		const { run } = await runToEnd(runtime, { name: "a.ts", source }, {});
		const edited = { name: "a.ts", source: `${source} // ${KEY}` };
		await expect(runtime.scripts.resume(run, { script: edited })).rejects.toMatchObject(refusal);
		await expect(runtime.scripts.check(run, { args: KEY })).rejects.toMatchObject(refusal);
		await runtime.close();
		expect(await found()).toEqual([]);
	});

	test("that was kept before its secret was known goes on, and pays for nothing twice", async () => {
		const pay = till();
		const text = script(`await ctx.tool("pay", { with: args.key, also: ${JSON.stringify(KEY)} }); return args.key;`);
		const before = await open(project, { tools: [pay] });
		const { run } = await runToEnd(before.runtime, text, { key: VALUE });
		await before.runtime.close();
		const { runtime } = await open(project, { tools: [pay], redact });
		expect((await runtime.scripts.verify(run)).divergences).toEqual([]);
		expect(await resumeToEnd(runtime, run)).toMatchObject({ status: "completed" });
		expect(await resumeToEnd(runtime, run, { script: text })).toMatchObject({ status: "completed" });
		expect(pay.paid).toHaveLength(1);
		await runtime.close();
	});

	test("that pays with what is secret is known again, also when the secret is no more", async () => {
		const pay = till();
		const text = script(
			`const key = String.fromCharCode(${[...KEY].map((c) => c.charCodeAt(0))}); await ctx.tool("pay", { key }); return "paid";`,
		);
		const first = await open(project, { tools: [pay], redact });
		const { run } = await runToEnd(first.runtime, text);
		await first.runtime.close();
		for (const how of [{ redact }, {}]) {
			const { runtime } = await open(project, { tools: [pay], ...how });
			expect(await resumeToEnd(runtime, run)).toMatchObject({ status: "completed", result: "paid" });
			await runtime.close();
		}
		expect(pay.paid).toMatchObject([{ args: { key: KEY } }]);
		expect(await found()).toEqual([]);
	});
});

test("a file that has it is read, and what is said of it has it not", async () => {
	await writeFile(join(project.cwd, "secrets.md"), `The fox key is ${VALUE}.\nThe fox token is ${KEY}.\n`);
	const { runtime } = await open(project, { redact });
	await runtime.prompt("what is the fox key?");
	await runtime.idle();
	await runtime.close();
	expect(await found()).toEqual([]);
	expect(await readFile(join(project.state, "state/wal.jsonl"), "utf8")).toContain("[redacted DEPLOY_TOKEN]");
});
