/**
 * The world of random plans: a model and tools whose answers follow from a seed, and a naive reader of the log that copies all that a
 * person has said and works out from that alone what each step must come to. It knows nothing of the fold, of lanes or of recall.
 */
import {
	type Model,
	type ModelPart,
	type ModelRequest,
	stepCompleted,
	stepFailed,
	type Tool,
	type ToolCall,
} from "@reyn/journal";
import type { WalRecord } from "@reyn/wal";
import { expect } from "vitest";
import {
	answerIn,
	type FatedAnswer,
	Fates,
	factsIn,
	marked,
	type Outcome,
	TOKENS,
	textOf,
} from "../../../tests/kit/plan-fates.ts";
import {
	type AtLimit,
	type Decomposition,
	type LimitKind,
	type PlanLimits,
	type PlanStep,
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
	type StepLimit,
} from "../src/index.ts";
import { failing, PauselessTime, promptOf, stepIn, told } from "./plan-process.ts";

type Extended = Partial<Record<LimitKind, number>>;

/** What is recorded of a step in its attempt. */
interface StepNow {
	attempt: number;
	status: "pending" | "running" | "settled";
	extended: Extended;
	/** Answers that are recorded. */
	turns: number;
	/** Failed tries of the next answer that are recorded. */
	fails: number;
}

const INITIAL = 100_000_000;

/** Time that is over when somebody waits for it, but for the time of a step, which passes when its model hangs. */
export class StepTime extends PauselessTime {
	readonly #limits = new Set<() => void>();

	override after(ms: number, run: () => void): () => void {
		if (ms < INITIAL / 10) return super.after(ms, run);
		const over = (): void => {
			this.#limits.delete(over);
			this.pass(ms);
			run();
		};
		this.#limits.add(over);
		return () => void this.#limits.delete(over);
	}

	/** The time of the step is over. */
	end(): void {
		for (const over of [...this.#limits]) over();
	}
}

/** The time of a step, in seconds: no pause between two tries comes near it. */
export const STEP_SECONDS = INITIAL / 1000;

/** A plan as the log tells it so far, by a reader that copies everything. */
export class World {
	readonly limits: PlanLimits;
	readonly #fates: Fates;
	/** All decompositions by their names, as they lie beside the log. */
	readonly made: Map<string, Decomposition>;
	readonly time = new StepTime();
	readonly model: Model;
	readonly tools: readonly Tool[];
	/** How often each effect was made, by its key. */
	readonly effects = new Map<string, number>();
	/** Is told of each model call, before it is answered. */
	onCall: (calls: number) => void = () => {};
	/** The calls that were paid, those cut by the time of their step, and the outcomes that are recorded, over all lives. */
	readonly counts = { paid: 0, hung: 0, recorded: 0 };
	/** The limits that were left for later, and the answers to them that have come. */
	readonly later = { asked: new Set<string>(), answered: new Set<string>() };

	/** All records that were ever read, and are still there or were taken away by a collection. */
	#records: WalRecord[] = [];
	#decomposition = "";
	#steps = new Map<string, StepNow>();
	#outcomes: ((id: string) => Outcome) | undefined;
	status: "none" | "running" | "paused" | "completed" | "aborted" = "none";
	/** Has this outcome been told already? */
	isTold = false;
	answers = 0;

	constructor(seed: number, limits: PlanLimits, made: Map<string, Decomposition>) {
		this.#fates = new Fates(seed, limits);
		this.limits = limits;
		this.made = made;
		this.model = { id: "world", generate: (request, { signal }) => this.#generate(request, signal) };
		this.tools = [this.#look(), this.#send()];
	}

	get records(): readonly WalRecord[] {
		return this.#records;
	}

	get decomposition(): Decomposition {
		return this.made.get(this.#decomposition) as Decomposition;
	}

	/** Another process has read the log, which may have lost its end, and whose beginning may have been taken away. */
	reread(log: readonly WalRecord[]): void {
		const first = log[0]?.seq ?? Number.POSITIVE_INFINITY;
		const all = [...this.#records.filter(({ seq }) => seq < first), ...log];
		this.#records = [];
		this.#steps = new Map();
		this.#outcomes = undefined;
		this.status = "none";
		this.isTold = false;
		this.answers = 0;
		this.counts.recorded = 0;
		for (const record of all) this.see(record);
	}

	/** Hears a record, and checks that it had to come. */
	see(record: WalRecord): void {
		this.#records.push(record);
		const where = `${record.kind} at ${record.seq}`;
		if (planStarted.is(record)) {
			expect(this.status, where).toBe("none");
			this.#decomposition = record.data.decomposition;
			this.status = "running";
		} else if (planAmended.is(record)) {
			this.#decomposition = record.data.decomposition;
			this.#outcomes = undefined;
		} else if (planStepsReset.is(record)) {
			for (const step of record.data.steps) {
				const { attempt, status } = this.now(step);
				// One that has not begun has nothing to run again.
				this.#steps.set(step, pending(status === "pending" ? attempt : attempt + 1));
			}
			this.#outcomes = undefined;
			this.isTold = false;
			this.status = "running";
		} else if (planPaused.is(record)) this.status = "paused";
		else if (planResumed.is(record)) this.status = "running";
		else if (planAborted.is(record)) this.status = "aborted";
		else if (planStepStarted.is(record)) this.#begun(record, where);
		else if (planStepExtended.is(record)) {
			const { extended } = this.now(record.data.step);
			extended[record.data.limit] = (extended[record.data.limit] ?? 0) + 1;
		} else if (planStepCompleted.is(record) || planStepFailed.is(record)) this.#ended(record, where);
		else if (told.is(record)) this.#answered(record.data.text, where);
		else if (planCompleted.is(record)) {
			expect([this.status === "aborted", this.isTold, this.isSettled], where).toEqual([false, true, true]);
			this.status = "completed";
		} else if (stepCompleted.is(record) || stepFailed.is(record)) {
			const { kind, lane } = record.data;
			const [, , step = "", attempt] = lane.split("/");
			if (kind !== "model") return;
			this.counts.recorded++;
			const now = this.now(step);
			expect(Number(attempt), where).toBe(now.attempt);
			if (stepFailed.is(record)) now.fails++;
			else Object.assign(now, { turns: now.turns + 1, fails: 0 });
		}
	}

	now(step: string): StepNow {
		const now = this.#steps.get(step) ?? pending(0);
		this.#steps.set(step, now);
		return now;
	}

	get settled(): number {
		return this.decomposition.steps.filter(({ id }) => this.now(id).status === "settled").length;
	}

	get isSettled(): boolean {
		return this.settled === this.decomposition.steps.length;
	}

	get pending(): readonly string[] {
		return this.decomposition.steps.map(({ id }) => id).filter((id) => this.now(id).status === "pending");
	}

	/** What was decided of a limit, whoever asks; `later`: of what nobody has said anything yet. */
	atLimit = async ({ step, attempt, limit, extended }: StepLimit): Promise<AtLimit | "later"> => {
		expect(extended, `${step} at its limit of ${limit}`).toBe(this.now(step).extended[limit] ?? 0);
		const key = `${step} ${attempt} ${limit} ${extended}`;
		const { decision, isLater } = this.#fates.decision(step, attempt, limit, extended);
		if (!isLater || this.later.answered.has(key)) return decision;
		this.later.asked.add(key);
		return "later";
	};

	/** The questions that were left are answered. */
	answer(): void {
		for (const key of this.later.asked) this.later.answered.add(key);
		this.later.asked.clear();
	}

	/** What the whole comes to. */
	answerText(): FatedAnswer {
		return answerIn(this.decomposition, (id) => this.outcome(id));
	}

	outcome(id: string): Outcome {
		this.#outcomes ??= this.#fates.outcomes(this.decomposition, (step) => this.now(step).attempt);
		return this.#outcomes(id);
	}

	/** The ids of the steps that rest on one, itself included. */
	restOn(from: string): readonly string[] {
		const { steps } = this.decomposition;
		const rests = (id: string): boolean =>
			id === from || (steps.find((step) => step.id === id)?.depends_on ?? []).some(rests);
		return steps.map(({ id }) => id).filter(rests);
	}

	#begun({ data }: { readonly data: { step: string; attempt: number } }, where: string): void {
		const now = this.now(data.step);
		const step = this.decomposition.steps.find(({ id }) => id === data.step);
		const needs = step?.depends_on.map((id) => this.now(id).status);
		expect([this.status, now.status, data.attempt, new Set(needs).has("pending")], where).toEqual([
			...["running", "pending", now.attempt, false],
		]);
		expect(needs?.includes("running"), where).toBe(false);
		now.status = "running";
	}

	#ended(record: WalRecord, where: string): void {
		const { step, result, cost } = record.data as { step: string; result?: string; cost: { calls: number } };
		const now = this.now(step);
		const outcome = this.outcome(step);
		expect([this.status === "aborted", now.status, planStepCompleted.is(record)], `${where} of ${step}`).toEqual([
			...[false, "running", outcome.kind === "completed"],
		]);
		if (outcome.kind === "completed") {
			if (result !== undefined) expect(result, where).toBe(outcome.text);
			else expect(outcome.text.length, where).toBeGreaterThan(900);
			expect(cost.calls, where).toBe(outcome.calls);
		}
		now.status = "settled";
	}

	#answered(text: string, where: string): void {
		expect([this.status === "aborted", this.isTold, this.isSettled], where).toEqual([false, false, true]);
		const answer = this.answerText();
		if (answer.kind === "text") expect(text, where).toBe(answer.text);
		else {
			expect(text, where).toMatch(/^This plan has no answer: its last step, /);
			expect(factsIn(text.slice(text.indexOf("have found:"))), where).toEqual(answer.found);
		}
		this.isTold = true;
		this.answers++;
	}

	/** Answers as the step goes, and checks that it may be asked: it runs, and this answer is not recorded. */
	async *#generate(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelPart> {
		const id = stepIn(request);
		const now = this.now(id);
		const turn = request.messages.filter(({ role }) => role === "assistant").length;
		const isOver = this.status === "aborted" || this.status === "completed";
		expect([isOver, now.status, turn], `${id} is asked for answer ${turn}`).toEqual([false, "running", now.turns]);
		this.counts.paid++;
		const step = this.decomposition.steps.find((each) => each.id === id) as PlanStep;
		expect(promptOf(request)).toContain(step.description);
		const { rounds, passing, hanging, final, long } = this.#fates.behaviour(step, now.attempt);
		this.onCall(this.counts.paid);
		await new Promise(setImmediate);
		signal.throwIfAborted();
		if (turn === final) throw failing("no key", { retryable: false });
		if (turn === passing.turn && now.fails < passing.times)
			throw Object.assign(failing("busy", { retryable: true }), { retryAfterMs: passing.retryAfterMs });
		const { stepSeconds } = this.limits;
		if (turn === hanging.turn && stepSeconds !== undefined && (now.extended.seconds ?? 0) < hanging.times) {
			this.counts.hung++;
			this.time.end();
			signal.throwIfAborted();
			throw new Error("its time should be over");
		}
		const calls = rounds[turn];
		if (calls)
			for (const [at, { name, args, fails }] of calls.entries()) {
				const call: ToolCall = { id: `${id}-${turn}-${at}`, name, args: { ...args, ...(fails ? { fails } : {}) } };
				yield { type: "toolCall", call };
			}
		else {
			const [, given = ""] = promptOf(request).split(`Step ${id}:`);
			const results = request.messages.flatMap((each) =>
				each.role === "tool" ? [factsIn(each.text)[0] ?? "ERROR"] : [],
			);
			yield { type: "text", text: textOf(step, now.attempt, factsIn(given), results, long) };
		}
		yield { type: "usage", usage: { inputTokens: TOKENS - 10, outputTokens: 10 } };
	}

	/** What it sees is of the attempt, as the world changes until somebody tries again. */
	#look(): Tool {
		const tool = { name: "look", description: "looks", parameters: {}, purity: "world" as const };
		return {
			...tool,
			call: async (args) => {
				const { step, round, fails } = args as { step: string; round: number; fails?: boolean };
				if (fails) throw failing("fog", { retryable: false });
				return marked(`look ${step} ${this.now(step).attempt} ${round}`);
			},
		};
	}

	#send(): Tool {
		const tool = { name: "send", description: "sends", parameters: {}, purity: "side_effect" as const };
		return {
			...tool,
			call: async (args, { idempotencyKey = "" }) => {
				const { to, fails } = args as { to: string; fails?: boolean };
				this.effects.set(idempotencyKey, (this.effects.get(idempotencyKey) ?? 0) + 1);
				if (fails) throw failing("no such person", { retryable: false });
				return marked(`sent ${to}`);
			},
		};
	}
}

const pending = (attempt: number): StepNow => ({ attempt, status: "pending", extended: {}, turns: 0, fails: 0 });
