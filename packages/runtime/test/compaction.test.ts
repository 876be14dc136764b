/** A conversation that would not fit what its model reads at once is told in short: recorded once, and taken back by a rewind as any message. */
import type { Model, ModelRequest, Tool } from "@reyn/journal";
import { approximateTokens } from "@reyn/journal/internal";
import { offlineModel } from "@reyn/offline-model";
import { afterEach, beforeEach, expect, test } from "vitest";
import { conversationCompacted, type Runtime } from "../src/index.ts";
import { cutAfter, kindsIn, removeState } from "./cut.ts";
import { lastOf, makeProject, open, type Project, type Script, scripted } from "./project.ts";

let project: Project;
beforeEach(async () => {
	project = await makeProject();
});
afterEach(() => project[Symbol.asyncDispose]());

const MOST = 2000;

const long = (of: string): string => `${of} ${"and so on ".repeat(150)}`;

/** Looks once, and answers at length. */
const answers: Script = (request) => {
	if (request.purpose === "compaction")
		return `short: ${(request.messages[0]?.text.match(/Person: \w+/g) ?? []).join()}`;
	return request.messages.at(-1)?.role === "tool"
		? long(`answer ${request.messages.length}`)
		: [{ name: "look", args: {} }];
};

const look = (): Tool & { readonly made: string[] } => {
	const made: string[] = [];
	return {
		...{ name: "look", description: "looks", parameters: {}, purity: "side_effect", made },
		call: async (_, { idempotencyKey = "" }) => {
			made.push(idempotencyKey);
			return long("seen");
		},
	};
};

const reading = (maxInputTokens: number | undefined, script = answers) => {
	const model = scripted(script);
	return Object.assign(model, { maxInputTokens }) as typeof model;
};

const QUESTIONS = ["one", "two", "three", "four", "five"];

const compactions = (runtime: Runtime) =>
	runtime
		.conversation()
		.items.toArray()
		.filter((item) => item.type === "compaction");

async function talked(model: Model, questions = QUESTIONS, state = project.state, tool = look()) {
	const { runtime, events } = await open({ ...project, state }, { model, tools: [tool] });
	for (const question of questions) {
		await runtime.prompt(question);
		await runtime.idle();
	}
	return { runtime, events, tool };
}

test("what was said before is told in short, each request fits, and nothing is told so that need not be", async () => {
	const model = reading(MOST);
	const { runtime, events } = await talked(model);
	expect(model.asked.map(approximateTokens).every((tokens) => tokens <= MOST)).toBe(true);
	const short = compactions(runtime);
	expect(short.length).toBeGreaterThanOrEqual(2);
	expect(events.filter(({ type }) => type === "compacted").length).toBe(short.length);
	// The second is made of the first, and of what came since.
	expect(short.map(({ text }) => text).at(-1)).toMatch(/^short: Person: one,Person: two/);
	const last = model.asked.at(-1) as ModelRequest;
	expect(last.messages.map(({ role }) => role)).toEqual(["note", ...wholeTurns(last), "user", "assistant", "tool"]);
	expect(lastOf(model.asked.findLast(({ purpose }) => purpose === "compaction") as ModelRequest)).toContain(
		"Note: What was said and done before, in short:\nshort: Person: one",
	);
	await runtime.close();

	await using other = await makeProject();
	const roomy = await talked(reading(100_000), QUESTIONS, other.state);
	expect(compactions(roomy.runtime)).toEqual([]);
	await roomy.runtime.close();
});

const wholeTurns = ({ messages }: ModelRequest): readonly string[] =>
	messages
		.slice(
			1,
			messages.findLastIndex(({ role }) => role === "user"),
		)
		.map(({ role }) => role);

test("cut after any record of the turn that made it, it is made once, and nothing is paid or done twice", async () => {
	const { runtime, tool: before } = await talked(reading(MOST), QUESTIONS.slice(0, 2));
	const from = runtime.wal.tip;
	await runtime.close();
	const whole = await talked(reading(MOST), ["three"]);
	const replies = repliesOf(whole.runtime);
	expect(compactions(whole.runtime).length).toBe(1);
	await whole.runtime.close();
	const kinds = await kindsIn(project);
	expect(kinds.slice(from)).toContain("conversation_compacted");
	const turn = kinds.indexOf("user_prompt", from) + 1;
	for (const most of [MOST, undefined]) {
		for (let seq = turn; seq <= kinds.length; seq++) {
			const state = await cutAfter(project, seq);
			const model = reading(most);
			const { runtime: next, tool } = await talked(model, [], state);
			next.resume();
			await next.idle();
			const recorded = kinds.slice(turn, seq);
			const isShort = most !== undefined || recorded.includes("conversation_compacted");
			expect([seq, compactions(next).length], `${most}`).toEqual([seq, isShort ? 1 : 0]);
			expect(repliesOf(next).length).toBe(replies.length);
			// Three answers, of which those are not paid again that are recorded; the call of a tool is a step too.
			const paid = recorded.filter((kind) => kind === "step_completed").length;
			const steps = model.asked.length + tool.made.length;
			expect([seq, steps + paid]).toEqual([seq, isShort || paid > 0 ? 4 : 3]);
			await next.close();
			await removeState(state);
		}
	}
	expect(before.made.length).toBe(2);
});

test("a turn that has asked its model stays as it is, whatever a model reads that goes on with it", async () => {
	const { runtime } = await talked(reading(100_000), QUESTIONS.slice(0, 3));
	await runtime.close();
	const kinds = await kindsIn(project);
	const turn = kinds.lastIndexOf("user_prompt") + 1;
	for (let seq = turn; seq <= kinds.length; seq++) {
		const state = await cutAfter(project, seq);
		const model = reading(MOST);
		const { runtime: next } = await talked(model, [], state);
		next.resume();
		await next.idle();
		const isAsked = kinds.slice(turn, seq).includes("step_completed");
		expect([seq, compactions(next).length, repliesOf(next).length]).toEqual([seq, isAsked ? 0 : 1, 3]);
		expect(model.asked.map(approximateTokens).every((tokens) => tokens <= MOST)).toBe(true);
		await next.close();
		await removeState(state);
	}
});

test("a turn is told once what was before it, whatever a model reads that goes on with it", async () => {
	const { runtime } = await talked(reading(3000));
	const [short] = compactions(runtime);
	// A turn is kept that would be too much for less.
	expect(short?.upTo).toBeLessThan(short?.turn ?? 0);
	await runtime.close();
	const state = await cutAfter(project, (await kindsIn(project)).indexOf("conversation_compacted") + 1);
	const { runtime: next } = await talked(reading(1000), [], state);
	next.resume();
	await next.idle();
	expect([compactions(next), repliesOf(next).length]).toEqual([[short], 4]);
	await next.close();
});

const repliesOf = (runtime: Runtime): readonly string[] =>
	runtime
		.conversation()
		.items.toArray()
		.flatMap((item) => (item.type === "reply" ? [item.text] : []));

test("a rewind to before it takes it back, and what it told in short is shown as it was", async () => {
	const model = reading(MOST);
	const { runtime } = await talked(model, QUESTIONS.slice(0, 3));
	const [short] = compactions(runtime);
	const tip = runtime.wal.tip;
	const target = runtime.timeline.checkpoints().findLast(({ seq }) => seq < (short?.seq ?? 0))?.seq ?? 0;
	await runtime.timeline.checkout(target);
	expect(compactions(runtime)).toEqual([]);
	model.asked.length = 0;
	await runtime.prompt("three again");
	await runtime.idle();
	expect(compactions(runtime).length).toBe(1);
	expect(lastOf(model.asked[0] as ModelRequest)).toMatch(/^Person: one\n/);
	await runtime.timeline.checkout(tip);
	expect(compactions(runtime)).toEqual([short]);
	await runtime.close();
});

test("where its answer is of no use, the turn goes on without it; where its model is away, the turn waits", async () => {
	const cut: Model = {
		...reading(MOST),
		async *generate(request, context) {
			if (request.purpose !== "compaction") return yield* reading(MOST).generate(request, context);
			yield { type: "finish", reason: "length" };
			yield { type: "usage", usage: { inputTokens: 1, outputTokens: 1 } };
		},
	};
	const { runtime, events } = await talked(cut, QUESTIONS.slice(0, 3));
	expect([compactions(runtime), repliesOf(runtime).length]).toEqual([[], 3]);
	await runtime.close();

	await using other = await makeProject();
	let isAway = true;
	const away: Model = {
		...reading(MOST),
		async *generate(request, context) {
			if (isAway && request.purpose === "compaction") throw Object.assign(new Error("overloaded"), { retryable: true });
			yield* reading(MOST).generate(request, context);
		},
	};
	const waiting = await talked(away, QUESTIONS.slice(0, 3), other.state);
	expect(waiting.events.findLast(({ type }) => type === "turn_end")).toMatchObject({ outcome: "stopped" });
	isAway = false;
	waiting.runtime.resume();
	await waiting.runtime.idle();
	expect([compactions(waiting.runtime).length, repliesOf(waiting.runtime).length]).toEqual([1, 3]);
	await waiting.runtime.close();
	expect(events.filter(({ type }) => type === "compacted")).toEqual([]);
});

test("a model that refuses to tell in short for good answers the turn all the same", async () => {
	const refusing: Model = {
		...reading(MOST),
		async *generate(request, context) {
			if (request.purpose === "compaction") throw Object.assign(new Error("400 bad"), { retryable: false });
			yield* reading(MOST).generate(request, context);
		},
	};
	const { runtime } = await talked(refusing);
	expect([compactions(runtime), repliesOf(runtime).length]).toEqual([[], 5]);
	await runtime.close();
});

test("a model that reads less than the one before is asked no more than it reads, to tell in short too", async () => {
	const wordy: Script = (request) => (request.purpose === "compaction" ? "so it was ".repeat(2000) : answers(request));
	const { runtime } = await talked(
		reading(30_000, wordy),
		Array.from({ length: 50 }, (_, at) => `question ${at}`),
	);
	expect(compactions(runtime)[0]?.text.length).toBeGreaterThan(6000);
	await runtime.close();
	const model = reading(MOST);
	const before = compactions(runtime).length;
	const { runtime: next } = await talked(model, ["six", "seven"]);
	expect(compactions(next).length).toBeGreaterThan(before);
	expect(model.asked.map(approximateTokens).filter((tokens) => tokens > MOST)).toEqual([]);
	expect(next.restored().turns).toEqual([]);
	expect(repliesOf(next).length).toBe(52);
	await next.close();
});

test("the offline model tells in short what was asked, and how each answer began", async () => {
	const model = { ...offlineModel(), maxInputTokens: 1500 };
	const { runtime } = await open(project, { model });
	for (const question of [
		"what does the parser do?",
		"what does the printer do?",
		"where is the parser tested?",
		"what is Calc?",
	]) {
		await runtime.prompt(question);
		await runtime.idle();
	}
	expect(compactions(runtime).at(0)?.text).toMatch(/^- Person: what does the parser do\?\n- Agent: /);
	await runtime.close();
});

test("its record says which turn it was made in, and what it stands for", async () => {
	const { runtime } = await talked(reading(MOST), QUESTIONS.slice(0, 3));
	const prompts = runtime
		.conversation()
		.items.toArray()
		.flatMap((item) => (item.type === "prompt" ? [item.seq] : []));
	const found: unknown[] = [];
	for await (const record of runtime.wal.read()) if (conversationCompacted.is(record)) found.push(record.data);
	const tokens = { before: expect.any(Number), after: expect.any(Number) };
	expect(found).toEqual([
		{ turn: prompts[2], upTo: expect.toBeOneOf(prompts.slice(1)), text: expect.any(String), tokens },
	]);
	await runtime.close();
});
