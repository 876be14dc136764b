/** Runs a plan from wherever it stands: a fresh one and a resumed one take the same path. */
import { laneClosed, type Model, type SpilledText, spillText, type Tool, type Using } from "@reyn/journal";
import { INLINE_BYTES } from "@reyn/journal/internal";
import { isReynError, type Scope, type Seq } from "@reyn/wal";
import { answerOf, failedIn, type PlanResult } from "./answer.ts";
import { type Decomposition, type PlanStep, terminalStep } from "./decomposition.ts";
import { PlanError } from "./errors.ts";
import { LostResult, LostResults } from "./lost-result.ts";
import type { StepContext } from "./narrow.ts";
import { patiently } from "./patiently.ts";
import { isInFlight, type PlanRun } from "./plan-runs.ts";
import {
	attemptLane,
	type Cost,
	type LimitKind,
	planCompleted,
	planLane,
	planStepCompleted,
	planStepFailed,
	planStepStarted,
} from "./records.ts";
import { StepLimits, Together } from "./step-limits.ts";
import { isFinished, isSettled, readySteps, stepOf } from "./step-status.ts";
import { held, mayBegin, tryStep } from "./try-step.ts";

export interface PlanLimits {
	/** How many steps may run at the same time. */
	readonly concurrency: number;
	/** How many model turns one step may take. */
	readonly stepMaxIterations: number;
	/** How many tries of a model call follow the first, while its failures may pass. */
	readonly retryLimit: number;
	/** How many tokens the model calls of one step may take, where the step says nothing else. Absent: any. */
	readonly stepTokens?: number | undefined;
	/** For how many seconds a step may work in one process. Absent: for ever. */
	readonly stepSeconds?: number | undefined;
	/** How many tokens the model calls of all steps may take together, of all their tries, before none is made any more. Absent: any. */
	readonly planTokens?: number | undefined;
}

export const defaultPlanLimits: PlanLimits = { concurrency: 3, stepMaxIterations: 5, retryLimit: 3 };

/** A limit that a step has come to: its own, or that of its plan (`plan_tokens`), which one step asks about for all. */
export interface StepLimit {
	readonly plan: string;
	readonly step: string;
	/** From 0. */
	readonly attempt: number;
	readonly limit: LimitKind;
	/** How far it has come: iterations, retries, tokens or seconds. */
	readonly reached: number;
	/** By so much the limit is extended. */
	readonly base: number;
	/** How often it was extended: in this attempt, that of a plan in all. */
	readonly extended: number;
	/** For `retries`: why the model gave no answer. */
	readonly reason?: string;
}

/**
 * What becomes of a step at its limit. `fail`, at that of its plan: so do all that would go on. `pause`: the plan waits until it is
 * resumed, and the step goes on then as if it were extended.
 */
export type AtLimit = "extend" | "fail" | "pause";

export interface PlanPorts extends Using {
	readonly model: Model;
	/** By their classes, those that a step may name. One that is not here is done by `model`. */
	readonly models?: Readonly<Record<string, Model>> | undefined;
	readonly tools: readonly Tool[];
	readonly limits: PlanLimits;
	/** The plan as the log knows it now. */
	run(): PlanRun;
	/** The steps of the plan as they are now, once it was amended. Absent: it is never amended. */
	steps?(): Promise<Decomposition>;
	/**
	 * Decides what becomes of a step at its limit. It may ask a person, for any time; after a crash it is called again. Absent: it fails.
	 *
	 * @throws JournalError `CALL_WAITING`: it is not decided yet
	 */
	atLimit?(limit: StepLimit): Promise<AtLimit>;
	progress(change: PlanProgress): void;
	/** Gets what each step is shown when it begins, and when it goes on. */
	context?(context: StepContext): void;
	/**
	 * Delivers the answer durably to where the user finds it. It may be called again after a crash, and must do nothing then.
	 *
	 * @param spilled where the text lies beside the log, if it is above 32 KiB, so that it need not be stored twice
	 */
	deliver(text: string, spilled?: SpilledText): Promise<void>;
	/** Work that calls of steps begin in lanes below their own, such as skills. Absent: they begin none. */
	readonly children?: StepChildren | undefined;
	/** Was the answer of these steps delivered before a crash? Then it is not made again where its result is lost since. Absent: it is. */
	isDelivered?(): boolean;
	/** Called when the outcome of a step, or the end of the plan, is durable, to write a checkpoint. */
	onBoundary(kind: "plan_step" | "plan", title: string, scope: Scope): Promise<void>;
}

/** The work that calls of steps have begun below a lane. */
export interface StepChildren {
	/** What its model calls have cost, which counts as the cost of the step. @param before of the work alone that was begun before this seq */
	cost(lane: string, before?: Seq): Cost;
	/**
	 * Ends what of it is open, and appends the records of that before it returns: it is called in the turn of the event loop in which the
	 * end of the step, or of the plan, is recorded, so that nothing is left over.
	 */
	end(lane: string, reason: string): void;
}

/** A line of progress. `index` of `size` is the step's place in the plan. */
export interface PlanProgress {
	readonly plan: string;
	readonly step: string;
	readonly index: number;
	readonly size: number;
	/** How many steps are over, this one included if it is. */
	readonly done: number;
	/** At most 60 characters. */
	readonly description: string;
	readonly change:
		| { readonly status: "running" | "resumed" }
		| { readonly status: "retrying"; readonly reason: string; readonly retry: number; readonly limit: number }
		/** `cost` until then; `took`: in milliseconds from its start, with waits for a person and between processes. Absent: unknown. */
		| { readonly status: "completed"; readonly cost: Cost; readonly took?: number }
		| {
				readonly status: "failed";
				readonly reason: string;
				readonly cost?: Cost;
				readonly took?: number;
		  }
		/** It was over, and is not any more. */
		| { readonly status: "again"; readonly reason: string };
}

/**
 * Executes a plan to its end, from wherever it stands.
 *
 * @throws the signal's reason when it is cancelled; PlanError `PLAN_PAUSED` when it was paused at a limit; JournalError `CALL_WAITING`
 * when a call or a limit waits for somebody, `CALL_IN_DOUBT` when nobody can say whether a call has happened: the steps that do not wait
 * for it are over then. The plan can be executed again from where it stopped
 */
export async function execute(
	plan: string,
	decomposition: Decomposition,
	scope: Scope,
	ports: PlanPorts,
): Promise<PlanResult> {
	const { concurrency } = ports.limits;
	if (!(concurrency >= 1))
		throw new PlanError("PLAN_INVALID", `limits.concurrency is ${concurrency}; a plan needs at least 1`);
	const running = new Map<string, Promise<void>>();
	const together = new Together<boolean>();
	/** The steps that wait for somebody: the others go on. */
	const holding = new Map<string, unknown>();
	const lost = new LostResults(plan, scope, ports);
	let answer: PlanResult;
	let made: Made = { of: ports.run().decomposition, decomposition };
	/** The steps as they are now. */
	const current = async (): Promise<Made> => {
		for (let of = ports.run().decomposition; of !== made.of; of = ports.run().decomposition) {
			if (!ports.steps) throw new PlanError("PLAN_INVALID", "the plan was amended, and `steps` is not given");
			made = { of, decomposition: await ports.steps() };
		}
		return made;
	};
	const start = (step: PlanStep): Promise<void> =>
		executeStep(plan, { made, current, together }, step, scope, ports)
			.catch((error) => {
				if (error instanceof LostResult) return lost.runAgain(error);
				if (!isReynError(error, ...held)) throw error;
				holding.set(step.id, error);
			})
			.finally(() => running.delete(step.id));
	try {
		for (;;) {
			const run = ports.run();
			// Its steps would not be recorded as over any more, and be paid for without end.
			if (!isInFlight(run)) throw new PlanError("PLAN_UNKNOWN", `plan ${plan} is ${run.status}`, { plan });
			if (run.decomposition !== made.of) {
				await current();
				continue;
			}
			if (isFinished(run, made.decomposition) && run.status !== "paused") {
				try {
					answer = await answerOf(run, made.decomposition, ports.results);
					break;
				} catch (error) {
					if (!(error instanceof LostResult)) throw error;
					if (ports.isDelivered?.()) {
						answer = {
							text: `(its answer was delivered; ${error.message})`,
							failed: failedIn(run, made.decomposition),
						};
						break;
					}
					await lost.runAgain(error);
					continue;
				}
			}
			if (run.status !== "paused")
				for (const step of readySteps(run, made.decomposition)) {
					if (running.size >= concurrency) break;
					if (!running.has(step.id) && !holding.has(step.id)) running.set(step.id, start(step));
				}
			if (running.size === 0) throw run.status === "paused" ? paused(plan, run) : holding.values().next().value;
			await Promise.race(running.values());
		}
	} finally {
		// Waits for all steps: nothing of the plan may write after this returns.
		await Promise.allSettled(running.values());
	}
	const { text, failed } = answer;
	const last = stepOf(ports.run(), terminalStep(made.decomposition).id);
	const beside =
		last.status === "completed"
			? last.spilled
			: await patiently(planLane(plan), ports, () => spillText(text, ports.results));
	await (beside && beside.bytes > INLINE_BYTES ? ports.deliver(text, beside) : ports.deliver(text));
	const lane = planLane(plan);
	// Both records or none: within one turn of the event loop the log does not become full.
	const { durable } = await patiently(lane, ports, () => {
		// What a process left open that died between the records of a step's end.
		ports.children?.end(lane, "its plan is over");
		// Closes the lanes below too.
		ports.log.append(laneClosed({ lane }), scope);
		return ports.log.append(planCompleted({ plan, ...(last.status === "failed" && { failed: true }) }), scope);
	});
	await durable;
	// Here it holds up no cut of the log, as it does at the boundaries before.
	await ports.onBoundary("plan", `${plan}: ${cut(made.decomposition.goal)}`, scope);
	return { text, failed };
}

async function executeStep(
	plan: string,
	{ made, current, together }: { readonly made: Made; current(): Promise<Made>; readonly together: Together<boolean> },
	step: PlanStep,
	scope: Scope,
	ports: PlanPorts,
): Promise<void> {
	const { of, decomposition } = made;
	let { steps } = decomposition;
	// How many are over is counted when it is recorded: steps that end together are told one by one.
	const lineOf = (change: PlanProgress["change"]): PlanProgress => ({
		plan,
		step: step.id,
		index: steps.findIndex(({ id }) => id === step.id) + 1,
		size: steps.length,
		done: steps.filter(({ id }) => isSettled(stepOf(ports.run(), id))).length,
		description: cut(step.description),
		change,
	});
	const report = (change: PlanProgress["change"]): void => ports.progress(lineOf(change));
	const before = stepOf(ports.run(), step.id);
	const lane = attemptLane({ plan, step: step.id, attempt: before.attempt });
	const limits = new StepLimits({ plan, attempt: before.attempt, lane, step, scope }, ports, together);
	// It begins when its plan may go on: until then it can be amended.
	const refused = before.status === "running" ? undefined : await mayBegin(limits, ports);
	if (refused?.kind === "paused") return;
	report({ status: before.status === "running" ? "resumed" : "running" });
	if (before.status !== "running") {
		const started = planStepStarted({ plan, step: step.id, attempt: before.attempt });
		// It may have been amended while this waited for space.
		const begin = () => (ports.run().decomposition === of ? ports.log.append(started, scope) : undefined);
		if (!(await patiently(lane, ports, begin))) return;
	}

	const task = { plan, attempt: before.attempt, lane, decomposition, step, scope };
	const outcome = refused ?? (await tryStep(task, limits, ports, report));
	if (outcome.kind === "paused") return;
	// The plan may have been amended meanwhile.
	({ steps } = (await current()).decomposition);
	const { cost } = outcome;
	const [record, change] =
		outcome.kind === "completed"
			? [planStepCompleted({ plan, step: step.id, ...outcome.result, cost }), { status: "completed", cost } as const]
			: [
					planStepFailed({ plan, step: step.id, reason: outcome.reason, cost }),
					{ status: "failed", reason: outcome.reason, cost } as const,
				];
	const [line, { durable }] = await patiently(lane, ports, () => {
		ports.log.append(record, scope);
		ports.children?.end(
			lane,
			outcome.kind === "failed" ? `its step has failed: ${outcome.reason}` : "its step is over",
		);
		const closed = ports.log.append(laneClosed({ lane }), scope);
		const { took } = stepOf(ports.run(), step.id) as { readonly took?: number };
		return [lineOf({ ...change, ...(took !== undefined && { took }) }), closed] as const;
	});
	// Reported only when durable: a step that was reported as done is never paid for again.
	await durable;
	ports.progress(line);
	await ports.onBoundary("plan_step", `${plan} ${step.id}: ${cut(step.description)}`, scope);
}

/** The steps of a plan, and the hash by which its run names them. */
interface Made {
	readonly of: string;
	readonly decomposition: Decomposition;
}

const paused = (plan: string, { why = "it was rewound into" }: PlanRun): PlanError =>
	new PlanError("PLAN_PAUSED", `plan ${plan} is paused: ${why}; resume it, or discard it`, { plan });

/** A text of 60 characters at most. What is told of it now is what the log gives back later: half a character is U+FFFD. */
const cut = (text: string): string => (text.length > 60 ? `${text.slice(0, 59)}…` : text).toWellFormed();
