/**
 * A naive reader of a log with plans on lines of history: for each seq it keeps a copy of all that counts there, and works out from that
 * alone how far each plan is, which record may come next, and which call may be paid. It knows no fold, lane, path or recall.
 */
import { laneClosed, laneFailed, stepCompleted, stepFailed } from "@reyn/journal";
import {
	type Decomposition,
	type LimitKind,
	planAborted,
	planAmended,
	planCompleted,
	planPaused,
	planResumed,
	planStarted,
	planStepCompleted,
	planStepExtended,
	planStepFailed,
	planStepStarted,
	planStepsReset,
} from "@reyn/plan";
import { reset, stepLate } from "@reyn/timetravel";
import { type Scope, type Seq, type WalRecord, within } from "@reyn/wal";
import { expect } from "vitest";
import { answerIn, type Fates, factsIn, type Outcome, TOKENS } from "../../../tests/kit/plan-fates.ts";
import { assistantMessage, messageDelivered, userPrompt } from "../src/features/conversation/records.ts";
import { questionAsked } from "../src/features/question/records.ts";

export interface StepNow {
	attempt: number;
	status: "pending" | "running" | "settled";
	extended: Partial<Record<LimitKind, number>>;
	/** Answers of its model that are recorded. */
	turns: number;
	/** Failed tries of the next answer that are recorded. */
	fails: number;
	/** Has it failed by the limit of its plan? */
	isCut: boolean;
}

/** A plan as one copy has it. */
export interface PlanNow {
	readonly plan: string;
	readonly goal: string;
	decomposition: string;
	status: "running" | "paused" | "completed" | "aborted";
	/** A person has paused it. */
	by: "person" | undefined;
	/** The seq of the newest change of a step. */
	since: Seq;
	/** The seq of its end, if it was given up. */
	ended: Seq;
	/** The tokens of all answers in it and in its children, and how often its limit of them was extended. */
	tokens: number;
	extended: number;
	readonly steps: Map<string, StepNow>;
}

/** A run of a skill in a call of a step. */
interface Child {
	readonly run: string;
	readonly of: string;
	readonly parent: string;
	status: "live" | "over" | "ended";
	turns: number;
}

interface Move {
	readonly seq: Seq;
	readonly scope: Scope;
}

export class Copies {
	/** All decompositions by their hashes, and the proposals by their goals. */
	readonly made = new Map<string, Decomposition>();
	readonly #fates: (goal: string) => Fates;
	/** Is all that the children of a call cost on its line? */
	readonly #isExact: boolean;
	/** All records that were ever read, and are still there or were taken away by a collection. */
	#all: WalRecord[] = [];
	/** By seq: all that counts there. */
	#at = new Map<Seq, readonly WalRecord[]>();
	#plans = new Map<string, PlanNow>();
	#outcomes = new Map<string, (id: string) => Outcome>();
	/** The plans that the newest move leaves waiting, which is still to be recorded. */
	readonly #toPause = new Set<string>();
	#past: Move[] = [];
	#future: Move[] = [];
	/** The first record that is still there. */
	first: Seq = 1;
	/** What a person asks for just now: the steps that it leads to, and those that it changes, drops or adds. */
	amending: { readonly plan: string; readonly after: Decomposition; readonly touched: readonly string[] } | undefined;
	/** Answers of models, and their failures, that are recorded of plans and their children, on any line. */
	recorded = 0;

	constructor(fates: (goal: string) => Fates, isExact: boolean) {
		this.#fates = fates;
		this.#isExact = isExact;
	}

	/** All that was ever read, for whoever looks for a fault: the newest last. */
	told(): string {
		return this.#all
			.map(({ seq, kind, scope, data }) => `${seq} ${kind} ${scope.run ?? ""} ${JSON.stringify(data).slice(0, 160)}`)
			.join("\n");
	}

	get tip(): Seq {
		return this.#all.at(-1)?.seq ?? 0;
	}

	/** All that counts now. */
	get line(): readonly WalRecord[] {
		return this.#at.get(this.tip) ?? [];
	}

	get plans(): readonly PlanNow[] {
		return [...this.#plans.values()];
	}

	find(plan: string): PlanNow | undefined {
		return this.#plans.get(plan);
	}

	/** Has every plan been left as the newest move has to leave it? */
	get isSettled(): boolean {
		return this.#toPause.size === 0;
	}

	get moves(): { readonly past: readonly Move[]; readonly future: readonly Move[] } {
		return { past: this.#past, future: this.#future };
	}

	stepsOf({ decomposition }: PlanNow): Decomposition["steps"] {
		return (this.made.get(decomposition) as Decomposition).steps;
	}

	outcomeOf(now: PlanNow, step: string): Outcome {
		const { plan, goal, decomposition } = now;
		const made = this.made.get(decomposition) as Decomposition;
		const known = this.#outcomes.get(plan);
		if (known) return known(step);
		const outcomes = this.#fates(goal).outcomes(
			made,
			(id) => stepIn(now, id).attempt,
			(id) => stepIn(now, id).isCut,
		);
		this.#outcomes.set(plan, outcomes);
		return outcomes(step);
	}

	answerOf(now: PlanNow) {
		return answerIn(this.made.get(now.decomposition) as Decomposition, (id) => this.outcomeOf(now, id));
	}

	/** The seqs of the messages of a plan. */
	messagesOf(plan: string): readonly Seq[] {
		return this.line.flatMap((record) => (isFrom(record, plan) ? [record.seq] : []));
	}

	isDelivered(message: Seq): boolean {
		return this.line.some((record) => messageDelivered.is(record) && record.data.message === message);
	}

	/** The key of a question, and its terms. */
	question(seq: Seq): string {
		const record = this.#all.find((each) => each.seq === seq);
		return record && questionAsked.is(record) ? [record.data.key, record.data.terms ?? []].flat().join("; ") : "";
	}

	/** Another process has read the log, which may have lost its end, and whose beginning may have been taken away. */
	reread(log: readonly WalRecord[]): void {
		this.first = log[0]?.seq ?? this.first;
		const all = [...this.#all.filter(({ seq }) => seq < this.first), ...log];
		this.#all = [];
		this.#at = new Map();
		this.#plans = new Map();
		this.#outcomes.clear();
		this.#toPause.clear();
		this.#past = [];
		this.#future = [];
		this.recorded = 0;
		for (const record of all) this.read(record);
	}

	/** Reads one more record, and checks that it had to come. */
	read(record: WalRecord): void {
		const { seq } = record;
		const before = this.line;
		this.#move(record);
		if (!reset.is(record)) this.#check(record);
		this.#all.push(record);
		if (isOfModel(record) || (stepLate.is(record) && isOfModel(record.data))) this.recorded++;
		if (!reset.is(record)) {
			this.#at.set(seq, [...before, record]);
			follow(this.#plans, record);
			this.#outcomes.clear();
			return;
		}
		const isCovered = (each: WalRecord): boolean =>
			within(each.scope, record.scope) &&
			!/^(wal_|fact_)|^(checkpoint|reset|reset_settled|label|step_late)$/.test(each.kind);
		const then = this.#at.get(record.data.target) ?? [];
		const line = [...before.filter((each) => !isCovered(each)), ...then.filter(isCovered)].sort(
			(a, b) => a.seq - b.seq,
		);
		this.#at.set(seq, [...line, record]);
		const left = this.#plans;
		this.#plans = new Map();
		for (const each of line) follow(this.#plans, each);
		this.#outcomes.clear();
		this.#settle(left, record);
	}

	/** Plans that were led alone to where they had their answer, which was taken back with their session. */
	readonly untold = new Set<string>();

	/** What was in flight there, and is not now, waits for a person; but a pause alone is taken back, and a redo of a plan is exact. */
	#settle(left: ReadonlyMap<string, PlanNow>, { scope, data }: WalRecord): void {
		this.#toPause.clear();
		this.untold.clear();
		for (const now of this.#plans.values()) {
			const { plan, status, since } = now;
			if (status === "completed" && !this.#isTold(now)) this.untold.add(plan);
			if (status !== "running" || !within({ ...main, run: plan }, scope)) continue;
			const was = left.get(plan);
			const isBack = was?.status === "paused" && was.by === "person" && since >= was.since;
			const isRedo = was !== undefined && scope.run !== undefined && (data as { redoes?: Seq }).redoes !== undefined;
			if (was?.status !== "running" && !isBack && !isRedo) this.#toPause.add(plan);
		}
	}

	/** Both stacks of a person's moves. */
	#move(record: WalRecord): void {
		const { seq, scope, kind } = record;
		const { by, undoes, redoes, target } = record.data as { by?: string; undoes?: Seq; redoes?: Seq; target?: Seq };
		if (userPrompt.is(record) && this.#future.some((move) => within(scope, move.scope))) this.#future = [];
		if (!reset.is(record) && !(kind.startsWith("plan_") && by === "person")) return;
		const move = { seq, scope };
		const [from, to] = undoes === undefined ? [this.#future, this.#past] : [this.#past, this.#future];
		const back = undoes ?? redoes;
		if (back === undefined) this.#future = [];
		else {
			const known = from.pop();
			// What is cut away cannot be taken back any more.
			expect([known, target], `${kind} at ${seq}`).toEqual([{ seq: back, scope }, back - 1]);
		}
		to.push(move);
	}

	#check(record: WalRecord): void {
		const where = `${record.kind} at ${record.seq}`;
		if (planStarted.is(record)) {
			const { plan, goal, decomposition } = record.data;
			expect(this.#plans.get(plan), where).toBeUndefined();
			this.made.set(decomposition, this.made.get(goal) as Decomposition);
			return;
		}
		if (assistantMessage.is(record)) this.#told(record, where);
		if (laneClosed.is(record)) this.#closed(record.data.lane, where);
		if (!record.kind.startsWith("plan_")) return;
		const { plan, step = "" } = record.data as { plan: string; step?: string };
		const now = this.#plans.get(plan) as PlanNow;
		expect(now, where).toBeDefined();
		if (planPaused.is(record) && record.data.why === undefined) {
			expect(this.#toPause.delete(plan), `${where}: nothing leaves ${plan} waiting`).toBe(true);
			return;
		}
		expect(this.#toPause.has(plan), `${where}: ${plan} has to wait`).toBe(false);
		if (planStepsReset.is(record)) expect(now.status, where).not.toBe("aborted");
		else if (planCompleted.is(record))
			expect([now.status, this.#unsettled(now), this.#isTold(now)], where).toEqual(["running", [], true]);
		else expect(now.status, where).toMatch(/^(running|paused)$/);
		const of = stepIn(now, step);
		if (planAmended.is(record)) this.#amended(record.data.decomposition, now, where);
		else if (planStepStarted.is(record)) {
			const needs = this.stepsOf(now).find(({ id }) => id === step)?.depends_on ?? ["it is none"];
			const open = needs.filter((id) => stepIn(now, id).status !== "settled");
			expect([now.status, of.status, record.data.attempt, open], where).toEqual(["running", "pending", of.attempt, []]);
		} else if (planStepExtended.is(record)) {
			if (record.data.limit !== "plan_tokens") expect(of.status, where).toBe("running");
			else
				expect([this.#isSpent(now), this.#decided(now)], where).toEqual([true, expect.stringMatching(/extend|pause/)]);
		} else if (planStepFailed.is(record) && CUT.test(record.data.reason))
			expect([of.status, this.#isSpent(now), this.#decided(now)], where).toEqual(["running", true, "fail"]);
		else if (planStepCompleted.is(record) || planStepFailed.is(record)) this.#ended(record, now, where);
	}

	/** What a step, or a plan, has begun ends with it. */
	#closed(lane: string, where: string): void {
		const [root, plan = ""] = lane.split("/");
		const below = root === "plan" ? this.childrenOf(plan).filter(({ parent }) => parent.startsWith(`${lane}/`)) : [];
		expect(
			below.filter(({ status }) => status === "live"),
			`${where} of ${lane}`,
		).toEqual([]);
	}

	/** The steps of a plan whose children are open. */
	parentsOf(plan: string): readonly string[] {
		const open = this.childrenOf(plan).filter(({ status }) => status === "live");
		return open.map(({ parent }) => parent.split("/")[2] ?? "");
	}

	/** The children that are open, and whose step is over, or runs anew. */
	get orphans(): readonly string[] {
		return this.plans.flatMap((now) =>
			this.childrenOf(now.plan).flatMap(({ run, parent, status }) => {
				const [, , id = "", of] = parent.split("/");
				const { attempt, status: step } = stepIn(now, id);
				const isOver = attempt > Number(of) || (attempt === Number(of) && step === "settled");
				return status === "live" && isOver ? [run] : [];
			}),
		);
	}

	/** Has a plan come to its limit of tokens? */
	#isSpent({ goal, tokens, extended }: PlanNow): boolean {
		const { planTokens = Number.POSITIVE_INFINITY } = this.#fates(goal).limits;
		return tokens >= planTokens * (1 + extended);
	}

	#decided(now: PlanNow): string {
		return this.#fates(now.goal).decisionOfPlan(againIn(now), now.extended);
	}

	/** What is over or under way stays as it is. */
	#amended(hash: string, now: PlanNow, where: string): void {
		if (this.made.has(hash)) return;
		const { plan, after, touched } = this.amending ?? {};
		const begun = touched?.filter((id) => stepIn(now, id).status !== "pending");
		expect([plan, begun], where).toEqual([now.plan, []]);
		this.made.set(hash, after as Decomposition);
	}

	#ended({ kind, data }: WalRecord, now: PlanNow, where: string): void {
		const { step, result, cost } = data as { step: string; result?: string; cost: { calls: number } };
		const outcome = this.outcomeOf(now, step);
		expect([stepIn(now, step).status, kind], `${where} of ${step}: ${JSON.stringify(data)}`).toEqual([
			...["running", `plan_step_${outcome.kind}`],
		]);
		if (outcome.kind === "failed") return;
		if (result !== undefined) expect(result, where).toBe(outcome.text);
		else expect(outcome.text.length, where).toBeGreaterThan(900);
		const calls = outcome.calls + outcome.children;
		if (this.#isExact) expect(cost.calls, where).toBe(calls);
		else expect(cost.calls, where).toBeGreaterThanOrEqual(outcome.calls);
	}

	/** The answer of a plan is told once for the steps that it is of, the notice of its end once. */
	#told({ seq, data }: WalRecord, where: string): void {
		const { from, text } = data as { from?: { kind: string; id: string }; text: string };
		if (from?.kind !== "plan") return;
		const now = this.#plans.get(from.id) as PlanNow;
		expect([now === undefined, this.#toPause.has(from.id)], where).toEqual([false, false]);
		if (now.status === "aborted") {
			const after = this.messagesOf(from.id).filter((each) => each > now.ended && each < seq);
			expect([after, text], where).toEqual([[], expect.stringContaining(`Plan ${from.id} was discarded`)]);
			return;
		}
		expect([this.#isTold(now), this.#unsettled(now)], where).toEqual([false, []]);
		const answer = this.answerOf(now);
		if (answer.kind === "text")
			expect(answer.text.startsWith(text.slice(0, 200)), `${where}: ${text.slice(0, 80)}`).toBe(true);
		else {
			expect(text, where).toMatch(/^This plan has no answer: its last step, /);
			const found = factsIn(text.slice(text.indexOf("have found:")));
			// Of a large text the record has the beginning.
			const isWhole = (data as { spilled?: unknown }).spilled === undefined;
			expect(found, where).toEqual(isWhole ? answer.found : answer.found.slice(0, found.length));
		}
	}

	#isTold({ plan, since }: PlanNow): boolean {
		return this.messagesOf(plan).some((seq) => seq > since);
	}

	#unsettled(now: PlanNow): readonly string[] {
		return this.stepsOf(now).flatMap(({ id }) => (stepIn(now, id).status === "settled" ? [] : [id]));
	}

	/** Checks that a step may be asked for this answer: it runs, and the answer is not recorded. */
	asks(goal: string, step: string, turn: number): { readonly now: PlanNow; readonly of: StepNow } {
		const now = this.plans.find((each) => each.goal === goal);
		const of = now && stepIn(now, step);
		const where = `${goal} ${step} is asked for answer ${turn} at ${this.tip}`;
		expect([now?.status, of?.status, of?.turns], where).toEqual([
			...[expect.stringMatching(/^(running|paused)$/), "running", turn],
		]);
		// Of a call that was let pass before, each other step may have got its answer since.
		const { limits } = this.#fates(goal);
		const others = { tokens: (now as PlanNow).tokens - TOKENS * (limits.concurrency - 1) };
		if (of?.fails === 0) expect(this.#isSpent({ ...(now as PlanNow), ...others }), where).toBe(false);
		return { now: now as PlanNow, of: of as StepNow };
	}

	/** Checks that a child may be asked for its answer `part`, from 0: it is the only one that is open of its call, and it has no such answer. */
	asksChild(plan: string, of: string, part: number): void {
		const children = this.childrenOf(plan).filter((child) => child.of === of);
		const live = children.filter(({ status }) => status === "live");
		const where = `the child of ${plan} ${of} is asked for answer ${part} at ${this.tip}`;
		expect([live.map(({ turns }) => turns), children.some(({ status }) => status === "over")], where).toEqual([
			[part],
			false,
		]);
	}

	/** The children of a plan's calls. One call has an open one at most. */
	childrenOf(plan: string): readonly Child[] {
		const children: Child[] = [];
		for (const { kind, data } of this.line) {
			const { run, input, parent = "", lane = "" } = data as Record<string, string> & { input?: { of: string } };
			if (kind === "skill_run_started" && parent.startsWith(`plan/${plan}/`))
				children.push({
					run: run as string,
					of: (input as unknown as { of: string }).of,
					parent,
					status: "live",
					turns: 0,
				});
			const child = children.find((each) => each.run === run || lane.startsWith(`${each.parent}/skill/${each.run}/`));
			if (!child) continue;
			if (kind === "skill_run_completed") child.status = "over";
			if (kind === "skill_run_discarded") child.status = (data as { by?: string }).by === "parent" ? "ended" : "over";
			if (kind === "step_completed" && (data as { kind: string }).kind === "model") child.turns++;
		}
		for (const calls of Map.groupBy(children, ({ parent }) => parent).values()) {
			const open = calls.filter(({ status }) => status !== "ended");
			expect(open.length, `children of ${calls[0]?.parent}`).toBeLessThanOrEqual(1);
		}
		return children;
	}
}

/** The session of all that happens. */
export const main: Scope = { agent: "default", session: "main" };

export const pending = (attempt: number): StepNow => ({
	...{ attempt, status: "pending", extended: {}, turns: 0, fails: 0, isCut: false },
});

export function stepIn({ steps }: PlanNow, id: string): StepNow {
	const now = steps.get(id) ?? pending(0);
	steps.set(id, now);
	return now;
}

const isFrom = (record: WalRecord, plan: string): boolean => {
	const { from } = record.data as { from?: { kind: string; id: string } };
	return assistantMessage.is(record) && from?.kind === "plan" && from.id === plan;
};

/** The outcome of a model call in a plan, that was paid where it is recorded first. */
function isOfModel({ kind, data }: { readonly kind: string; readonly data: unknown }): boolean {
	if (kind !== stepCompleted.kind && kind !== stepFailed.kind) return false;
	const { kind: of, lane, adopts } = data as { kind: string; lane: string; adopts?: Seq };
	return of === "model" && lane.startsWith("plan/") && adopts === undefined;
}

/** Why a step fails whose plan has come to its limit. */
const CUT = /^the plan has used \d+ tokens of \d+/;

/** How often steps of a plan have run again. */
export const againIn = ({ steps }: PlanNow): number =>
	[...steps.values()].reduce((sum, { attempt }) => sum + attempt, 0);

/** What a record does to the plans of a copy. */
function follow(plans: Map<string, PlanNow>, record: WalRecord): void {
	const { seq, kind, data } = record;
	if (planStarted.is(record)) {
		const { plan, goal, decomposition } = record.data;
		const begun = { status: "running", by: undefined, since: seq, ended: 0, tokens: 0, extended: 0 } as const;
		plans.set(plan, { plan, goal, decomposition, ...begun, steps: new Map() });
		return;
	}
	if (stepCompleted.is(record) || stepFailed.is(record) || laneFailed.is(record)) {
		const [root, plan = "", step = "", attempt, ...below] = record.data.lane.split("/");
		const now = root === "plan" ? plans.get(plan) : undefined;
		if (now && stepCompleted.is(record) && record.data.kind === "model" && /^(running|paused)$/.test(now.status)) {
			const { inputTokens = 0, outputTokens = 0 } = record.data.usage ?? {};
			now.tokens += inputTokens + outputTokens;
		}
		if (!now || below.length > 0) return;
		const of = stepIn(now, step);
		if (of.attempt !== Number(attempt) || of.status !== "running") return;
		if (laneFailed.is(record)) now.since = seq;
		else if (record.data.kind !== "model") return;
		else if (stepFailed.is(record)) of.fails++;
		else Object.assign(of, { turns: of.turns + 1, fails: 0 });
		return;
	}
	if (!kind.startsWith("plan_")) return;
	const now = plans.get((data as { plan: string }).plan);
	if (!now) return;
	const step = stepIn(now, (data as { step?: string }).step ?? "");
	if (planAmended.is(record)) now.decomposition = record.data.decomposition;
	else if (planPaused.is(record)) Object.assign(now, { status: "paused", by: record.data.by });
	else if (planResumed.is(record)) Object.assign(now, { status: "running", by: undefined });
	else if (planAborted.is(record)) Object.assign(now, { status: "aborted", by: undefined, ended: seq });
	else if (planCompleted.is(record)) Object.assign(now, { status: "completed", by: undefined });
	else if (planStepExtended.is(record) && record.data.limit === "plan_tokens") now.extended++;
	else {
		now.since = seq;
		if (planStepStarted.is(record)) step.status = "running";
		else if (planStepExtended.is(record)) {
			const { limit } = record.data;
			step.extended = { ...step.extended, [limit]: (step.extended[limit] ?? 0) + 1 };
		} else if (planStepsReset.is(record)) {
			for (const id of record.data.steps) {
				const { attempt, status } = stepIn(now, id);
				// One that has not begun has nothing to run again.
				now.steps.set(id, pending(status === "pending" ? attempt : attempt + 1));
			}
			Object.assign(now, { status: "running", by: undefined });
		} else {
			step.status = "settled";
			if (planStepFailed.is(record) && CUT.test(record.data.reason)) step.isCut = true;
		}
	}
	now.steps.delete("");
}
