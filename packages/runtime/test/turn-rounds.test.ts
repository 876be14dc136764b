/** A turn that takes many rounds asks whether it goes on: once, whatever dies meanwhile, and its answer is neither paid nor asked for again. */
import { afterEach, beforeEach, expect, test } from "vitest";
import type { RuntimeOptions } from "../src/index.ts";
import { cutAfter, kindsIn, linesOf, removeState } from "./cut.ts";
import { makeProject, open, type Project, scripted } from "./project.ts";

let project: Project;
beforeEach(async () => {
	project = await makeProject();
});
afterEach(() => project[Symbol.asyncDispose]());

/** Looks five times before it answers. */
const looker = () =>
	scripted((request) =>
		request.messages.filter(({ role }) => role === "tool").length < 5 ? [{ name: "list", args: {} }] : "found",
	);

const asking = (answer: string | undefined) => {
	const asked: string[] = [];
	const ask: RuntimeOptions["ask"] = async ({ question }) => {
		asked.push(question);
		return answer;
	};
	return { asked, ask };
};

const QUESTION = "The turn has no answer after 2 rounds of model and tools. Go on for another 2?";

async function asked(options: Partial<RuntimeOptions>, state = project.state) {
	const model = looker();
	const opened = await open({ ...project, state }, { model, turnRounds: 2, ...options });
	return { ...opened, model };
}

test("with yes it goes on for as many, and asks again", async () => {
	const person = asking("yes");
	const { runtime, events, model } = await asked({ ask: person.ask });
	await runtime.prompt("look");
	await runtime.idle();
	expect(person.asked).toEqual([QUESTION, QUESTION.replace("after 2", "after 4")]);
	expect(model.asked.length).toBe(6);
	expect(events.findLast(({ type }) => type === "turn_end")).toMatchObject({ outcome: "completed" });
	await runtime.close();
});

test("with no it ends, and says so", async () => {
	const { runtime, events, model } = await asked({ ask: asking("no").ask });
	await runtime.prompt("look");
	await runtime.idle();
	expect(model.asked.length).toBe(2);
	expect(events.findLast(({ type }) => type === "turn_end")).toMatchObject({
		outcome: "interrupted",
		reason: "the turn took 2 rounds of model and tools without an answer",
	});
	await runtime.close();
});

test.each(["stop", "deny"] as const)(
	"left open (%s) it waits, and goes on when somebody answers",
	async (unanswered) => {
		const { runtime, events, model } = await asked({ unanswered });
		await runtime.prompt("look");
		await runtime.idle();
		expect(events.findLast(({ type }) => type === "turn_end")).toMatchObject({ outcome: "stopped" });
		for (const rounds of [2, 4]) {
			const [question] = runtime.questions();
			expect(question?.question).toBe(QUESTION.replace("after 2", `after ${rounds}`));
			await runtime.answer(question?.seq ?? 0, "yes", "ada");
			await runtime.idle();
		}
		expect(model.asked.length).toBe(6);
		expect(events.findLast(({ type }) => type === "turn_end")).toMatchObject({ outcome: "completed" });
		await runtime.close();
	},
);

test("what is recorded is not asked about, whatever the limit is now", async () => {
	const { runtime } = await asked({ turnRounds: 50 });
	await runtime.prompt("look");
	await runtime.idle();
	await runtime.close();
	const kinds = await kindsIn(project);
	const state = await cutAfter(project, kinds.indexOf("turn_completed"));
	const next = await asked({ unanswered: "deny" }, state);
	next.runtime.resume();
	await next.runtime.idle();
	expect([next.model.asked.length, next.events.findLast(({ type }) => type === "turn_end")]).toEqual([
		0,
		expect.objectContaining({ outcome: "completed" }),
	]);
	await next.runtime.close();
});

test.each([0, -1, 1.5, Number.NaN])("a limit of %s rounds is refused", async (turnRounds) => {
	await expect(open(project, { turnRounds })).rejects.toThrow("turnRounds is a whole number from 1 on");
});

test("cut after any record, it asks no more than twice in all lives, and pays for each answer once", async () => {
	const { runtime } = await asked({ ask: asking("yes").ask });
	await runtime.prompt("look");
	await runtime.idle();
	await runtime.close();
	const records = (await linesOf(project.state)).slice(1).map((line) => JSON.parse(line));
	// Those of models, which alone are paid for.
	const kinds: readonly string[] = records.map(({ kind, data }) => (data.kind === "tool" ? "" : kind));
	const turn = kinds.indexOf("user_prompt") + 1;
	for (let seq = turn; seq <= kinds.length; seq++) {
		const state = await cutAfter(project, seq);
		const before = kinds.slice(0, seq);
		const recorded = (kind: string): number => before.filter((each) => each === kind).length;
		const person = asking("yes");
		const next = await asked({ ask: person.ask }, state);
		next.runtime.resume();
		await next.runtime.idle();
		expect([seq, person.asked.length]).toEqual([seq, 2 - recorded("question_answered")]);
		expect([seq, next.model.asked.length]).toEqual([seq, 6 - recorded("step_completed")]);
		expect(next.runtime.questions()).toEqual([]);
		await next.runtime.close();
		await removeState(state);
	}
});
