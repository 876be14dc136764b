/**
 * What is counted and priced before a move, against what there is once it is settled, and against what the work that goes on asks of a
 * model: random histories, each with one move in the midst of plans, skills, scripts and questions. `REYN_RUNS` sets how many there are
 * (default 4), `REYN_SEED` the first one's seed.
 */
import { join } from "node:path";
import { type Model, stepCompleted } from "@reyn/journal";
import { scriptRuns } from "@reyn/journal/script";
import { PLAN_TOOL, planRuns, plansOf } from "@reyn/plan";
import { type RewindMode, rewindModes } from "@reyn/rewind-modes";
import { defineSkill, done, skillRuns, skillRunsOf } from "@reyn/skill-resume";
import type { Scope, Seq, WalRecord } from "@reyn/wal";
import { afterAll, expect, test } from "vitest";
import { z } from "zod";
import { type Random, SEED, seeded } from "../../../tests/kit/seeded.ts";
import { sample } from "../../../tests/sample.ts";
import { ASK_USER } from "../src/features/question/ask-user.ts";
import {
	type BlastRadius,
	blastRadius,
	conversation,
	type Holding,
	mainSession,
	type OpenQuestion,
	type Runtime,
} from "../src/index.ts";
import { contentsOf, edit } from "./config-kit.ts";
import { lastOf, makeProject, open, overSqlite, until } from "./project.ts";

const RUNS = Number(process.env.REYN_RUNS ?? sample(4, 12));

/** What the histories have come to, together: a test that meets nothing proves nothing. */
const met = {
	left: 0,
	alone: 0,
	paidAgain: 0,
	paused: 0,
	withdrawn: 0,
	noted: 0,
	...(overSqlite ? {} : { config: 0 }),
};

afterAll(() => {
	if (RUNS >= 40) for (const [what, times] of Object.entries(met)) expect(times, what).toBeGreaterThan(0);
});

const sessions = [mainSession, { agent: "default", session: "side" }, { agent: "bob", session: "main" }] as const;
const scopes: readonly Scope[] = [{}, {}, {}, ...sessions, { agent: "default" }];

/** How often a plan asks the model from its beginning to its end. */
const CALLS = 3;

const skill = defineSkill({
	name: "chore",
	description: "",
	input: z.unknown(),
	start: "only",
	phases: { only: async ({ step }) => done(await step("one", async () => "done", { purity: "external" })) },
});

const source = `export default async (ctx) => { await ctx.agent("a script"); return ctx.ask("Well?"); };`;

/** Answers as often as it may, then hangs; it counts what each plan has asked. */
class Answers {
	readonly asked = new Map<string, number>();
	#left = 0;
	#more = Promise.withResolvers<void>();

	give(answers: number): void {
		this.#left += answers;
		this.#more.resolve();
		this.#more = Promise.withResolvers<void>();
	}

	readonly model: Model = {
		id: "answers",
		generate: (request, { signal }) => this.#generate(request, signal),
	};

	async *#generate(request: Parameters<Model["generate"]>[0], signal: AbortSignal): ReturnType<Model["generate"]> {
		const aborted = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
		while (this.#left < 1) {
			await Promise.race([this.#more.promise, aborted]);
			signal.throwIfAborted();
		}
		this.#left--;
		const plan = request.messages
			.map(({ text }) => /^Goal: (goal \d+)/.exec(text)?.[1])
			.find((goal) => goal !== undefined);
		if (plan !== undefined) this.asked.set(plan, (this.asked.get(plan) ?? 0) + 1);
		const [text, call] = answerTo(lastOf(request));
		if (call) yield { type: "toolCall", call: { id: `c${request.messages.length}`, ...call } };
		else yield { type: "text", text };
		yield { type: "usage", usage: { inputTokens: 10, outputTokens: 1 } };
	}
}

function answerTo(last: string): [string, { name: string; args: unknown }?] {
	const goal = /^plan (\d+)/.exec(last)?.[1];
	if (goal !== undefined) return ["", { name: PLAN_TOOL, args: planOf(`goal ${goal}`) }];
	if (last.startsWith("ask")) return ["", { name: ASK_USER, args: { question: `May I ${last}?` } }];
	if (last.startsWith("Goal:") && /Step a/.test(last)) return ["", { name: "list", args: {} }];
	return [`echo: ${last.slice(0, 12)}`];
}

const planOf = (goal: string) => ({
	goal,
	steps: [
		{ id: "a", description: "look", tools: ["list"], depends_on: [] },
		{ id: "b", description: "say", tools: [], depends_on: ["a"] },
	],
});

/** Nothing happens any more: it is over, or it hangs. */
async function quiet({ wal }: Runtime): Promise<void> {
	for (let turns = 0, tip = -1; turns < 12; turns = tip === wal.tip && wal.durableTip === tip ? turns + 1 : 0) {
		tip = wal.tip;
		await new Promise((resolve) => setTimeout(resolve, 1));
	}
}

async function live(runtime: Runtime, answers: Answers, random: Random, config: string): Promise<void> {
	for (let step = 0; step < 8; step++) {
		const session = random.pick(sessions);
		const what = random.below(10);
		if (what < 4) await runtime.prompt(`plan ${step}`, session);
		else if (what === 4) await runtime.prompt(`hello ${step}`, session);
		else if (what === 5) await runtime.prompt(`ask ${step}`, session);
		else if (what === 6) await runtime.runSkill("chore", {});
		else if (what === 7) await runtime.scripts.start({ name: "s.ts", source }, {});
		else if (overSqlite) continue;
		else if (what === 8) await runtime.config.write(random.pick(["a.yaml", "b.yaml"]), `n: ${step}\n`);
		else await edit(config, random.pick(["a.yaml", "c.yaml"]), `by: hand ${step}\n`);
		answers.give(random.below(7));
		await quiet(runtime);
	}
	// One is under way in the end, and hangs somewhere.
	await runtime.prompt("plan 8", { agent: "default", session: "last" });
	const calls = 1 + random.below(2);
	while ((answers.asked.get("goal 8") ?? 0) < calls) {
		answers.give(1);
		await quiet(runtime);
	}
}

/** The same counts, from what a runtime says to anybody. */
async function held(runtime: Runtime, at: Seq): Promise<Omit<Holding, "questions">> {
	const views = await Promise.all(runtime.sessions().map((each) => runtime.timeline.at(at, each)));
	const of = (statuses: readonly string[], over: readonly string[]) => ({
		all: statuses.length,
		unfinished: statuses.filter((status) => !over.includes(status)).length,
	});
	const items = views.flatMap((view) => view.get(conversation).items.toArray());
	const over = ["completed", "failed", "aborted", "discarded"];
	return {
		sessions: views.length,
		messages: items.filter(({ type }) => type !== "result").length,
		plans: of(
			views.flatMap((view) => plansOf(view.get(planRuns)).map(([, { status }]) => status)),
			over,
		),
		runs: of(
			views.flatMap((view) => skillRunsOf(view.get(skillRuns)).map(([, { status }]) => status)),
			over,
		),
		scripts: of(
			views.flatMap((view) => Object.values(view.get(scriptRuns)).map(({ status }) => status)),
			over,
		),
		others: { all: 0, unfinished: 0 },
	};
}

async function counting({ wal, timeline }: Runtime, through: Seq): Promise<ReadonlySet<Seq>> {
	const found = new Set<Seq>();
	for await (const record of wal.read({ through })) if (timeline.lineage.isActive(record)) found.add(record.seq);
	return found;
}

interface Moved {
	readonly tip: Seq;
	readonly radius: BlastRadius;
	/** `cancel` where nothing was written. */
	readonly mode: RewindMode;
	readonly questions: readonly OpenQuestion[];
	/** Is it of one plan alone? */
	readonly isAlone: boolean;
	/** The seq at which it was settled. */
	readonly at: Seq;
}

/** Previews a move, and makes it. Undefined: something came between. */
async function move(runtime: Runtime, random: Random): Promise<Moved | undefined> {
	const { tip } = runtime.wal;
	// Into a plan, or anywhere; of one plan alone, or of more.
	const plans = runtime
		.sessions()
		.flatMap((each) =>
			plansOf(runtime.view(each).get(planRuns)).map(([run, { since }]) => ({ since, scope: { ...each, run } })),
		);
	const plan = random.chance(0.3) ? undefined : random.chance(0.5) ? plans.at(-1) : plans[random.below(plans.length)];
	const first = plan?.since ?? 0;
	const target = first + random.below(tip - first + 1);
	const known = plan && random.chance(0.4) ? plan.scope : random.pick(scopes);
	const scope: Scope = await runtime.timeline.assertKnown(known).then(
		() => known,
		() => ({}),
	);
	const mode = random.chance(0.5) ? "both" : random.pick(rewindModes);
	const previewed = await runtime.previewRewind(target, mode, scope);
	const radius = await blastRadius(runtime, previewed);
	const done = await runtime.applyRewind(previewed, "ada").catch((error: { code?: string }) => {
		if (error.code !== "REWIND_STALE") throw error;
	});
	if (!done) return undefined;
	const { seq, kind } = done;
	const said = { tip, radius, questions: runtime.questions(), isAlone: scope.run !== undefined };
	await quiet(runtime);
	for await (const record of runtime.wal.read({ after: tip }))
		if (record.seq < seq && !["file_changed", "config_settled"].includes(record.kind)) return undefined;
	if (kind !== "reset") return { ...said, mode: kind === "none" ? "cancel" : mode, at: seq };
	for await (const record of runtime.wal.read({ after: seq }))
		if (record.kind === "reset_settled") return { ...said, mode, at: record.seq };
	throw new Error(`the move at #${seq} is not settled`);
}

test.each(Array.from({ length: RUNS }, (_, i) => SEED + i))("history %i", async (seed) => {
	await using project = await makeProject();
	const random = seeded(seed);
	const answers = new Answers();
	const { runtime } = await open(project, { model: answers.model, skills: [skill], askUser: true });
	const config = join(project.state, "config");
	const files = async () => (overSqlite ? {} : (await contentsOf(config)).files);
	await live(runtime, answers, random, config);

	const { tip } = runtime.wal;
	const [before, asked, was] = [await held(runtime, tip), runtime.questions(), await files()];
	const counted = await counting(runtime, tip);
	const moved = await move(runtime, random);
	// Now and then something had not hung yet.
	if (!moved || moved.tip !== tip) return runtime.close();
	const { radius, mode, questions, at, isAlone } = moved;
	expect(radius.before).toEqual({ ...before, questions: asked.length });
	if (mode !== "cancel") expect(radius.after).toEqual({ ...(await held(runtime, at)), questions: questions.length });
	const isOpen = new Set(questions.map(({ seq }) => seq));
	const withdrawn = asked.map(({ seq }) => seq).filter((seq) => !isOpen.has(seq));
	if (mode !== "cancel") expect(radius.withdraws.questions.map(({ seq }) => seq).sort()).toEqual(withdrawn.sort());
	const left = await callsThatLeft(runtime, counted);
	expect(radius.leaves.paid).toMatchObject({ calls: left, tokens: 11 * left });
	const is = await files();
	const other = [...new Set([...Object.keys(was), ...Object.keys(is)])].filter((path) => was[path] !== is[path]);
	expect(radius.config.map(({ path }) => path)).toEqual(other.sort());

	// Who goes on pays what was said, and no more.
	const { relaunches, pauses } = radius;
	const goals = runtime
		.plans()
		.filter(({ plan }) => [...relaunches.plans, ...pauses.plans].includes(plan))
		.map(({ goal }) => goal);
	for (const plan of pauses.plans) await runtime.resumePlan(plan);
	answers.give(1000);
	await until(() => runtime.plans().every(({ goal, status }) => !goals.includes(goal) || status === "completed"));
	const paid = goals.reduce((sum, goal) => sum + (answers.asked.get(goal) ?? 0) - CALLS, 0);
	expect((relaunches.paid?.calls ?? 0) + (pauses.paid?.calls ?? 0)).toBe(paid);
	await runtime.close();

	met.left += left;
	met.alone += isAlone ? 1 : 0;
	met.paidAgain += relaunches.paid?.calls ?? 0;
	met.paused += pauses.paid?.calls ?? 0;
	met.withdrawn += withdrawn.length;
	met.noted += mode === "summarize" ? 1 : 0;
	if ("config" in met) met.config += other.length;
});

/** How many calls of a model have counted, and do not any more. */
async function callsThatLeft({ wal, timeline }: Runtime, counted: ReadonlySet<Seq>): Promise<number> {
	const found: WalRecord[] = [];
	for await (const record of wal.read())
		if (counted.has(record.seq) && !timeline.lineage.isActive(record)) found.push(record);
	return found.filter((each) => stepCompleted.is(each) && each.data.kind === "model").length;
}
