/**
 * Sessions, plans and skill runs that work all at once, and rewinds at moments that nobody chose: each is one record that moves
 * all it covers, and nothing else. `REYN_RUNS` sets how many storms there are (default 6), `REYN_SEED` the first one's seed.
 */
import type { Model, Tool } from "@reyn/journal";
import { PLAN_TOOL, planRuns, plansOf } from "@reyn/plan";
import { defineSkill, done, next, skillRuns, skillRunsOf } from "@reyn/skill-resume";
import type { View } from "@reyn/snapshot";
import { reset, stepLate } from "@reyn/timetravel";
import { isMeta } from "@reyn/timetravel/internal";
import { type Scope, type Seq, scopeKey, type WalRecord, within } from "@reyn/wal";
import { expect, test } from "vitest";
import { z } from "zod";
import { type Random, SEED, seeded } from "../../../tests/kit/seeded.ts";
import { sample } from "../../../tests/sample.ts";
import { conversation, mainSession, type Runtime, type RuntimeEvent, type SessionScope } from "../src/index.ts";
import { lastOf, makeProject, open } from "./project.ts";

const RUNS = Number(process.env.REYN_RUNS ?? sample(2, 6));

const sessions: readonly SessionScope[] = [
	mainSession,
	{ agent: "default", session: "side" },
	{ agent: "bob", session: "main" },
];
const scopes: readonly Scope[] = [{}, {}, ...sessions, { agent: "default" }];

test.each(Array.from({ length: RUNS }, (_, i) => SEED + i))("storm %i", async (seed) => {
	await using project = await makeProject();
	const storm = new Storm(seed);
	const { model, tools, skill } = storm;
	const { runtime } = await open(project, { model, tools, skills: [skill], onEvent: (event) => storm.hear(event) });
	for (let round = 0; round < 4; round++) {
		const asked = storm.ask(runtime);
		await storm.pause();
		await storm.rewind(runtime);
		await Promise.all(asked);
	}
	await runtime.idle();
	await checkLive(runtime);
	await runtime.close();
	// The next process goes on from the same states, and brings all that is to go on to its end.
	const again = await open(project, { model, tools, skills: [skill] });
	await checkLive(again.runtime);
	again.runtime.resume();
	await again.runtime.idle();
	const { turns, plans, runs, undelivered } = again.runtime.restored();
	expect([turns, undelivered]).toEqual([[], []]);
	for (const { status } of [...plans, ...runs]) expect(status).toBe("paused");
	await checkLog(again.runtime, storm);
	await again.runtime.close();
});

/** Numbers by a seed, a model and tools that take their time by them, and a ledger of what was really done. */
class Storm {
	readonly #random: Random;
	/** By idempotency key, how often its effect has happened. */
	readonly effects = new Map<string, number>();
	/** The scopes of what a rewind has stopped. */
	readonly #stopped: Scope[] = [];
	readonly tools: readonly Tool[];
	readonly model: Model;
	readonly skill: ReturnType<typeof defineSkill<unknown>>;

	constructor(seed: number) {
		this.#random = seeded(seed);
		this.tools = [
			{
				name: "pay",
				description: "pays",
				parameters: { type: "object" },
				purity: "side_effect",
				call: (_, { signal, idempotencyKey }) => this.#pay(idempotencyKey, signal),
			},
		];
		const answer = (last: string): string | { name: string; args: unknown } => {
			if (last.startsWith("plan")) return { name: PLAN_TOOL, args: plan };
			if (/^Goal/.test(last) && /pay it/.test(last.split("Step").at(-1) ?? ""))
				return { name: "pay", args: { for: last.length } };
			return `echo: ${last.slice(0, 20)}`;
		};
		const wait = (signal: AbortSignal): Promise<void> => this.#wait(signal);
		this.model = {
			id: "storm",
			async *generate(request, { signal }) {
				await wait(signal);
				const said = answer(lastOf(request));
				if (typeof said === "string") yield { type: "text", text: said };
				else yield { type: "toolCall", call: { id: `${request.messages.length}`, ...said } };
				yield { type: "usage", usage: { inputTokens: 10, outputTokens: 1 } };
			},
		};
		this.skill = defineSkill({
			name: "chore",
			description: "pays twice",
			input: z.unknown(),
			start: "first",
			phases: {
				first: async ({ step }) => {
					await step("pay", ({ signal, idempotencyKey }) => this.#pay(idempotencyKey, signal), { purity: "external" });
					return next("second", 1);
				},
				second: async ({ step }) =>
					done(
						await step("pay", ({ signal, idempotencyKey }) => this.#pay(idempotencyKey, signal), {
							purity: "external",
						}),
					),
			},
		});
	}

	hear(event: RuntimeEvent): void {
		if (!("outcome" in event) || !("reason" in event) || event.reason !== "a rewind is under way") return;
		const run = event.type === "plan_end" ? event.plan : event.type === "skill_end" ? event.run : undefined;
		this.#stopped.push({ ...event.scope, ...(run === undefined ? {} : { run }) });
	}

	/** Things to do for all sessions; some of them come while a rewind is under way. */
	ask(runtime: Runtime): Promise<unknown>[] {
		return sessions.flatMap((session): Promise<unknown>[] => {
			const what = this.#random.below(4);
			if (what === 0) return [runtime.runSkill("chore", {})];
			if (what === 1) return [runtime.prompt(`hello ${this.#random.below(100)}`, session)];
			return [runtime.prompt("plan", session), runtime.prompt(`hello ${this.#random.below(100)}`, session)];
		});
	}

	pause(): Promise<void> {
		return new Promise((resolve) => setTimeout(resolve, this.#random.below(60)));
	}

	/** To any seq in any scope, or back, or there again; what is stopped for it lies in that scope. */
	async rewind(runtime: Runtime): Promise<void> {
		const { tip } = runtime.wal;
		this.#stopped.length = 0;
		try {
			const { seq } = await this.#move(runtime, this.#random.below(8));
			const record = await runtime.timeline.record(seq);
			if (record && seq > tip) for (const scope of this.#stopped) expect(within(scope, record.scope)).toBe(true);
		} catch (error) {
			// A plan may end by itself before it is discarded.
			const expected = ["NOTHING_TO_UNDO", "NOTHING_TO_REDO", "PLAN_UNKNOWN"];
			if (!expected.includes((error as { code: string }).code)) throw error;
		}
		await checkLive(runtime);
	}

	async #move(runtime: Runtime, what: number): Promise<{ readonly seq: Seq }> {
		const { tip } = runtime.wal;
		if (what === 0) return runtime.redo("storm");
		if (what === 1) return runtime.undo("storm");
		const [unfinished] = runtime.restored().plans;
		if (what === 2 && unfinished) {
			await runtime.discardPlan(unfinished.plan);
			return runtime.undo("storm");
		}
		const seq = Math.max(0, tip - this.#random.below(this.#random.below(2) === 0 ? 12 : tip));
		const scope = this.#random.pick(scopes);
		// Of a session in which nothing was done yet there is nothing to move.
		const known = await runtime.timeline.assertKnown(scope).then(
			() => scope,
			() => ({}),
		);
		return runtime.checkout(seq, "storm", known);
	}

	/** Some hear that they are cancelled, and have done nothing then; others finish what they began. */
	async #pay(key: string | undefined, signal: AbortSignal): Promise<string> {
		if (this.#random.below(2) === 0) await this.#wait(signal);
		else await this.#wait();
		this.effects.set(`${key}`, (this.effects.get(`${key}`) ?? 0) + 1);
		return `receipt ${key}`;
	}

	async #wait(signal?: AbortSignal): Promise<void> {
		for (let turns = this.#random.below(12); turns > 0; turns--) {
			await new Promise((resolve) => setImmediate(resolve));
			signal?.throwIfAborted();
		}
	}
}

const plan = {
	goal: "pay",
	steps: [
		{ id: "a", description: "pay it", tools: ["pay"], depends_on: [] },
		{ id: "b", description: "pay it too", tools: ["pay"], depends_on: [] },
		{ id: "c", description: "say so", tools: [], depends_on: ["a", "b"] },
	],
};

/** What is in memory is what a restart would make of the log. */
async function checkLive(runtime: Runtime): Promise<void> {
	for (const scope of runtime.sessions()) {
		// Work goes on: what is compared is the state of one moment.
		const { tip } = runtime.wal;
		const hash = runtime.view(scope).hash();
		expect((await runtime.timeline.at(tip, scope)).hash()).toBe(hash);
	}
}

/** All that the log has to say of what its rewinds did. */
async function checkLog({ wal, timeline }: Runtime, { effects }: Storm): Promise<void> {
	const records: WalRecord[] = [];
	for await (const record of wal.read()) records.push(record);
	const { lineage } = timeline;
	const resets = records.filter(reset.is);

	// An outcome that is known anywhere is known everywhere: nothing is paid twice.
	expect([...effects].filter(([, times]) => times > 1)).toEqual([]);

	for (const { seq, scope, data } of resets) {
		const settled = records.find(
			(each) => each.kind === "reset_settled" && (each.data as { reset: Seq }).reset === seq,
		);
		for (const session of sessions) {
			const at = (seq: Seq) => timeline.at(seq, session);
			const [before, after, target] = [await at(seq - 1), await at(seq), await at(data.target)];
			if (scope.run !== undefined && within(scope, session)) {
				const plansIn = (view: View) => Object.fromEntries(plansOf(view.get(planRuns)));
				const { [scope.run]: moved, ...others } = plansIn(after);
				expect(moved).toEqual(plansIn(target)[scope.run]);
				expect({ ...others, [scope.run]: undefined }).toEqual({ ...plansIn(before), [scope.run]: undefined });
				expect(after.get(conversation).open).toEqual(before.get(conversation).open);
				continue;
			}
			// One record moves all that it covers, and nothing else.
			expect(after.hash()).toBe((within(session, scope) ? target : before).hash());
			if (!within(session, scope)) continue;
			const then = await at(settled?.seq ?? wal.tip);
			expect(then.get(conversation).open).toEqual([]);
			const [was, is] = [statusesOf(before), statusesOf(then)];
			for (const [id, status] of statusesOf(target))
				if (status === "running") expect(is.get(id), id).toBe(was.get(id) === "running" ? "running" : "paused");
		}
	}

	const once = new Set<string>();
	for (const { seq, kind, scope, data } of records) {
		if (isMeta(kind)) continue;
		const { run, ...session } = scope;
		const path = lineage.path(seq, session);
		const about = data as { turn?: Seq; lane?: string; plan?: string; step?: string };
		// Nobody writes on a line of history of which the beginning of the work is no part.
		const turn = about.turn ?? (about.lane?.startsWith("turn/") ? Number(about.lane.slice(5)) : undefined);
		if (turn !== undefined) expect(path.has({ seq: turn, scope: session, kind: "user_prompt" })).toBe(true);
		const started = records.find(
			(each) => each.scope.run === run && ["plan_started", "skill_run_started"].includes(each.kind) && path.has(each),
		);
		if (run !== undefined) expect(started, `${kind} at ${seq}`).toBeDefined();
		// What a rewind closes or pauses is its own.
		if (kind === "plan_paused" || kind === "skill_run_paused" || (kind === "turn_interrupted" && "reason" in about)) {
			const cause = resets.findLast((each) => each.seq < seq && within(scope, each.scope));
			expect(cause, `${kind} at ${seq}`).toBeDefined();
		}
		// On one line of history a unit of work is over once.
		if (!lineage.isActive({ seq, kind, scope })) continue;
		if (["turn_completed", "plan_step_completed", "plan_completed", "skill_run_completed"].includes(kind)) {
			const unit = `${scopeKey(scope)} ${kind} ${about.turn ?? about.step ?? ""}`;
			expect(once.has(unit), `${unit} at ${seq}`).toBe(false);
			once.add(unit);
		}
	}
	expect(records.filter(stepLate.is)).toEqual([]);
}

/** Of plans and skill runs. */
const statusesOf = (view: View): ReadonlyMap<string, string> =>
	new Map(
		[...plansOf(view.get(planRuns)), ...skillRunsOf(view.get(skillRuns))].map(
			([id, { status }]) => [id, status] as const,
		),
	);
