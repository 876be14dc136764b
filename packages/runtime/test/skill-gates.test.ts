/** Permissions and budgets hold in phases as in turns, whichever way a phase makes its call; and a model of a phase may ask a person. */
import type { Tool } from "@reyn/journal";
import { defineSkill, done, type Phase, type Skill } from "@reyn/skill-resume";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import type { Runtime, RuntimeOptions } from "../src/index.ts";
import { makeProject, open, type Project, scripted, until } from "./project.ts";

let project: Project;
beforeEach(async () => {
	project = await makeProject();
});
afterEach(() => project[Symbol.asyncDispose]());

const skill = (phase: Phase<unknown>): Skill =>
	defineSkill({ name: "work", description: "works", input: z.unknown(), start: "a", phases: { a: phase } }) as Skill;

/** The ways in which a phase calls the tool `pay`; each gives what came of it as a text. */
const ways: Readonly<Record<string, Phase<unknown>>> = {
	"ctx.tool": async ({ tool }) => done(await tool("pay").catch((error: Error) => `ERROR: ${error.message}`)),
	"ctx.agent": async ({ agent }) => done(await agent("pay!", { tools: ["pay"] })),
	"a model": { instructions: "Pay.", tools: ["pay"] },
};

/** Calls the tool once, and says what it was told. */
const model = () =>
	scripted(({ messages }) => {
		const last = messages.at(-1);
		return last?.role === "tool" ? last.text : [{ name: "pay", args: {} }];
	});

const pay = (paid: string[]): Tool => ({
	...{ name: "pay", description: "pays", parameters: { type: "object" }, purity: "side_effect" },
	wants: async () => [{ action: "pay", subject: "the bill" }],
	call: async (_args, { idempotencyKey = "" }) => {
		paid.push(idempotencyKey);
		return "paid";
	},
});

const said = (runtime: Runtime): string | undefined =>
	runtime
		.conversation()
		.items.toArray()
		.flatMap((item) => ("text" in item ? [item.text] : []))
		.at(-1);

async function opened(phase: Phase<unknown>, options: Partial<RuntimeOptions> = {}) {
	const paid: string[] = [];
	return { paid, ...(await open(project, { model: model(), skills: [skill(phase)], tools: [pay(paid)], ...options })) };
}

describe.each(Object.keys(ways))("%s", (way) => {
	const phase = ways[way] as Phase<unknown>;

	test("is told of a tool that is denied by a rule, and goes on", async () => {
		const rules = [{ action: "pay", effect: "deny" as const }];
		const { runtime, paid } = await opened(phase, { permissions: { rules } });
		await runtime.runSkill("work", {});
		await runtime.idle();
		expect([paid, runtime.questions()]).toEqual([[], []]);
		expect(said(runtime)).toMatch(/^ERROR: denied: /);
		await runtime.close();
	});

	test("waits for a person where a tool asks, over a restart; a no is told, a yes pays once", async () => {
		for (const answer of ["no", "once"]) {
			const first = await opened(phase, { permissions: {} });
			const run = await first.runtime.runSkill("work", {});
			await until(() => first.runtime.questions().length === 1);
			expect([first.paid, first.runtime.questions()[0]?.from]).toEqual([[], { kind: "skill", id: run }]);
			await first.runtime.close();
			const { runtime, paid } = await opened(phase, { permissions: {} });
			runtime.resume();
			await until(() => runtime.questions().length === 1);
			await runtime.answer(runtime.questions()[0]?.seq ?? 0, answer, "ada");
			await runtime.idle();
			expect([paid.length, said(runtime)]).toEqual(
				answer === "once" ? [1, "paid"] : [0, expect.stringMatching(/^ERROR: denied: .*ada says no/)],
			);
			await runtime.close();
		}
	});
});

describe.each(["ctx.agent", "a model"])("a budget that is spent, before %s is asked again", (way) => {
	const phase = ways[way] as Phase<unknown>;

	test.each(["yes", "no"])("is a question: %s", async (answer) => {
		const { runtime, paid } = await opened(phase, { budget: { session: { tokens: 11 } } });
		const run = await runtime.runSkill("work", {});
		await until(() => runtime.questions().length === 1);
		const [question] = runtime.questions();
		expect([paid.length, question]).toMatchObject([1, { from: { kind: "skill", id: run }, choices: ["yes", "no"] }]);
		await runtime.answer(question?.seq ?? 0, answer, "ada");
		await runtime.idle();
		const kept = runtime.restored().runs.map(({ status }) => status);
		// What was paid stays paid; a run that may not go on is kept.
		expect([paid.length, kept, said(runtime)]).toEqual(
			answer === "yes" ? [1, [], "paid"] : [1, ["running"], undefined],
		);
		await runtime.close();
	});
});

test("a model of a phase asks a person by ask_user where the phase names that, and goes on with the answer after a restart", async () => {
	const asking = () =>
		scripted(({ messages, tools }) => {
			expect(tools.map(({ name }) => name)).toEqual(["ask_user"]);
			const last = messages.at(-1);
			return last?.role === "tool" ? `told: ${last.text}` : [{ name: "ask_user", args: { question: "which one?" } }];
		});
	const phase: Phase<unknown> = { instructions: "Ask.", tools: ["ask_user"] };
	const options = { askUser: true, unanswered: "stop" as const };
	const first = await opened(phase, { ...options, model: asking() });
	const run = await first.runtime.runSkill("work", {});
	await first.runtime.idle();
	expect(first.runtime.questions()).toMatchObject([{ question: "which one?", from: { kind: "skill", id: run } }]);
	await first.runtime.close();
	const answering = asking();
	const { runtime } = await opened(phase, { ...options, model: answering });
	runtime.resume();
	await runtime.idle();
	await runtime.answer(runtime.questions()[0]?.seq ?? 0, "the blue one", "ada");
	await runtime.idle();
	expect([said(runtime), answering.asked.length, runtime.questions()]).toEqual(["told: the blue one", 1, []]);
	await runtime.close();
	const off = await opened(phase, { model: asking() });
	await off.runtime.runSkill("work", {});
	await off.runtime.idle();
	const why = off.events.flatMap((event) => (event.type === "skill_end" ? [event.reason] : []));
	expect(why).toEqual([expect.stringMatching(/no tool "ask_user" for phase "a" of work; there are pay/)]);
	await off.runtime.close();
});
