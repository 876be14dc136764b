/** A compaction that a person asks for: a turn of its own, which is recorded first, paid once wherever it is killed, and taken back by `undo`. */
import type { Model, ModelRequest } from "@reyn/journal";
import { defineSkill, done } from "@reyn/skill-resume";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { type OpenQuestion, type Runtime, type RuntimeOptions, turnInterrupted } from "../src/index.ts";
import { cutAfter, everyCut, kindsIn } from "./cut.ts";
import { gate, lastOf, makeProject, open, type Project, type Script, scripted, until } from "./project.ts";

let project: Project;
beforeEach(async () => {
	project = await makeProject();
});
afterEach(() => project[Symbol.asyncDispose]());

const long = (of: string): string => `${of} ${"and so on ".repeat(300)}`;

const answers: Script = (request) =>
	request.purpose === "compaction"
		? `short: ${(lastOf(request).match(/(Person|Note): \w+/g) ?? []).join()}`
		: long(`answer to ${lastOf(request)}`);

const model = (script = answers) => scripted(script);

const opened = (options: Partial<RuntimeOptions> = {}, state = project.state) =>
	open({ ...project, state }, { model: model(), tools: [], ...options });

async function says(runtime: Runtime, ...prompts: readonly string[]): Promise<void> {
	for (const prompt of prompts) {
		await runtime.prompt(prompt);
		await runtime.idle();
	}
}

async function compacted(runtime: Runtime): Promise<number> {
	const turn = await runtime.compact();
	await runtime.idle();
	return turn;
}

const shortTexts = (runtime: Runtime): readonly string[] =>
	runtime
		.conversation()
		.items.toArray()
		.flatMap((item) => (item.type === "compaction" ? [item.text] : []));

const replies = (runtime: Runtime): number =>
	runtime
		.conversation()
		.items.toArray()
		.filter(({ type }) => type === "reply").length;

const forCompaction = (asked: readonly ModelRequest[]): readonly ModelRequest[] =>
	asked.filter(({ purpose }) => purpose === "compaction");

const shown = ({ messages }: ModelRequest): readonly string[] => messages.map(({ role, text }) => `${role} ${text}`);

test("tells all that was said in short, whatever the model reads, and a later one is made of it and of what came since", async () => {
	const asked = model();
	const { runtime, events } = await opened({ model: asked });
	await says(runtime, "one", "two");
	const turn = await compacted(runtime);
	expect(shortTexts(runtime)).toEqual(["short: Person: one,Person: two"]);
	const told = events.filter(({ type }) => type.startsWith("compact"));
	expect(told).toEqual([
		{ type: "compacting", scope: { agent: "default", session: "main" }, turn, seq: turn },
		{
			...{ type: "compacted", scope: { agent: "default", session: "main" }, turn, by: "person" },
			tokens: { before: expect.any(Number), after: expect.any(Number) },
			seq: expect.any(Number),
		},
	]);
	const { before, after } = (told[1] as { tokens: { before: number; after: number } }).tokens;
	expect([before > 200, after < 60, after > 10]).toEqual([true, true, true]);
	await says(runtime, "three");
	expect(shown(asked.asked.at(-1) as ModelRequest)).toEqual([
		"note What was said and done before, in short:\nshort: Person: one,Person: two",
		"user three",
	]);
	await compacted(runtime);
	expect(lastOf(forCompaction(asked.asked)[1] as ModelRequest)).toMatch(
		/^Note: What was said and done before, in short:\nshort: Person: one,Person: two\nPerson: three\nAgent: answer/,
	);
	await says(runtime, "four");
	expect(asked.asked.at(-1)?.messages.map(({ role }) => role)).toEqual(["note", "user"]);
	expect(runtime.conversation().compacting).toBeUndefined();
	// All of it is there for people.
	expect(replies(runtime)).toBe(4);
	await runtime.close();
});

describe("is refused, and nothing is recorded or asked", () => {
	async function refused(runtime: Runtime, why: RegExp): Promise<void> {
		const { tip } = runtime.wal;
		expect(() => runtime.checkCompaction()).toThrow(
			expect.objectContaining({ code: "RUNTIME_COMPACTION", message: expect.stringMatching(why) }),
		);
		await expect(runtime.compact()).rejects.toMatchObject({
			code: "RUNTIME_COMPACTION",
			message: expect.stringMatching(why),
		});
		expect(runtime.wal.tip).toBe(tip);
	}

	test("where nothing was said, or nothing since", async () => {
		const asked = model();
		const { runtime } = await opened({ model: asked });
		await refused(runtime, /^nothing was said in default\/main$/);
		await says(runtime, "one");
		const turn = await compacted(runtime);
		await refused(runtime, new RegExp(`^nothing was said in default/main since it was told in short \\(#${turn}\\)$`));
		expect(asked.asked).toHaveLength(2);
		await expect(runtime.compact({ agent: "default", session: "none" })).rejects.toMatchObject({
			code: "RUNTIME_UNKNOWN_SESSION",
		});
		await runtime.close();
	});

	test("while a turn is not over, and while it is told in short already", async () => {
		const held = gate();
		const asked = model(async (request) => {
			if (lastOf(request).includes("hold")) await held.opened;
			return answers(request);
		});
		const { runtime } = await opened({ model: asked });
		await says(runtime, "one");
		const turn = await runtime.prompt("hold");
		await refused(
			runtime,
			new RegExp(`^turn #${turn} of default/main is not over; let it end or go on, or interrupt it`),
		);
		held.open();
		await runtime.idle();
		const compaction = await runtime.compact();
		await refused(
			runtime,
			new RegExp(`^what was said in default/main is to be told in short already \\(#${compaction}\\): it goes`),
		);
		await runtime.idle();
		await runtime.close();
		await expect(runtime.compact()).rejects.toMatchObject({ code: "RUNTIME_CLOSED" });
	});
});

test("killed after any record, it goes on at the next start, is paid once, and what was asked behind it is answered", async () => {
	const { runtime } = await opened();
	await says(runtime, "one", "two");
	const turn = await runtime.compact();
	// It waits for its end.
	await runtime.prompt("three");
	await runtime.idle();
	await runtime.close();
	const kinds = await kindsIn(project);
	expect(kinds.slice(turn - 1).filter((kind) => kind !== "checkpoint")).toEqual([
		...["compaction_asked", "user_prompt", "step_completed", "conversation_compacted", "turn_completed", "lane_closed"],
		...["step_completed", "assistant_message", "turn_completed", "lane_closed"],
	]);
	// One that reads less is asked otherwise, and told what is recorded.
	for (const maxInputTokens of [undefined, 2000])
		await everyCut(project, async (state, left) => {
			if (left.length < turn) return;
			const asked = Object.assign(model(), { maxInputTokens });
			const { runtime: next, events } = await opened({ model: asked }, state);
			const isOpen = !left.slice(turn - 1).includes("turn_completed");
			expect([left.length, next.restored().turns.some(({ isCompaction }) => isCompaction)]).toEqual([
				left.length,
				isOpen,
			]);
			next.resume();
			await next.idle();
			const recorded = left.slice(turn - 1).filter((kind) => kind === "step_completed").length;
			const isAsked = left.includes("user_prompt", turn - 1);
			expect([left.length, asked.asked.length + recorded]).toEqual([left.length, isAsked ? 2 : 1]);
			expect(shortTexts(next)).toEqual(["short: Person: one,Person: two"]);
			expect([next.restored().turns, replies(next)]).toEqual([[], isAsked ? 3 : 2]);
			const [request] = asked.asked.filter((each) => lastOf(each) === "three");
			if (request) expect(request.messages.map(({ role }) => role)).toEqual(["note", "user"]);
			expect(
				events
					.filter(({ type }) => type === "turn_end")
					.every((each) => "outcome" in each && each.outcome === "completed"),
			).toBe(true);
			await next.close();
		});
});

test("what is paid for is kept, however little a model reads that goes on with it", async () => {
	const { runtime } = await opened();
	await says(runtime, "one", "two");
	const turn = await compacted(runtime);
	await runtime.close();
	const kinds = await kindsIn(project);
	const state = await cutAfter(project, kinds.indexOf("step_completed", turn) + 1);
	const small = Object.assign(model(), { maxInputTokens: 100 });
	const { runtime: next } = await opened({ model: small }, state);
	next.resume();
	await next.idle();
	expect([shortTexts(next), small.asked]).toEqual([[expect.stringMatching(/^short/)], []]);
	await next.close();
});

test("what comes from the background meanwhile, and after it, is shown to the model in full", async () => {
	const [first, second, telling] = [gate(), gate(), gate()];
	const waiter = (name: string, held: ReturnType<typeof gate>) =>
		defineSkill({
			...{ name, description: "waits", input: z.unknown(), start: "one" },
			phases: {
				one: async () => {
					await held.opened;
					return done(`${name} is over`);
				},
			},
		});
	const asked = model(async (request) => {
		if (request.purpose === "compaction") await telling.opened;
		return answers(request);
	});
	const skills = [waiter("first", first), waiter("second", second)];
	const { runtime, shown: messages } = await opened({ model: asked, skills });
	await runtime.runSkill("first", {});
	await runtime.runSkill("second", {});
	await runtime.prompt("one");
	await until(() => replies(runtime) === 1 && runtime.restored().turns.length === 0);
	await runtime.compact();
	first.open();
	await until(() => messages.length === 1);
	telling.open();
	await until(() => shortTexts(runtime).length === 1);
	second.open();
	await runtime.idle();
	await says(runtime, "two");
	expect(shown(asked.asked.at(-1) as ModelRequest)).toEqual([
		"note What was said and done before, in short:\nshort: Person: one",
		"assistant first is over",
		"assistant second is over",
		"user two",
	]);
	await compacted(runtime);
	expect(lastOf(forCompaction(asked.asked)[1] as ModelRequest)).toMatch(
		/Agent: first is over\nAgent: second is over\nPerson: two/,
	);
	await runtime.close();
});

describe("of no use, it changes nothing and says so", () => {
	test.each([
		[
			"a text that is no shorter",
			"so it was ".repeat(1000),
			/^what the model told is no shorter than what was said; all/,
		],
		["no text", " ", /^the model told nothing; all stays as it was$/],
	])("%s", async (_, text, why) => {
		const { runtime, events } = await opened({
			model: model((request) => (request.purpose === "compaction" ? text : answers(request))),
		});
		await says(runtime, "one");
		const turn = await compacted(runtime);
		expect(events.findLast(({ type }) => type === "turn_end")).toMatchObject({
			turn,
			outcome: "interrupted",
			reason: expect.stringMatching(why),
		});
		expect([shortTexts(runtime), runtime.restored().turns]).toEqual([[], []]);
		await expect(runtime.undo("me")).rejects.toMatchObject({ code: "NOTHING_TO_UNDO" });
		await runtime.close();
	});

	test("a model that refuses, or reads next to nothing", async () => {
		const refusing: Model = {
			...model(),
			async *generate(request, context) {
				if (request.purpose === "compaction") throw Object.assign(new Error("400 bad"), { retryable: false });
				yield* model().generate(request, context);
			},
		};
		const { runtime, events } = await opened({ model: refusing });
		await says(runtime, "one");
		await compacted(runtime);
		expect(events.findLast(({ type }) => type === "turn_end")).toMatchObject({ reason: "400 bad" });
		await runtime.close();
		const small = Object.assign(model(), { maxInputTokens: 100 });
		const { runtime: next, events: more } = await opened({ model: small });
		await compacted(next);
		expect(more.findLast(({ type }) => type === "turn_end")).toMatchObject({
			reason: "scripted reads too little at once to tell in short what was said",
		});
		expect(small.asked).toEqual([]);
		await next.close();
	});
});

test("interrupted it is over; where its model is away it waits, and a prompt goes on with it", async () => {
	let isAway = true;
	const held = gate();
	const asked = model();
	const away: Model = {
		...asked,
		async *generate(request, context) {
			if (isAway && request.purpose === "compaction") throw Object.assign(new Error("overloaded"), { retryable: true });
			yield* asked.generate(request, context);
		},
	};
	const { runtime, events } = await opened({ model: away });
	await says(runtime, "one");
	const turn = await compacted(runtime);
	expect(events.at(-1)).toMatchObject({ type: "turn_end", turn, outcome: "stopped" });
	isAway = false;
	await says(runtime, "two");
	expect([shortTexts(runtime), replies(runtime)]).toEqual([["short: Person: one"], 2]);
	await runtime.close();

	const { runtime: next, events: told } = await opened({
		model: model(async (request) => {
			await held.opened;
			return answers(request);
		}),
	});
	const again = await next.compact();
	await until(() => told.some(({ type }) => type === "compacting"));
	expect(await next.interrupt()).toBe(true);
	await next.idle();
	expect(told.at(-1)).toMatchObject({ type: "turn_end", turn: again, outcome: "interrupted" });
	expect(shortTexts(next)).toHaveLength(1);
	await next.close();
});

describe("at the limit of a budget", () => {
	const budget = { session: { tokens: 11 } };

	const question = async (runtime: Runtime): Promise<OpenQuestion> => {
		await until(() => runtime.questions().length > 0);
		return runtime.questions()[0] as OpenQuestion;
	};

	test("it asks first: a no ends it unpaid, a yes pays it", async () => {
		const asked = model();
		const { runtime, events } = await opened({ model: asked, budget });
		await says(runtime, "one");
		const turn = await runtime.compact();
		const first = await question(runtime);
		expect(first).toMatchObject({ from: { kind: "turn", id: String(turn) } });
		await runtime.answer(first.seq, "no", "ada");
		await runtime.idle();
		expect([asked.asked.length, events.at(-1)]).toEqual([1, expect.objectContaining({ outcome: "interrupted" })]);
		await runtime.compact();
		await runtime.answer((await question(runtime)).seq, "yes", "ada");
		await runtime.idle();
		expect([asked.asked.length, shortTexts(runtime).length]).toEqual([2, 1]);
		await runtime.close();
	});

	test("killed after any record, it asks once, and nothing is spent that nobody has allowed", async () => {
		const { runtime } = await opened({ budget });
		await says(runtime, "one");
		const turn = await runtime.compact();
		await runtime.answer((await question(runtime)).seq, "yes", "ada");
		await runtime.idle();
		await runtime.close();
		await everyCut(project, async (state, left) => {
			if (left.length < turn) return;
			const asked = model();
			const { runtime: next } = await opened({ model: asked, budget }, state);
			next.resume();
			if (!left.includes("question_answered")) {
				const { seq } = await question(next);
				expect(asked.asked).toEqual([]);
				await next.answer(seq, "yes", "ada");
			}
			await next.idle();
			const kinds: string[] = [];
			for await (const { kind } of next.wal.read({ after: turn })) kinds.push(kind);
			const count = (of: string): number => kinds.filter((kind) => kind === of).length;
			expect([
				left.length,
				count("question_asked"),
				count("fact_budget_extended"),
				count("conversation_compacted"),
			]).toEqual([left.length, 1, 1, 1]);
			await next.close();
		});
	});
});

describe("follows a rewind", () => {
	test("to before it, into it, and to behind it", async () => {
		const asked = model();
		const { runtime } = await opened({ model: asked });
		await says(runtime, "one");
		const before = runtime.wal.tip;
		const turn = await compacted(runtime);
		const behind = runtime.wal.tip;
		await says(runtime, "two");
		await runtime.checkout(before, "me");
		expect(shortTexts(runtime)).toEqual([]);
		await says(runtime, "three");
		expect(asked.asked.at(-1)?.messages.map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
		await runtime.checkout(behind, "me");
		expect(shortTexts(runtime)).toEqual(["short: Person: one"]);
		await says(runtime, "four");
		expect(asked.asked.at(-1)?.messages.map(({ role }) => role)).toEqual(["note", "user"]);
		// Into it: it is over without an end of its own, and a new one is paid for.
		const paid = asked.asked.length;
		await runtime.checkout(turn, "me");
		await runtime.idle();
		expect([shortTexts(runtime), runtime.restored().turns, asked.asked.length]).toEqual([[], [], paid]);
		await compacted(runtime);
		expect([shortTexts(runtime), asked.asked.length]).toEqual([["short: Person: one"], paid + 1]);
		await runtime.close();
	});

	test("that comes while it is made: what it tells goes to no line that has left it", async () => {
		const held = gate();
		const asked = model(async (request) => {
			if (request.purpose === "compaction") await held.opened;
			return answers(request);
		});
		const { runtime } = await opened({ model: asked });
		await says(runtime, "one");
		const before = runtime.wal.tip;
		await runtime.compact();
		await until(() => forCompaction(asked.asked).length === 1);
		await runtime.checkout(before, "me");
		held.open();
		await runtime.idle();
		expect([shortTexts(runtime), runtime.restored().turns]).toEqual([[], []]);
		await says(runtime, "two");
		expect(replies(runtime)).toBe(2);
		await runtime.close();
	});

	test("`undo` takes it alone back, `redo` makes it again, unpaid, and later turns stay", async () => {
		const asked = model();
		const { runtime } = await opened({ model: asked });
		await says(runtime, "one");
		await compacted(runtime);
		await says(runtime, "two");
		const paid = asked.asked.length;
		await runtime.undo("me");
		expect([shortTexts(runtime), replies(runtime)]).toEqual([[], 2]);
		await runtime.redo("me");
		expect([shortTexts(runtime), replies(runtime)]).toEqual([["short: Person: one"], 2]);
		expect(asked.asked.length).toBe(paid);
		await runtime.undo("me");
		await says(runtime, "three");
		expect(asked.asked.at(-1)?.messages.map(({ role }) => role)).toEqual([
			"user",
			"assistant",
			"user",
			"assistant",
			"user",
		]);
		await runtime.close();
		// A start finds it so.
		const { runtime: next } = await opened();
		expect([shortTexts(next), replies(next)]).toEqual([[], 3]);
		await next.close();
	});
});

test("its end without a text is recorded as that of any turn", async () => {
	const { runtime } = await opened({
		model: model((request) => (request.purpose === "compaction" ? "" : answers(request))),
	});
	await says(runtime, "one");
	const turn = await compacted(runtime);
	const found: unknown[] = [];
	for await (const record of runtime.wal.read({ after: turn }))
		if (turnInterrupted.is(record)) found.push(record.data.turn);
	expect(found).toEqual([turn]);
	await runtime.close();
});
