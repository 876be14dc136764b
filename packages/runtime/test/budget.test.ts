/** Budgets: what was spent is what models have handed out, whatever was left or killed; at a limit a person is asked, once. */
import { join } from "node:path";
import type { Model, Tool } from "@reyn/journal";
import { dayOf } from "@reyn/journal/internal";
import { PLAN_TOOL } from "@reyn/plan";
import { fileEngine } from "@reyn/wal";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Random, SEED, seeded } from "../../../tests/kit/seeded.ts";
import { pauseless } from "../../../tests/kit/timers.ts";
import { sample } from "../../../tests/sample.ts";
import { spentByDay, spentInSession, spentOn, type Tally, tokensIn } from "../src/features/budget/spent.ts";
import {
	type BudgetOptions,
	engineStore,
	mainSession,
	type OpenQuestion,
	openRuntime,
	type Runtime,
	type RuntimeOptions,
	type SessionScope,
} from "../src/index.ts";
import { everyCut } from "./cut.ts";
import { lastOf, makeProject, open, type Project, scripted, until } from "./project.ts";
import { script } from "./script-runs.ts";

let project: Project;
beforeEach(async () => {
	project = await makeProject();
});
afterEach(() => project[Symbol.asyncDispose]());

/** Each answer costs 11 tokens, and is a millionth of a dollar for each that goes in. */
const model = () => scripted((request) => `said: ${lastOf(request)}`);
const prices = { scripted: { input: 1, output: 2 } };

const opened = (options: Partial<RuntimeOptions> = {}, at: Project = project) =>
	open(at, { model: model(), tools: [], ...options });

async function says(runtime: Runtime, text: string): Promise<string> {
	await runtime.prompt(text);
	await runtime.idle();
	return lastReply(runtime);
}

const lastReply = (runtime: Runtime): string =>
	runtime
		.conversation()
		.items.toArray()
		.flatMap((item) => (item.type === "reply" ? [item.text] : []))
		.at(-1) ?? "";

async function asked(runtime: Runtime): Promise<OpenQuestion> {
	await until(() => runtime.questions().length > 0);
	return runtime.questions()[0] as OpenQuestion;
}

/** Makes a plan of three steps that wait for none, and one that waits for them all. */
const planning = () =>
	scripted((request) => {
		const free = ["a", "b", "c"].map((id) => ({ id, description: `do ${id}`, tools: [], depends_on: [] }));
		const last = { id: "end", description: "say it", tools: [], depends_on: ["a", "b", "c"] };
		const args = { goal: "three", steps: [...free, last] };
		if (lastOf(request) === "look") return [{ name: "look", args: {} }];
		return lastOf(request) === "plan it" ? [{ name: PLAN_TOOL, args }] : "done";
	});

const look: Tool = {
	name: "look",
	description: "looks",
	parameters: { type: "object" },
	purity: "pure",
	call: async () => "seen",
};

describe("a limit", () => {
	test("that is reached is a question: a yes lets as much again be spent, a no ends the turn, and nothing is tried again", async () => {
		const answers = model();
		const { runtime, events } = await opened({ model: answers, budget: { session: { tokens: 11 } } });
		expect(await says(runtime, "one")).toBe("said: one");
		await runtime.prompt("two");
		const first = await asked(runtime);
		expect(first).toMatchObject({
			question: "this session has spent 11 of 11 tokens. Go on for another 11 tokens?",
			choices: ["yes", "no"],
		});
		expect(answers.asked).toHaveLength(1);
		await runtime.answer(first.seq, "yes", "ada");
		await runtime.idle();
		expect(lastReply(runtime)).toBe("said: two");
		await runtime.prompt("three");
		await runtime.answer((await asked(runtime)).seq, "no: it is dear", "bo");
		await runtime.idle();
		expect(answers.asked).toHaveLength(2);
		expect(events.at(-1)).toMatchObject({
			type: "turn_end",
			outcome: "interrupted",
			reason: expect.stringMatching(
				/^this session has spent 22 of 22 tokens; bo says no \(it is dear\): raise the budget, or ask again$/,
			),
		});
		expect(await denials(runtime)).toEqual([{ code: "BUDGET", retryable: false, unmade: true }]);
		// A later turn asks anew.
		await runtime.prompt("four");
		await runtime.answer((await asked(runtime)).seq, "yes", "ada");
		await runtime.idle();
		expect(lastReply(runtime)).toBe("said: four");
		await runtime.close();
	});

	const each: readonly [string, BudgetOptions, string][] = [
		["turn.tokens", { turn: { tokens: 11 } }, "turn \\d+ has spent 11 of 11 tokens"],
		["turn.usd", { turn: { usd: 0.000_012 } }, "turn \\d+ has spent under \\$0.0001 of under \\$0.0001"],
		["plan.tokens", { plan: { tokens: 11 } }, "plan p\\d+ has spent 11 of 11 tokens"],
		["plan.usd", { plan: { usd: 0.000_012 } }, "plan p\\d+ has spent under"],
		["session.tokens", { session: { tokens: 11 } }, "this session has spent 11 of 11 tokens"],
		["session.usd", { session: { usd: 0.000_012 } }, "this session has spent under"],
		["day.tokens", { day: { tokens: 11 } }, "2026-11-27 \\(UTC\\) has spent 11 of 11 tokens"],
		["day.usd", { day: { usd: 0.000_012 } }, "2026-11-27 \\(UTC\\) has spent under"],
	];
	test.each(each)("of %s stops what would be spent beyond it, and no other does", async (name, budget, question) => {
		const answers = planning();
		const { runtime } = await opened({
			model: answers,
			tools: [look],
			prices,
			budget,
			limits: { concurrency: 1 },
			clock: { now: () => Date.parse("2026-11-27T10:00:00Z") },
		});
		await runtime.prompt(name.startsWith("plan") ? "plan it" : "look");
		const { question: text, seq } = await asked(runtime);
		expect(text).toMatch(new RegExp(`^${question}`));
		const before = name.startsWith("plan") ? 2 : 1;
		expect(answers.asked).toHaveLength(before);
		// As much again is one call of the plan, or the end of the turn.
		await runtime.answer(seq, "yes", "ada");
		await until(
			() => runtime.questions().length > 0 || runtime.restored().turns.length + runtime.restored().plans.length === 0,
		);
		expect(answers.asked).toHaveLength(before + 1);
		const [unit] = name.split(".").slice(1);
		expect(await recordsOf(runtime, "fact_budget_extended")).toMatchObject([
			{ limit: name.replace(".", "_"), to: unit === "tokens" ? 22 : 0.000_024, by: "ada" },
		]);
		await runtime.close();
	});

	test("that is not reached asks nothing; a call that is recalled is not asked about", async () => {
		const { runtime } = await opened();
		await says(runtime, "one");
		const begun = await runtime.scripts.start(script("return ctx.agent('a');"), undefined);
		await begun.end;
		await runtime.close();
		const { runtime: next } = await opened({ budget: { session: { tokens: 1 } }, unanswered: "deny" });
		await (await next.scripts.resume(begun.run)).end;
		expect(next.meter.paid.calls).toBe(0);
		await next.close();
	});

	test.each(["deny", "stop"] as const)(
		"where nobody answers (%s) keeps the turn open, which goes on with an answer in a later process",
		async (unanswered) => {
			const budget = { session: { tokens: 11 } };
			const { runtime, events } = await opened({ budget, unanswered });
			await says(runtime, "one");
			await says(runtime, "two");
			const { seq } = await asked(runtime);
			expect(events.at(-1)).toMatchObject({
				outcome: "stopped",
				reason: expect.stringContaining(`waits for an answer to #${seq}`),
			});
			expect(runtime.restored().turns).toHaveLength(1);
			await runtime.close();
			const again = await opened({ budget, unanswered });
			again.runtime.resume();
			await again.runtime.idle();
			expect(again.runtime.questions()).toMatchObject([{ seq }]);
			await again.runtime.answer(seq, "yes", "ada");
			await again.runtime.idle();
			expect(lastReply(again.runtime)).toBe("said: two");
			expect(await count(again.runtime, "question_asked")).toBe(1);
			await again.runtime.close();
		},
	);

	test("is asked about once by steps that run beside each other: a yes and a no count for all of them", async () => {
		for (const answer of ["yes", "no"]) {
			const at = { ...project, state: join(project.root, answer) };
			const answers = planning();
			const { runtime, shown } = await opened({ model: answers, budget: { session: { tokens: 11 } } }, at);
			await runtime.prompt("plan it");
			const { seq, from } = await asked(runtime);
			expect(from.kind).toBe("plan");
			expect(runtime.questions()).toHaveLength(1);
			expect(answers.asked).toHaveLength(1);
			await runtime.answer(seq, answer, "ada");
			if (answer === "no") await runtime.idle();
			// The step that comes last meets the next limit.
			else
				expect((await asked(runtime)).question).toBe(
					"this session has spent 44 of 22 tokens. Go on for another 11 tokens?",
				);
			expect(answers.asked).toHaveLength(answer === "yes" ? 4 : 1);
			expect(await count(runtime, "fact_budget_extended")).toBe(answer === "yes" ? 1 : 0);
			expect(await count(runtime, "question_asked")).toBe(answer === "yes" ? 2 : 1);
			if (answer === "no") {
				expect(shown.map(({ text }) => text)).toEqual([expect.stringMatching(/ada says no/)]);
				expect(await denials(runtime)).toEqual(
					["a", "b", "c", "end"].map(() => ({ code: "BUDGET", retryable: false, unmade: true })),
				);
			}
			await runtime.close();
		}
	});

	test("that a person has refused a script is asked about anew when they have it go on", async () => {
		const answers = model();
		const { runtime } = await opened({ model: answers, budget: { session: { tokens: 11 } } });
		const both = script("return [await ctx.agent('a'), await ctx.agent('b')];");
		const begun = await runtime.scripts.start(both, undefined);
		await runtime.answer((await asked(runtime)).seq, "no", "ada");
		expect(await begun.end).toMatchObject({ status: "failed", reason: { code: "BUDGET" } });
		const again = await runtime.scripts.resume(begun.run);
		await runtime.answer((await asked(runtime)).seq, "yes", "ada");
		expect(await again.end).toMatchObject({ status: "completed" });
		expect(answers.asked).toHaveLength(2);
		await runtime.close();
	});

	test("killed at any record, it asks once, is extended once, and nothing is spent beyond it that nobody has allowed", async () => {
		const budget = { session: { tokens: 11 } };
		const { runtime } = await opened({ budget });
		await says(runtime, "one");
		await runtime.prompt("two");
		await runtime.answer((await asked(runtime)).seq, "yes", "ada");
		await runtime.idle();
		await runtime.close();
		let cuts = 0;
		await everyCut(project, async (state, kinds) => {
			const answers = model();
			const at = { ...project, state };
			const { runtime: next } = await opened({ model: answers, budget }, at);
			next.resume();
			const prompts = kinds.filter((kind) => kind === "user_prompt").length;
			const isAsked = (): boolean => next.questions().length > 0;
			await until(() => isAsked() || next.restored().turns.length === 0);
			const ends = kinds.filter((kind) => kind === "turn_completed").length;
			expect(isAsked(), kinds.at(-1)).toBe(prompts === 2 && !kinds.includes("question_answered"));
			for (const { seq } of next.questions()) {
				expect(answers.asked).toHaveLength(0);
				await next.answer(seq, "yes", "ada");
			}
			await next.idle();
			if (prompts === 2) {
				expect([kinds.at(-1), lastReply(next)]).toEqual([kinds.at(-1), "said: two"]);
				expect(answers.asked.length).toBeLessThanOrEqual(1);
				expect(await count(next, "fact_budget_extended")).toBe(1);
				expect(await count(next, "question_asked")).toBe(1);
			}
			expect(ends).toBeLessThanOrEqual(2);
			await next.close();
			cuts++;
		});
		expect(cuts).toBeGreaterThan(12);
	});

	test("that was extended stays so over a rewind, a gc and a start, and what was spent on the line that was left counts", async () => {
		const budget = { session: { tokens: 11 } };
		const { runtime } = await opened({ budget });
		await says(runtime, "one");
		await runtime.prompt("two");
		await runtime.answer((await asked(runtime)).seq, "yes", "ada");
		await runtime.idle();
		await runtime.checkout(1, "ada");
		await runtime.gc({ keepDays: 0, keepCheckpoints: 1 });
		await runtime.close();
		const next = await opened({ budget });
		await next.runtime.prompt("three");
		const { question, seq } = await asked(next.runtime);
		expect(question).toBe("this session has spent 22 of 22 tokens. Go on for another 11 tokens?");
		await next.runtime.answer(seq, "no", "ada");
		await next.runtime.idle();
		await next.runtime.close();
		// A budget that says more than a person has allowed counts.
		const wide = await opened({ budget: { session: { tokens: 100 } } });
		expect(await says(wide.runtime, "four")).toBe("said: four");
		await wide.runtime.close();
	});

	test("of a day begins anew with the day (UTC), and is of all sessions", async () => {
		let now = Date.parse("2026-11-27T23:59:00Z");
		const { runtime } = await opened({
			budget: { day: { tokens: 11 } },
			unanswered: "deny",
			clock: { now: () => now },
		});
		await runtime.prompt("one", { agent: "default", session: "side" });
		await runtime.idle();
		await says(runtime, "two");
		expect((await asked(runtime)).question).toMatch(/^2026-11-27 \(UTC\) has spent 11 of 11 tokens/);
		now = Date.parse("2026-11-28T00:00:00Z");
		runtime.resume();
		await runtime.idle();
		expect([lastReply(runtime), runtime.questions()]).toEqual(["said: two", []]);
		await runtime.close();
	});

	test("in dollars does not count a model without a price, and says so once; of calls that failed it says that they are not in it", async () => {
		const budget = { session: { usd: 0.000_001 } };
		const { runtime, events } = await opened({ budget, unanswered: "deny" });
		expect(await says(runtime, "one")).toBe("said: one");
		expect(await says(runtime, "two")).toBe("said: two");
		expect(events.filter(({ type }) => type === "budget_unpriced")).toEqual([
			{ type: "budget_unpriced", scope: mainSession, model: "scripted" },
		]);
		await runtime.close();
		const failing = scripted(() => {
			throw new Error("no");
		});
		const next = await opened({ model: failing });
		await says(next.runtime, "three");
		await next.runtime.close();
		const last = await opened({ budget, prices });
		await last.runtime.prompt("four");
		expect((await asked(last.runtime)).lines).toEqual(["1 call is not in it, of which nobody knows what it cost"]);
		await last.runtime.close();
	});
});

test("after any random histories of rewinds, starts and collections, what was spent is what the model has handed out", async () => {
	let [cuts, recalled] = [0, 0];
	for (let seed = SEED; seed < SEED + sample(8, 25); seed++) {
		const random = seeded(seed);
		const till = new Till();
		let now = Date.parse("2026-11-27T12:00:00Z");
		const at = join(project.root, String(seed));
		const again = () =>
			openRuntime({
				store: engineStore(fileEngine(at, { segmentBytes: 4096 })),
				model: till.model(random),
				tools: [],
				clock: { now: () => now++ },
				timers: pauseless(),
			});
		let runtime = await again();
		let last: { readonly run: string; readonly session: SessionScope } | undefined;
		const source = script("for (const each of args) await ctx.agent(each); return 1;");
		const beside = script("return ctx.parallel(args.map((each) => () => ctx.agent(each)));");
		const sessions = [mainSession, { agent: "default", session: "side" }];
		for (let step = 0; step < 14; step++) {
			const { tip } = runtime.wal;
			const session = random.pick(sessions);
			till.at = [session.session, dayOf(now)];
			const does = random.pick(["ask", "ask", "script", "edit", "checkout", "undo", "compact", "again", "gc", "night"]);
			if (does === "ask") await runtime.prompt(random.below(4) === 0 ? "fail" : `question ${step}`, session);
			if (does === "compact") await runtime.compact(session).catch(() => {});
			if (does === "script") {
				const begun = await runtime.scripts.start(source, ["a", "b", "a"], session);
				await begun.end;
				last = { run: begun.run, session };
			}
			// What both versions ask for is taken over from the one before, and not paid for again.
			if (does === "edit" && last && runtime.scripts.list().some(({ run }) => run === last?.run)) {
				till.at = [last.session.session, dayOf(now)];
				const edited = random.pick([source, beside]);
				const args = ["b", "a", `${step}`];
				await runtime.scripts
					.resume(last.run, { script: edited, args, reuse: "content" })
					.then(({ end }) => end)
					.catch(() => {});
			}
			if (does === "checkout")
				await runtime.checkout(random.below(tip + 1), "me", random.pick([{}, session])).catch(() => {});
			if (does === "undo") await runtime.undo("me").catch(() => {});
			if (does === "gc") await runtime.gc({ keepDays: 0, keepCheckpoints: random.below(3) });
			if (does === "night") now += 86_400_000;
			if (does === "again") {
				await runtime.close();
				runtime = await again();
			}
			await runtime.idle();
			const { wholeLog } = runtime.timeline;
			const where = `seed ${seed}, step ${step}: ${does}`;
			for (const each of sessions)
				expect(inAll((await wholeLog.live(each)).view.get(spentInSession).spent), where).toEqual(till.in(each.session));
			cuts += Number(runtime.wal.first > 1);
			const { days } = (await wholeLog.live()).view.get(spentByDay);
			for (const { day, spent } of days) expect(inAll(spent), where).toEqual(till.in(day));
			// What is stored, and what is folded anew, are the same.
			expect((await wholeLog.at(runtime.wal.tip)).get(spentByDay), where).toEqual(
				(await wholeLog.live()).view.get(spentByDay),
			);
		}
		recalled += (await recordsOf(runtime, "step_completed")).filter(
			({ adopts, usage }) => adopts !== undefined && usage,
		).length;
		await runtime.close();
	}
	expect(cuts).toBeGreaterThan(0);
	expect(recalled).toBeGreaterThan(0);
});

test("what a plan has spent is all that it ever did, on lines that were left too; its turn has spent its own", async () => {
	const { runtime } = await opened({ model: planning(), limits: { concurrency: 1 } });
	await says(runtime, "plan it");
	const [begun] = await recordsOf(runtime, "plan_started");
	const plan = begun?.plan as string;
	const spent = async (work: string) => {
		const { view } = await runtime.timeline.wholeLog.live(mainSession);
		return inAll(spentOn(view.get(spentInSession), work)).tokens;
	};
	expect(await spent(`plan/${plan}`)).toBe(44);
	const [, first] = await seqsOf(runtime, "step_completed", ({ kind }) => kind === "model");
	await runtime.checkout(first as number, "ada");
	await runtime.resumePlan(plan);
	await runtime.idle();
	expect(await spent(`plan/${plan}`)).toBe(44 + 33);
	const [turn] = await seqsOf(runtime, "user_prompt");
	expect(await spent(`turn/${turn}`)).toBe(11);
	await runtime.close();
});

test("what a work has cost is told in any process, of lines that were left too; without a price it is unknown", async () => {
	const { runtime } = await opened({ prices });
	await says(runtime, "one");
	const [turn] = await seqsOf(runtime, "user_prompt");
	await runtime.checkout(1, "ada");
	await runtime.close();
	const { runtime: next } = await opened({ prices });
	expect(await next.spentOn(mainSession, `turn/${turn}`)).toEqual({
		tokens: 11,
		cost: { usd: "0.000012", unknown: 0 },
	});
	expect(await next.spentOn(mainSession, "turn/999")).toEqual({ tokens: 0, cost: { usd: "0", unknown: 0 } });
	await next.close();
	const { runtime: last } = await opened();
	expect(await last.spentOn(mainSession, `turn/${turn}`)).toMatchObject({ cost: { usd: "0", unknown: 1 } });
	await last.close();
});

test.each([
	["budget.session.tokens", { budget: { session: { tokens: 0 } } }],
	["budget.day.tokens", { budget: { day: { tokens: 1e13 } } }],
	["budget.day.usd", { budget: { day: { usd: 0.000_000_1 } } }],
	["budget", { budget: { week: { tokens: 1 } } as never }],
	["prices.one.input", { prices: { one: { input: -1, output: 1 } } }],
	["prices.one.output", { prices: { one: { input: 1 } as never } }],
])("%s is refused where it is wrong, and nothing is opened", async (path, options) => {
	await expect(opened(options)).rejects.toMatchObject({
		code: "RUNTIME_BUDGET",
		message: expect.stringMatching(new RegExp(`^${path}: .*; nothing was opened$`)),
	});
});

async function recordsOf({ wal }: Runtime, kind: string) {
	const found = [];
	for await (const record of wal.read({ kinds: { only: [kind] } })) found.push(record.data as Record<string, unknown>);
	return found;
}

async function seqsOf({ wal }: Runtime, kind: string, which: (data: { kind?: string }) => boolean = () => true) {
	const found = [];
	for await (const { seq, data } of wal.read({ kinds: { only: [kind] } })) if (which(data as object)) found.push(seq);
	return found;
}

const count = async (runtime: Runtime, kind: string): Promise<number> => (await recordsOf(runtime, kind)).length;

const denials = async (runtime: Runtime) =>
	(await recordsOf(runtime, "step_failed")).map(({ reason, retryable, unmade }) => ({
		code: (reason as { code?: string }).code,
		retryable,
		unmade,
	}));

/** All that a model has handed out, and has been asked for in vain, by session and by day. */
class Till {
	at: readonly string[] = [];
	readonly #sums = new Map<string, { tokens: number; failed: number }>();

	in(where: string): { tokens: number; failed: number } {
		return this.#sums.get(where) ?? { tokens: 0, failed: 0 };
	}

	model(random: Random): Model {
		const add = (tokens: number, failed: number): void => {
			for (const where of this.at) {
				const before = this.in(where);
				this.#sums.set(where, { tokens: before.tokens + tokens, failed: before.failed + failed });
			}
		};
		return {
			id: "till",
			async *generate({ messages }) {
				if (messages.at(-1)?.text === "fail") {
					add(0, 1);
					throw new Error("not now");
				}
				const usage = { inputTokens: random.below(100), outputTokens: random.below(100) };
				add(usage.inputTokens + usage.outputTokens, 0);
				yield { type: "text", text: "a word" };
				yield { type: "usage", usage };
			},
		};
	}
}

const inAll = (tally: Tally): { tokens: number; failed: number } => ({
	tokens: tokensIn(tally),
	failed: Object.values(tally).reduce((sum, { failed }) => sum + failed, 0),
});
