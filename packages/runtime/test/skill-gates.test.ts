/** Permissions and budgets hold in phases as in turns, whichever way a phase makes its call; and a model of a phase may ask a person. */
import type { Tool } from "@reyn/journal";
import { defineSkill, done, type Phase, type Skill, skillRunIn, skillRuns, skillRunsOf } from "@reyn/skill-resume";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import type { Runtime, RuntimeOptions } from "../src/index.ts";
import { makeProject, open, type Project, scripted, until } from "./project.ts";

let project: Project;
beforeEach(async () => {
	project = await makeProject();
});
afterEach(() => project[Symbol.asyncDispose]());

const skill = (phase: Phase<unknown>, name = "work"): Skill =>
	defineSkill({ name, description: "works", input: z.unknown(), start: "a", phases: { a: phase } }) as Skill;

/** The skill whose phase that is, and where it is a child the one around it. */
function skillsOf(phase: Phase<unknown>, place: Place): readonly Skill[] {
	if (place === "a run") return [skill(phase)];
	const around: Phase<unknown> = async (context) => done(await context.skill("inner", {}));
	const within: Phase<unknown> = async (context) => done(await context.skill("innermost", {}));
	const inner = place === "a child" ? [skill(phase, "inner")] : [skill(within, "inner"), skill(phase, "innermost")];
	return [skill(around), ...inner];
}

const places = ["a run", "a child", "a child of a child"] as const;
type Place = (typeof places)[number];

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

async function opened(phase: Phase<unknown>, options: Partial<RuntimeOptions> = {}, place: Place = "a run") {
	const paid: string[] = [];
	const skills = skillsOf(phase, place);
	return { paid, ...(await open(project, { model: model(), skills, tools: [pay(paid)], ...options })) };
}

const everywhere = (of: readonly string[]) => places.flatMap((place) => of.map((way) => [way, place] as const));

describe.each(everywhere(Object.keys(ways)))("%s in %s", (way, place) => {
	const phase = ways[way] as Phase<unknown>;

	test("is told of a tool that is denied by a rule, and goes on", async () => {
		const rules = [{ action: "pay", effect: "deny" as const }];
		const { runtime, paid } = await opened(phase, { permissions: { rules } }, place);
		await runtime.runSkill("work", {});
		await runtime.idle();
		expect([paid, runtime.questions()]).toEqual([[], []]);
		expect(said(runtime)).toMatch(/^ERROR: denied: /);
		await runtime.close();
	});

	test("waits for a person where a tool asks, over a restart; a no is told, a yes pays once", async () => {
		for (const answer of ["no", "once"]) {
			const first = await opened(phase, { permissions: {} }, place);
			const run = await first.runtime.runSkill("work", {});
			await until(() => first.runtime.questions().length === 1);
			expect([first.paid, first.runtime.questions()[0]?.from]).toEqual([[], { kind: "skill", id: run }]);
			await first.runtime.close();
			const { runtime, paid } = await opened(phase, { permissions: {} }, place);
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

const asks = { system: "", messages: [{ role: "user" as const, text: "Pay?" }], tools: [] };

/** The ways in which a phase asks a model, pays, and asks it again. */
const askers: Readonly<Record<string, Phase<unknown>>> = {
	"ctx.agent": ways["ctx.agent"] as Phase<unknown>,
	"a model": ways["a model"] as Phase<unknown>,
	"ctx.model": async ({ model, tool }) => {
		await model(asks);
		const text = String(await tool("pay"));
		const told = { ...asks, messages: [...asks.messages, { role: "user" as const, text }] };
		return done(`p${(await model(told)).text.slice(1)}`);
	},
};

describe.each(everywhere(Object.keys(askers)))(
	"a budget that is spent, before %s in %s is asked again",
	(way, place) => {
		const phase = askers[way] as Phase<unknown>;
		const model = () => scripted(({ messages }) => answerTo(messages.at(-1)));
		const answerTo = (last?: { readonly role: string; readonly text: string }) => {
			if (way === "ctx.model" || last?.role === "tool") return last?.text ?? "";
			return [{ name: "pay", args: {} }];
		};

		test.each(["yes", "no"])("is a question: %s", async (answer) => {
			const asked = model();
			const { runtime, paid } = await opened(phase, { budget: { session: { tokens: 11 } }, model: asked }, place);
			const run = await runtime.runSkill("work", {});
			await until(() => runtime.questions().length === 1);
			const [question] = runtime.questions();
			expect([paid.length, question]).toMatchObject([1, { from: { kind: "skill", id: run }, choices: ["yes", "no"] }]);
			expect(asked.asked.length).toBe(1);
			await runtime.answer(question?.seq ?? 0, answer, "ada");
			await runtime.idle();
			const kept = runtime.restored().runs.map(({ status }) => status);
			// What was paid stays paid; a run that may not go on is kept.
			expect([paid.length, kept, said(runtime), asked.asked.length]).toEqual(
				answer === "yes" ? [1, [], "paid", 2] : [1, Array(1 + places.indexOf(place)).fill("running"), undefined, 1],
			);
			if (answer === "yes") return runtime.close();
			// Gone on with, it asks once more.
			runtime.resume();
			await until(() => runtime.questions().length === 1);
			await runtime.answer(runtime.questions()[0]?.seq ?? 0, "yes", "ada");
			await runtime.idle();
			expect([paid.length, said(runtime), asked.asked.length]).toEqual([1, "paid", 2]);
			expect([runsIn(runtime), runtime.restored().runs]).toEqual([1 + places.indexOf(place), []]);
			await runtime.close();
		});

		test("goes on once it is raised, in the child that it has stopped", async () => {
			const first = await opened(phase, { budget: { session: { tokens: 11 } }, model: model() }, place);
			await first.runtime.runSkill("work", {});
			await until(() => first.runtime.questions().length === 1);
			await first.runtime.answer(first.runtime.questions()[0]?.seq ?? 0, "no", "ada");
			await first.runtime.idle();
			expect(first.events.at(-1)).toMatchObject({
				...{ type: "skill_end", outcome: "stopped" },
				reason: expect.stringMatching(/this session has spent 11 of 11 tokens; ada says no: raise the budget/),
			});
			await first.runtime.close();
			const asked = model();
			const { runtime, paid } = await opened(phase, { budget: { session: { tokens: 1000 } }, model: asked }, place);
			runtime.resume();
			await runtime.idle();
			expect([first.paid.length + paid.length, said(runtime), asked.asked.length]).toEqual([1, "paid", 1]);
			expect([runsIn(runtime), runtime.restored().runs]).toEqual([1 + places.indexOf(place), []]);
			await runtime.close();
		});
	},
);

/** All runs that were begun, children included. */
const runsIn = (runtime: Runtime): number => skillRunsOf(runtime.view().get(skillRuns)).length;

test("a run whose child a budget stops at three starts is paused with that reason, and goes on in that child", async () => {
	const phase = ways["ctx.agent"] as Phase<unknown>;
	const { runtime, paid } = await opened(phase, { budget: { session: { tokens: 11 } } }, "a child");
	const run = await runtime.runSkill("work", {});
	for (let times = 0; times < 3; times++) {
		if (times > 0) runtime.resume();
		await until(() => runtime.questions().length === 1);
		await runtime.answer(runtime.questions()[0]?.seq ?? 0, "no", "ada");
		await runtime.idle();
	}
	expect(skillRunIn(runtime.view().get(skillRuns), run)).toMatchObject({
		status: "paused",
		why: expect.stringMatching(
			/it has failed at 3 starts in phase "a", visit 1: inner has stopped for now.*ada says no/,
		),
	});
	await runtime.resumeSkillRun(run);
	await until(() => runtime.questions().length === 1);
	await runtime.answer(runtime.questions()[0]?.seq ?? 0, "yes", "ada");
	await runtime.idle();
	expect([paid.length, said(runtime), runsIn(runtime)]).toEqual([1, "paid", 2]);
	await runtime.close();
});

test("what a child is refused for now it is told, and may go on without; whoever has called it is not told of its stop", async () => {
	const tells: Phase<unknown> = async ({ model }) => done(await model(asks).catch((error: Error) => error.message));
	const lets: Phase<unknown> = async ({ model, step }) => {
		await step("pay", async () => "paid", { purity: "side_effect" });
		return done((await model(asks)).text);
	};
	const told: string[] = [];
	const cleared: string[] = [];
	const around: Phase<unknown> = async ({ model, skill }) => {
		await model(asks);
		told.push(String(await skill("tells", {})));
		try {
			return done(await skill("lets", {}));
		} catch (error) {
			cleared.push((error as { code: string }).code);
			return done("without it");
		}
	};
	const skills = [skill(around), skill(tells, "tells"), skill(lets, "lets")];
	const { runtime } = await opened(around, { budget: { session: { tokens: 11 } }, skills });
	await runtime.runSkill("work", {});
	await until(() => runtime.questions().length === 1);
	// It holds for the work that had asked.
	await runtime.answer(runtime.questions()[0]?.seq ?? 0, "no", "ada");
	await runtime.idle();
	expect([told.length, told[0], cleared, said(runtime)]).toEqual([
		...[1, expect.stringContaining("ada says no"), ["CALL_HELD"], undefined],
	]);
	expect(skillRunsOf(runtime.view().get(skillRuns)).map(([, { skill, status }]) => `${skill} ${status}`)).toEqual([
		...["work running", "tells completed", "lets running"],
	]);
	await runtime.close();
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
