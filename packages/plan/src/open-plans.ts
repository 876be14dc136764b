/** Plans over a directory, an engine or a log that is open: starts them, goes on with those in flight, and delivers each answer. */
import { laneClosed, type Model, type StepPorts, stepPorts, type Tool, type Using } from "@reyn/journal";
import { type OwnLogOptions, OwnWork, openOwnLog, type WorkingSession } from "@reyn/journal/internal";
import {
	type Appended,
	type BlobStore,
	type Draft,
	isReynError,
	type LogEngine,
	type Scope,
	WalError,
} from "@reyn/wal";
import { blobsBelow, isFull } from "@reyn/wal/internal";
import { amend, type PlanAmendment } from "./amend.ts";
import { keptOf, readDecomposition, writeDecomposition } from "./artifact.ts";
import {
	type Decomposition,
	type PlanStep,
	parseDecomposition,
	terminalStep,
	withDependents,
} from "./decomposition.ts";
import { PlanError } from "./errors.ts";
import {
	type AtLimit,
	defaultPlanLimits,
	execute,
	type PlanLimits,
	type PlanProgress,
	type StepLimit,
} from "./execute.ts";
import type { StepContext } from "./narrow.ts";
import { findKept, findPlan } from "./operate.ts";
import { type PlanRun, type PlanRuns, planIn, planRuns, plansOf, type StepRun } from "./plan-runs.ts";
import { proposalLane, propose } from "./propose.ts";
import { planAborted, planLane, planPaused, planRecords, planResumed, planStarted, planStepsReset } from "./records.ts";
import type { PlanSession } from "./run-plan-in.ts";
import { stepOf, textOf } from "./step-status.ts";

/** A log, and the session in it whose plans these are. */
export interface PlanLog {
	readonly wal: { readonly id: string };
	readonly session: PlanSession & WorkingSession;
	/** For the decompositions of plans. */
	readonly blobs: BlobStore;
	/** For results of more than 1 KiB. Absent: they lie in the log. */
	readonly results?: BlobStore | undefined;
}

export interface OpenPlansOptions
	extends OwnLogOptions,
		Pick<StepPorts, "gate" | "whenInDoubt" | "observe" | "modelPolicy"> {
	readonly model: Model;
	/** What steps may use. Default: none. */
	readonly tools?: readonly Tool[];
	/** Where they differ from 3 steps at a time, 5 turns and 3 retries. */
	readonly limits?: Partial<PlanLimits>;
	/**
	 * Gets the end of each plan. What it gets is durable before; that it was told is durable once this has resolved. A crash between
	 * tells it again, with the same `key`. If it throws, the plan is told at the next start, or when it is resumed.
	 */
	deliver(end: PlanEnd): void | Promise<void>;
	/** Gets why work on a plan has stopped before its end: a call waits for somebody, the log is broken, `deliver` has thrown. */
	failed?(plan: string, why: Error): void;
	progress?(change: PlanProgress): void;
	/** Gets what each step is shown when it begins, and when it goes on. */
	context?(context: StepContext): void;
	/** As of `execute`. Absent: a step fails at its limit. */
	atLimit?(limit: StepLimit): Promise<AtLimit>;
	/** Stops all work. It goes on at the next start. */
	readonly signal?: AbortSignal;
}

/** The end of a plan, for whoever waits for its answer. */
export interface PlanEnd {
	readonly plan: string;
	/** Who waits for it, as `start` was told; absent: nobody has said so. */
	readonly chain?: string;
	/** The same whenever this end is told, also where results of the plan were lost since, and its steps have run again. */
	readonly key: string;
	/** `failed`: its last step has. `rewound`: the log was moved to before its start, and it is not there any more. */
	readonly outcome: "completed" | "failed" | "discarded" | "rewound";
	/** The answer; of a plan that has none, why. */
	readonly text: string;
	/** Ids of the steps that failed. */
	readonly failed: readonly string[];
}

/** A plan, and how far each step has come, in its order. The steps are empty if they are lost. */
export type PlanShown = Omit<PlanRun, "steps"> & {
	readonly plan: string;
	readonly steps: readonly (Pick<PlanStep, "id" | "description"> & StepRun & { readonly needs: readonly string[] })[];
};

export interface StartOptions {
	/** Who waits for the answer, by a name of theirs. */
	readonly chain?: string;
}

export interface Plans extends AsyncDisposable {
	/**
	 * Starts a plan in the background. It is durable when this resolves. A plan of this id that is known is left as it is, so call this
	 * again after a crash.
	 *
	 * @param plan its id: letters, digits, `.`, `_` and `-`
	 * @param proposal the decomposition as a model proposed it
	 * @throws PlanError `PLAN_INVALID`: nothing is written then; WalError `WAL_FULL`
	 */
	start(plan: string, proposal: unknown, options?: StartOptions): Promise<void>;
	/** As `start`, where the model proposes a plan for a prompt. An answer that was recorded is not paid again. @throws as `start`, and what the model throws */
	ask(plan: string, prompt: string, options?: StartOptions): Promise<void>;
	/** All plans, oldest first. */
	list(): readonly (readonly [plan: string, run: PlanRun])[];
	/** @throws PlanError `PLAN_UNKNOWN` */
	show(plan: string): Promise<PlanShown>;
	/** The whole result of a step. @throws PlanError `PLAN_UNKNOWN`; JournalError `RESULT_LOST` */
	result(plan: string, step: string): Promise<string>;
	/** Stops a plan until it is resumed. @throws PlanError `PLAN_UNKNOWN` when it is over */
	pause(plan: string): Promise<void>;
	/**
	 * Goes on with a plan. With `from`, that step and all that depend on it run again, also of a plan that has its answer.
	 *
	 * @returns the ids of the steps that run again
	 * @throws PlanError `PLAN_UNKNOWN`, `PLAN_UNKNOWN_STEP`, `PLAN_LOST`; nothing is changed then
	 */
	resume(plan: string, options?: { readonly from?: string }): Promise<readonly string[]>;
	/** Gives a plan other pending steps. @throws PlanError `PLAN_UNKNOWN`, `PLAN_LOST`, `PLAN_INVALID`; WalError `WAL_FULL`; nothing is changed then */
	amend(plan: string, amendment: PlanAmendment): Promise<void>;
	/** Ends a plan; `deliver` has been told when this resolves. @throws PlanError `PLAN_UNKNOWN` when it is over */
	discard(plan: string, reason: string): Promise<void>;
	/**
	 * To be called after the log was moved: goes on with what is in flight on the line that it has come to, and tells the end of plans that
	 * are not there any more. Those at work do so by themselves.
	 */
	moved(): void;
	/** Resolves when no plan is at work. */
	idle(): Promise<void>;
	/** Stops all work and frees the log, if it was opened here. */
	close(): Promise<void>;
}

/**
 * Opens the plans in a directory, which is made when it is missing, in an engine, or in a log that somebody else has opened. Those in
 * flight go on at once, and what was not told yet is.
 *
 * @throws WalError `WAL_LOCKED`, `WAL_CORRUPT`, `WAL_NEWER_FORMAT`, `WAL_IO`
 */
export async function openPlans(at: string | LogEngine | PlanLog, options: OpenPlansOptions): Promise<Plans> {
	if (typeof at !== "string" && "session" in at) return new OpenedPlans(at, options, async () => {});
	const log = await openOwnLog(at, { records: planRecords, projection: planRuns }, options);
	return new OpenedPlans({ ...log, blobs: blobsBelow(log.results, "plans") }, options, () => log.close());
}

class OpenedPlans implements Plans {
	readonly #log: PlanLog;
	readonly #options: OpenPlansOptions;
	readonly #tools: readonly Tool[];
	readonly #free: () => Promise<void>;
	readonly #work: OwnWork;
	readonly #starting = new Map<string, Promise<void>>();
	/** The plans whose end is still to be told, as they were begun or resumed. */
	readonly #untold = new Map<string, PlanRun>();

	constructor(log: PlanLog, options: OpenPlansOptions, free: () => Promise<void>) {
		this.#log = log;
		this.#options = options;
		this.#tools = options.tools ?? [];
		this.#free = free;
		this.#work = new OwnWork({
			kind: "plan",
			session: log.session,
			goOn: (plan, signal) => this.#goOn(plan, signal),
			failed: (plan, why) => void (isReynError(why, "PLAN_PAUSED") || options.failed?.(plan, why)),
			signal: options.signal,
			closed: "these plans are closed; open them again with openPlans",
		});
		this.moved();
	}

	start(plan: string, proposal: unknown, options: StartOptions = {}): Promise<void> {
		return this.#startOnce(plan, options, async () => parseDecomposition(proposal, this.#names));
	}

	ask(plan: string, prompt: string, options: StartOptions = {}): Promise<void> {
		const { model } = this.#options;
		return this.#startOnce(plan, options, async () => {
			const scope = this.#scopeOf(plan);
			try {
				return await propose(plan, prompt, { model, tools: this.#tools, scope, using: this.#using(this.#work.signal) });
			} catch (error) {
				// It is asked anew next time: what is recorded would be refused again.
				if (isReynError(error, "PLAN_INVALID")) this.#append(laneClosed({ lane: proposalLane(plan) }), plan);
				throw error;
			}
		});
	}

	list(): readonly (readonly [plan: string, run: PlanRun])[] {
		return plansOf(this.#runs);
	}

	async show(plan: string): Promise<PlanShown> {
		const read = await readDecomposition(this.#known(plan).decomposition, this.#log.blobs);
		const run = this.#known(plan);
		const steps = read.kind === "sound" ? read.decomposition.steps : [];
		return {
			...run,
			plan,
			steps: steps.map(({ id, description, depends_on: needs }) => ({ id, description, needs, ...stepOf(run, id) })),
		};
	}

	async result(plan: string, step: string): Promise<string> {
		return textOf(stepOf(this.#known(plan), step), this.#log.results);
	}

	async pause(plan: string): Promise<void> {
		findPlan(this.#runs, plan);
		await this.#work.stop(plan, "it is paused");
		// It may have ended by itself meanwhile.
		if (findPlan(this.#runs, plan).status === "paused") return;
		await this.#append(planPaused({ plan, by: "person" }), plan).durable;
	}

	async resume(plan: string, { from }: { readonly from?: string } = {}): Promise<readonly string[]> {
		const run = (from === undefined ? findPlan : findKept)(this.#runs, plan);
		const again = from === undefined ? [] : withDependents(await this.#stepsOf(run, plan), from);
		// One that runs, and of which nothing is to run again, pays for no open call again.
		if (again.length > 0 || run.status === "paused") await this.#work.stop(plan, "it is resumed");
		if (again.length > 0) {
			// It may have been given up meanwhile.
			findKept(this.#runs, plan);
			await this.#append(planStepsReset({ plan, steps: [...again], by: "person" }), plan).durable;
		} else if (findPlan(this.#runs, plan).status === "paused")
			await this.#append(planResumed({ plan, by: "person" }), plan).durable;
		this.#launch(plan);
		return again;
	}

	amend(plan: string, amendment: PlanAmendment): Promise<void> {
		return typed(() =>
			amend(plan, amendment, {
				...{ runs: () => this.#runs, blobs: this.#log.blobs, tools: this.#names },
				append: (draft) => this.#append(draft, plan),
			}),
		);
	}

	async discard(plan: string, reason: string): Promise<void> {
		findPlan(this.#runs, plan);
		await this.#work.stop(plan, reason);
		// It may have ended by itself meanwhile.
		findPlan(this.#runs, plan);
		await this.#giveUp(plan, reason, "person");
		this.#launch(plan);
		await this.#work.over(plan);
	}

	moved(): void {
		for (const plan of new Set([...this.#untold.keys(), ...Object.keys(this.#runs.live)])) this.#launch(plan);
	}

	idle(): Promise<void> {
		return this.#work.idle();
	}

	async close(): Promise<void> {
		this.#work.close();
		await Promise.allSettled(this.#starting.values());
		await this.idle();
		await this.#free();
	}

	[Symbol.asyncDispose](): Promise<void> {
		return this.close();
	}

	#startOnce(plan: string, options: StartOptions, made: () => Promise<Decomposition>): Promise<void> {
		const under = this.#starting.get(plan);
		if (under) return under;
		const start = typed(() => this.#start(plan, options, made));
		const starting = start.finally(() => this.#starting.delete(plan));
		this.#starting.set(plan, starting);
		return starting;
	}

	async #start(plan: string, { chain }: StartOptions, made: () => Promise<Decomposition>): Promise<void> {
		this.#work.signal.throwIfAborted();
		if (!isPlanId.test(plan))
			throw new PlanError(
				"PLAN_INVALID",
				`a plan's id has letters, digits, ".", "_" and "-"; found ${JSON.stringify(plan)}`,
			);
		if (planIn(this.#runs, plan)) return;
		const { blobs } = this.#log;
		const decomposed = await made();
		const decomposition = await writeDecomposition(decomposed, blobs);
		const { goal, steps } = decomposed;
		const model = this.#options.model.id;
		const more = chain === undefined ? {} : { chain };
		const started = planStarted({ plan, goal, steps: steps.length, decomposition, model, ...more });
		await this.#append(started, plan).durable;
		this.#launch(plan);
	}

	/** Goes on with a plan in the background, wherever it stands. */
	#launch(plan: string): void {
		const run = planIn(this.#runs, plan);
		if (run) this.#untold.set(plan, run);
		this.#work.launch(plan);
	}

	async #goOn(plan: string, signal: AbortSignal): Promise<void> {
		const { blobs } = this.#log;
		const run = planIn(this.#runs, plan);
		if (!run) {
			const text = `Plan ${plan} is not there any more: the log was rewound to before its start. Ask again if you still need the answer.`;
			const before = this.#untold.get(plan);
			return this.#tell(plan, before, { at: before?.started, outcome: "rewound", text });
		}
		if (run.ended) return this.#tellEnd(plan);
		if (run.status !== "running") return;
		const read = await readDecomposition(run.decomposition, blobs);
		if (read.kind === "lost") {
			// The model is not asked to plan again: recorded results would not belong to the new steps.
			await this.#giveUp(plan, `its steps are lost: ${read.why}`);
			return this.#tellEnd(plan);
		}
		const { model, limits, progress = () => {}, context, atLimit } = this.#options;
		const current = (): PlanRun => planIn(this.#runs, plan) as PlanRun;
		const stepsNow = (): Promise<Decomposition> => this.#stepsOf(current(), plan);
		await execute(plan, read.decomposition, this.#scopeOf(plan), {
			...this.#using(signal),
			model,
			tools: this.#tools,
			limits: { ...defaultPlanLimits, ...limits },
			run: current,
			steps: stepsNow,
			...(context && { context }),
			...(atLimit && { atLimit }),
			progress,
			deliver: async (text) => {
				const last = stepOf(current(), terminalStep(await stepsNow()).id);
				const outcome = last.status === "failed" ? "failed" : "completed";
				const { since, answered = since } = current();
				await this.#tell(plan, current(), { at: answered, outcome, text });
			},
			onBoundary: async (kind, title, at) => {
				// A snapshot only saves reading: without it the plan goes on.
				await this.#log.session.checkpoint(kind, title, at).catch((why) => {
					if (!isReynError(why, "SNAPSHOT_NOT_STORED")) throw why;
				});
			},
		});
	}

	/** Records that a plan has no answer. It is told afterwards, also after a crash. */
	async #giveUp(plan: string, reason: string, by?: "person"): Promise<void> {
		const tell = `Plan ${plan} was discarded: ${reason}. Ask again if you still need the answer.`;
		await this.#append(planAborted({ plan, reason, tell, ...(by && { by }) }), plan).durable;
	}

	async #tellEnd(plan: string): Promise<void> {
		const run = planIn(this.#runs, plan);
		if (!run?.ended) return;
		const { seq, reason, tell = reason } = run.ended;
		await this.#tell(plan, run, { at: seq, outcome: "discarded", text: tell });
		await this.#append(laneClosed({ lane: planLane(plan) }), plan).durable;
	}

	async #tell(
		plan: string,
		run: PlanRun | undefined,
		{ at, outcome, text }: Pick<PlanEnd, "outcome" | "text"> & { readonly at: number | undefined },
	): Promise<void> {
		const steps = Object.entries(run?.steps ?? {});
		const failed = steps.flatMap(([id, { status }]) => (status === "failed" ? [id] : []));
		const chain = run?.chain === undefined ? {} : { chain: run.chain };
		await this.#options.deliver({ plan, ...chain, key: `${this.#log.wal.id}:${at}`, outcome, text, failed });
		this.#untold.delete(plan);
	}

	get #names(): readonly string[] {
		return this.#tools.map(({ name }) => name);
	}

	get #runs(): PlanRuns {
		return this.#log.session.view.get(planRuns);
	}

	#known(plan: string): PlanRun {
		return planIn(this.#runs, plan) ?? findKept(this.#runs, plan);
	}

	#stepsOf(run: PlanRun, plan: string): Promise<Decomposition> {
		return keptOf(run, plan, this.#log.blobs);
	}

	#using(signal: AbortSignal): Using {
		const { wal, session, results } = this.#log;
		const { gate, whenInDoubt, observe, modelPolicy, clock, timers } = this.#options;
		return stepPorts(session, {
			...{ wal, signal, results, gate, modelPolicy, clock, timers },
			...(whenInDoubt && { whenInDoubt }),
			...(observe && { observe }),
		});
	}

	#append(draft: Draft, plan: string): Appended {
		return this.#log.session.log.append(draft, this.#scopeOf(plan));
	}

	#scopeOf(plan: string): Scope {
		return { ...this.#log.session.scope, run: plan };
	}
}

/** What is asked for is refused while the disk is full: beside the log by the same error as in it. @throws WalError `WAL_FULL` */
async function typed<T>(act: () => Promise<T>): Promise<T> {
	try {
		return await act();
	} catch (error) {
		if (!isFull(error) || isReynError(error)) throw error;
		const { code } = error;
		throw new WalError(
			"WAL_FULL",
			`the disk is full (${code}): the steps were not kept, and nothing was changed. Free some space, and ask again`,
			{ code },
			{ cause: error },
		);
	}
}

/** It is a part of the path of a lane. */
const isPlanId = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
