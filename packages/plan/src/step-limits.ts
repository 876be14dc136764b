/** The limits of one attempt of a step: asks at each what becomes of it, and records that it is extended. */
import { laneFailed, type ModelReply } from "@reyn/journal";
import { endedBy, reasonOf } from "@reyn/journal/internal";
import { codeOf, type Draft, type Scope, type Seq, systemClock, systemTimers } from "@reyn/wal";
import { PlanError } from "./errors.ts";
import type { PlanPorts, StepLimit } from "./execute.ts";
import { patiently } from "./patiently.ts";
import { extensionsOf, forgottenIn } from "./plan-runs.ts";
import { type Cost, type LimitKind, planPaused, planStepExtended } from "./records.ts";
import { stepOf } from "./step-status.ts";
import type { StepTask } from "./try-step.ts";

/** The plan is paused at a limit, and that is durable. */
export class Paused extends Error {}

export class StepLimits {
	readonly #task: Omit<StepTask, "decomposition">;
	readonly #ports: PlanPorts;
	readonly #together: Together<boolean>;
	#cost: Cost = { calls: 0, inputTokens: 0, outputTokens: 0 };
	/** How long the step has worked, in milliseconds, without the time in which somebody was asked. */
	#worked = 0;
	#watch: Watch | undefined;

	/** @param together all that come to the limit of the plan at once */
	constructor(task: Omit<StepTask, "decomposition">, ports: PlanPorts, together: Together<boolean>) {
		this.#task = task;
		this.#ports = ports;
		this.#together = together;
	}

	/** What the model's answers, and those in work that the step has begun, cost so far, paid for now or recalled. */
	get cost(): Cost {
		return this.#costBefore();
	}

	/** @param seq what the step has begun from this seq on does not count. Default: all counts */
	#costBefore(seq?: Seq): Cost {
		const { calls, inputTokens, outputTokens } = this.#cost;
		const below = this.#ports.children?.cost(this.#task.lane, seq);
		return {
			calls: calls + (below?.calls ?? 0),
			inputTokens: inputTokens + (below?.inputTokens ?? 0),
			outputTokens: outputTokens + (below?.outputTokens ?? 0),
		};
	}

	/** Begins to work, from the step's first call. @returns the signal that ends the work, also when its time is over */
	begin(): AbortSignal {
		this.#cost = { calls: 0, inputTokens: 0, outputTokens: 0 };
		const late = new AbortController();
		this.#watch = { late, since: this.#now(), disarm: () => {} };
		this.#arm(this.#watch);
		return AbortSignal.any([this.#ports.signal, late.signal]);
	}

	end(): void {
		this.#watch?.disarm();
		if (this.#watch) this.#worked += this.#now() - this.#watch.since;
		this.#watch = undefined;
	}

	/** How many iterations more there may be after so many. @throws Paused */
	async iterations(reached: number): Promise<number> {
		const { stepMaxIterations: base } = this.#ports.limits;
		while (reached >= this.#allowed("iterations", base))
			if (!(await this.#isExtended("iterations", reached, base))) return 0;
		return this.#allowed("iterations", base) - reached;
	}

	/**
	 * Waits until a model may be asked for something new, by the limit of the plan: what is open then is let end.
	 *
	 * @throws PlanError `PLAN_TOKENS`; Paused
	 */
	async asks(): Promise<void> {
		const { planTokens: base } = this.#ports.limits;
		if (base === undefined) return;
		const reached = (): number => this.#ports.run().tokens ?? 0;
		const isExtended = () => this.#isExtended("plan_tokens", reached(), base);
		while (reached() >= this.#allowed("plan_tokens", base))
			if (!(await this.#whileAsked(() => this.#together.once(isExtended))))
				throw allTooMany(reached(), this.#allowed("plan_tokens", base));
	}

	/**
	 * Counts an answer, before what it asks for is done.
	 *
	 * @param place the seq at which it is recorded: what has followed it did not count when it was given. Undefined: it was just given
	 * @throws PlanError `PLAN_STEP_TOKENS`; Paused
	 */
	async answered({ usage, toolCalls }: ModelReply, place?: Seq): Promise<void> {
		const { calls, inputTokens, outputTokens } = this.#cost;
		this.#cost = {
			calls: calls + 1,
			inputTokens: inputTokens + usage.inputTokens,
			outputTokens: outputTokens + usage.outputTokens,
		};
		const { stepTokens = Number.POSITIVE_INFINITY } = this.#ports.limits;
		const base = Math.min(stepTokens, this.#task.step.max_tokens ?? stepTokens);
		// Its last answer is there, and paid for.
		if (base === Number.POSITIVE_INFINITY || toolCalls.length === 0) return;
		const cost = this.#costBefore(place);
		const reached = cost.inputTokens + cost.outputTokens;
		while (reached >= this.#allowed("tokens", base))
			if (!(await this.#isExtended("tokens", reached, base))) throw tooMany(reached, this.#allowed("tokens", base));
	}

	/** Does the step go on after this error, which is one of a limit then? @throws the error to fail with; Paused */
	async goesOn(error: unknown): Promise<true> {
		const { stepSeconds, retryLimit } = this.#ports.limits;
		const { code, message } = reasonOf(error);
		if (error instanceof TooLate && stepSeconds !== undefined) {
			if (await this.#isExtended("seconds", this.#allowed("seconds", stepSeconds), stepSeconds)) return true;
			throw tooLate(this.#allowed("seconds", stepSeconds));
		}
		if (code !== "MODEL_UNAVAILABLE" || codeOf(error) !== code) throw error;
		const { lane, scope } = this.#task;
		const forgotten = laneFailed({ lane, ...endedBy(error) });
		// A crash has cut what follows the extension: nobody is asked again.
		if (this.#extended("retries") > forgottenIn(stepOf(this.#ports.run(), this.#task.step.id))) {
			await this.#record([forgotten], scope);
			return true;
		}
		const of = { reason: message, after: [forgotten] };
		// An extension has it asked anew, which is one try more than there are retries.
		const base = retryLimit + 1;
		if (await this.#isExtended("retries", this.#allowed("retries", base) - 1, base, of)) return true;
		throw error;
	}

	#allowed(limit: LimitKind, base: number): number {
		return base * (1 + this.#extended(limit));
	}

	#extended(limit: LimitKind): number {
		if (limit === "plan_tokens") return this.#ports.run().extended ?? 0;
		return extensionsOf(stepOf(this.#ports.run(), this.#task.step.id), limit);
	}

	/** Asks what becomes of the step, and records it. A plan that is resumed after a pause goes on with the limit extended. */
	async #isExtended(
		limit: LimitKind,
		reached: number,
		base: number,
		{ reason, after = [] }: { readonly reason?: string; readonly after?: readonly Draft[] } = {},
	): Promise<boolean> {
		const { atLimit } = this.#ports;
		if (!atLimit) return false;
		const { plan, step, attempt, scope } = this.#task;
		const asked: StepLimit = {
			...{ plan, step: step.id, attempt, limit, reached, base, extended: this.#extended(limit) },
			...(reason === undefined ? {} : { reason }),
		};
		const decided = await this.#whileAsked(() => atLimit(asked));
		this.#ports.signal.throwIfAborted();
		if (decided === "fail") return false;
		const why =
			limit === "plan_tokens"
				? "it has come to its limit of tokens"
				: `step ${step.id} has come to its limit of ${limit}`;
		// Who cuts the end off leaves a plan that waits, and never one that goes on instead.
		const waits = decided === "pause" ? [planPaused({ plan, why })] : [];
		await this.#record([...waits, planStepExtended({ plan, step: step.id, limit }), ...after], scope);
		if (decided === "pause") throw new Paused(why);
		return true;
	}

	/** Records all of it, durably. */
	async #record(drafts: readonly Draft[], scope: Scope): Promise<void> {
		const { log } = this.#ports;
		const write = () => drafts.map((draft) => log.append(draft, scope)).at(-1);
		await (await patiently(this.#task.lane, this.#ports, write))?.durable;
	}

	/** The time in which somebody is asked is not that of the step. */
	async #whileAsked<T>(ask: () => Promise<T>): Promise<T> {
		const watch = this.#watch;
		this.end();
		try {
			return await ask();
		} finally {
			if (watch) {
				this.#watch = { ...watch, since: this.#now() };
				this.#arm(this.#watch);
			}
		}
	}

	#arm(watch: Watch): void {
		const { limits, timers = systemTimers } = this.#ports;
		if (limits.stepSeconds === undefined) return;
		const left = this.#allowed("seconds", limits.stepSeconds) * 1000 - this.#worked;
		watch.disarm = timers.after(Math.max(0, left), () => watch.late.abort(new TooLate()));
	}

	#now(): number {
		return (this.#ports.clock ?? systemClock).now();
	}
}

/** What several wait for is asked once. */
export class Together<T> {
	#asked: Promise<T> | undefined;

	once(ask: () => Promise<T>): Promise<T> {
		this.#asked ??= ask().finally(() => {
			this.#asked = undefined;
		});
		return this.#asked;
	}
}

interface Watch {
	readonly late: AbortController;
	/** In milliseconds since 1970. */
	readonly since: number;
	disarm: () => void;
}

/** The reason of a step that is cut since its time is over. */
class TooLate extends Error {}

const tooLate = (seconds: number): PlanError =>
	new PlanError(
		"PLAN_STEP_TIME",
		`the step has worked for ${seconds} s without a result; raise plan.step_timeout_seconds or split the step`,
		{ seconds },
	);

const tooMany = (tokens: number, limit: number): PlanError =>
	new PlanError(
		"PLAN_STEP_TOKENS",
		`the step has used ${tokens} tokens of ${limit}, and still asks for tools; raise plan.step_tokens, or its max_tokens, or split the step`,
		{ tokens, limit },
	);

const allTooMany = (tokens: number, limit: number): PlanError =>
	new PlanError(
		"PLAN_TOKENS",
		`the plan has used ${tokens} tokens of ${limit}, so nothing more was begun; raise plan.tokens, and retry the step`,
		{ tokens, limit },
	);
