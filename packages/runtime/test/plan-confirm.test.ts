/** A plan that a person is asked about before it starts: once, with all its steps, and nothing is kept of one that does not start. */
import { PLAN_TOOL } from "@reyn/plan";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { RuntimeOptions } from "../src/index.ts";
import { cutAfter, kindsIn, removeState } from "./cut.ts";
import { lastOf, makeProject, open, type Project, scripted, storeAt, until } from "./project.ts";

let project: Project;
beforeEach(async () => {
	project = await makeProject();
});
afterEach(() => project[Symbol.asyncDispose]());

const planOf = (goal: string) => ({
	goal,
	steps: [
		{ id: "a", description: "look at all parsers", tools: ["read", "search"] },
		{ id: "b", description: "say it", depends_on: ["a"] },
	],
});

/** Proposes a plan; changed where it is told to; says what it was told where that is denied. */
const proposing = () =>
	scripted((request) => {
		const last = lastOf(request);
		if (last.startsWith("Goal:")) return "found";
		if (/wants it changed/.test(last)) return [{ name: PLAN_TOOL, args: planOf("a smaller goal") }];
		return last === "plan!" ? [{ name: PLAN_TOOL, args: planOf("the goal") }] : `told: ${last}`;
	});

const asking = (...answers: readonly (string | undefined)[]) => {
	const asked: string[][] = [];
	const ask: RuntimeOptions["ask"] = async ({ question, lines = [], choices }) => {
		asked.push([question, ...lines, ...(choices ?? [])]);
		return answers[asked.length - 1];
	};
	return { asked, ask };
};

async function begun(options: Partial<RuntimeOptions>, state = project.state, model = proposing()) {
	const opened = await open({ ...project, state }, { model, plans: { confirm: "ask" }, ...options });
	const replies = (): readonly string[] =>
		opened.runtime
			.conversation()
			.items.toArray()
			.flatMap((item) => (item.type === "reply" ? [item.text] : []));
	return { ...opened, model, replies };
}

const QUESTION = [
	"Start a plan of 2 steps?",
	"goal: the goal",
	"a: look at all parsers (uses read, search)",
	"b: say it (needs a)",
	...["yes", "edit", "no"],
];

test("with yes it starts, and what is asked shows all of it", async () => {
	const person = asking("yes");
	const { runtime, shown } = await begun({ ask: person.ask });
	await runtime.prompt("plan!");
	await runtime.idle();
	expect(person.asked).toEqual([QUESTION]);
	expect(shown.map(({ text }) => text)).toEqual(["found"]);
	await runtime.close();
});

test("until it is answered nothing is kept of it", async () => {
	const { runtime } = await begun({});
	await runtime.prompt("plan!");
	await until(() => runtime.questions().length > 0);
	expect(await storeAt(project.state).blobs("plans").list("")).toEqual([]);
	expect(await kindsIn(project)).not.toContain("plan_started");
	await runtime.answer(runtime.questions()[0]?.seq ?? 0, "yes", "ada");
	await runtime.idle();
	expect(await kindsIn(project)).toContain("plan_completed");
	await runtime.close();
});

test("with no, and why, the model is told, and its turn goes on; with edit it proposes another, and that is no mistake", async () => {
	const no = await begun({ ask: asking("no: too dear").ask, plans: { confirm: "ask", invalidRetries: 0 } });
	await no.runtime.prompt("plan!");
	await no.runtime.idle();
	expect(no.replies()).toEqual(["told: ERROR: denied: user says no: too dear"]);
	expect(await kindsIn(project)).not.toContain("plan_started");
	const person = asking("edit: one parser alone", "yes");
	await no.runtime.close();
	const edit = await begun({ ask: person.ask, plans: { confirm: "ask", invalidRetries: 0 } });
	await edit.runtime.prompt("plan!");
	await edit.runtime.idle();
	expect(person.asked.map(([, goal]) => goal)).toEqual(["goal: the goal", "goal: a smaller goal"]);
	expect(lastOf(edit.model.asked[1] ?? { system: "", messages: [], tools: [] })).toBe(
		"ERROR: not started: user wants it changed: one parser alone. Propose it again, so changed",
	);
	expect(edit.shown.map(({ text }) => text)).toEqual(["found"]);
	await edit.runtime.close();
});

test("where nobody is here it is a no, and one that is proposed again and again ends the turn, which says so", async () => {
	const model = scripted(() => [{ name: PLAN_TOOL, args: planOf("the goal") }]);
	const { runtime, events, replies } = await begun({ unanswered: "deny" }, project.state, model);
	await runtime.prompt("plan!");
	await runtime.idle();
	expect(model.asked).toHaveLength(2);
	expect(lastOf(model.asked[1] ?? { system: "", messages: [], tools: [] })).toBe(
		"ERROR: denied: nobody is here who could allow this plan, and plan.confirm says ask",
	);
	expect(replies()).toEqual([
		"No plan was started: denied: nobody is here who could allow this plan, and plan.confirm says ask",
	]);
	expect(events.findLast(({ type }) => type === "turn_end")).toMatchObject({ outcome: "completed" });
	expect(await kindsIn(project)).not.toContain("plan_started");
	await runtime.close();
});

test("left open it waits over a restart, and starts when somebody answers; it is never said to be in doubt", async () => {
	const first = await begun({ unanswered: "stop" });
	await first.runtime.prompt("plan!");
	await first.runtime.idle();
	expect(first.events.findLast(({ type }) => type === "turn_end")).toMatchObject({ outcome: "stopped" });
	await first.runtime.close();
	const next = await begun({ unanswered: "stop" });
	next.runtime.resume();
	await next.runtime.idle();
	const [question, ...others] = next.runtime.questions();
	expect(others).toEqual([]);
	await expect(next.runtime.answer(question?.seq ?? 0, "maybe", "ada")).rejects.toMatchObject({
		code: "RUNTIME_ANSWER",
		message: expect.stringContaining('one of "yes", "edit", "no", or "edit: <why>", or "no: <why>"; found "maybe"'),
	});
	await next.runtime.answer(question?.seq ?? 0, "yes", "ada");
	await next.runtime.idle();
	expect(next.shown.map(({ text }) => text)).toEqual(["found"]);
	expect(next.events.filter(({ type }) => type === "in_doubt")).toEqual([]);
	expect(next.model.asked.filter((request) => !lastOf(request).startsWith("Goal:"))).toEqual([]);
	await next.runtime.close();
});

test("the same one, proposed again in the turn, is not asked about again", async () => {
	const person = asking("no");
	let proposals = 0;
	const model = scripted(() => (proposals++ < 3 ? [{ name: PLAN_TOOL, args: planOf("the goal") }] : "I give up"));
	const { runtime, replies } = await begun({ ask: person.ask }, project.state, model);
	await runtime.prompt("plan!");
	await runtime.idle();
	expect([person.asked.length, replies()]).toEqual([1, ["I give up"]]);
	await runtime.close();
});

test("cut after any record it is asked about once in all lives, and starts once", async () => {
	const { runtime } = await begun({ ask: asking("yes").ask });
	const turn = await runtime.prompt("plan!");
	await runtime.idle();
	await runtime.close();
	const kinds = await kindsIn(project);
	for (let seq = turn; seq <= kinds.length; seq++) {
		const state = await cutAfter(project, seq);
		const before = kinds.slice(0, seq);
		const person = asking("yes");
		const next = await begun({ ask: person.ask }, state);
		next.runtime.resume();
		await next.runtime.idle();
		await next.runtime.close();
		expect([seq, person.asked.length]).toEqual([seq, before.includes("question_answered") ? 0 : 1]);
		const after = await kindsIn({ ...project, state });
		for (const kind of ["question_asked", "question_answered", "plan_started", "plan_completed"])
			expect([seq, kind, after.filter((each) => each === kind).length]).toEqual([seq, kind, 1]);
		await removeState(state);
	}
});

test("a long goal and long steps are shown whole, in lines that no face cuts", async () => {
	const words = (count: number): string => Array.from({ length: count }, (_, i) => `word${i}`).join(" ");
	const args = {
		goal: words(200),
		steps: [
			{ id: "a", description: "x".repeat(500) },
			{ id: "b", description: words(60), depends_on: ["a"], max_tokens: 5000 },
		],
	};
	const person = asking("no");
	const model = scripted((request) => (lastOf(request) === "plan!" ? [{ name: PLAN_TOOL, args }] : "no, then"));
	const { runtime } = await begun({ ask: person.ask }, project.state, model);
	await runtime.prompt("plan!");
	await runtime.idle();
	const lines = person.asked[0] ?? [];
	for (const line of lines) expect(line.length).toBeLessThanOrEqual(200);
	const all = lines.map((line) => line.trim()).join(" ");
	expect(all).toContain(words(200));
	expect(all).toContain(words(60));
	expect(all.match(/x/g)).toHaveLength(500);
	expect(all).toContain("(needs a; 5000 tokens at most)");
	await runtime.close();
});
