/** Runs a plan from wherever it stands: a fresh one and a resumed one take the same path. */
import {
	agentLoop,
	Lane,
	laneClosed,
	type Model,
	type ModelReply,
	Order,
	type SpilledText,
	spillText,
	type Tool,
	type Using,
	whenSpace,
} from "@reyn/journal";
import { reasonOf } from "@reyn/journal/internal";
import { entryAt } from "@reyn/snapshot";
import { isReynError, type Scope, systemTimers } from "@reyn/wal";
import { type Decomposition, type PlanStep, terminalStep } from "./decomposition.ts";
import { PlanError } from "./errors.ts";
import type { PlanRun } from "./plan-runs.ts";
import { type Cost, planCompleted, planLane, planStepCompleted, planStepFailed, planStepStarted } from "./records.ts";
import { stepRequest } from "./step-prompt.ts";
import { isFinished, isSettled, readySteps, stepOf, textOf } from "./step-status.ts";

export interface PlanLimits {
	/** How many steps may run at the same time. */
	readonly concurrency: number;
	/** How many model turns one step may take. */
	readonly stepMaxIterations: number;
	/** How many tries of a model call follow the first, while its failures may pass. */
	readonly retryLimit: number;
}

export const defaultPlanLimits: PlanLimits = { concurrency: 3, stepMaxIterations: 5, retryLimit: 3 };

export interface PlanPorts extends Using {
	readonly model: Model;
	/** By their classes, those that a step may name. One that is not here is done by `model`. */
	readonly models?: Readonly<Record<string, Model>> | undefined;
	readonly tools: readonly Tool[];
	readonly limits: PlanLimits;
	/** The plan as the log knows it now. */
	run(): PlanRun;
	progress(change: PlanProgress): void;
	/**
	 * Delivers the answer durably to where the user finds it. It may be called again after a crash, and must do nothing then.
	 *
	 * @param spilled where the text lies beside the log, if it is above 32 KiB, so that it need not be stored twice
	 */
	deliver(text: string, spilled?: SpilledText): Promise<void>;
	/** Called when a step's outcome is durable, to write a checkpoint. */
	onBoundary(kind: "plan_step", title: string, scope: Scope): Promise<void>;
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
		| { readonly status: "completed"; readonly cost: Cost }
		| { readonly status: "failed"; readonly reason: string };
}

export interface PlanResult {
	readonly text: string;
	/** Ids of the steps that failed. */
	readonly failed: readonly string[];
}

/**
 * Executes a plan to its end, from wherever it stands.
 *
 * @throws the signal's reason when it is cancelled; JournalError `CALL_WAITING` when a call waits for a permit, `CALL_IN_DOUBT` when
 * nobody can say whether a call has happened. The plan can then be executed again from where it stopped
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
	try {
		while (!isFinished(ports.run(), decomposition)) {
			for (const step of readySteps(ports.run(), decomposition)) {
				if (running.size >= concurrency) break;
				if (running.has(step.id)) continue;
				running.set(
					step.id,
					executeStep(plan, decomposition, step, scope, ports).finally(() => running.delete(step.id)),
				);
			}
			await Promise.race(running.values());
		}
	} finally {
		// Waits for all steps: nothing of the plan may write after this returns.
		await Promise.allSettled(running.values());
	}
	const run = ports.run();
	const last = stepOf(run, terminalStep(decomposition).id);
	const text = await textOf(last, ports.results);
	const failed = decomposition.steps.map(({ id }) => id).filter((id) => stepOf(run, id).status === "failed");
	await (last.status === "completed" && last.spilled ? ports.deliver(text, last.spilled) : ports.deliver(text));
	const lane = planLane(plan);
	// Both records or none: within one turn of the event loop the log does not become full.
	const { durable } = await patiently(lane, ports, () => {
		// Closes lanes below too, which a process left open that died between a step's outcome and the end of its lane.
		ports.log.append(laneClosed({ lane }), scope);
		return ports.log.append(planCompleted({ plan }), scope);
	});
	await durable;
	return { text, failed };
}

async function executeStep(
	plan: string,
	decomposition: Decomposition,
	step: PlanStep,
	scope: Scope,
	ports: PlanPorts,
): Promise<void> {
	const { steps } = decomposition;
	const report = (change: PlanProgress["change"]): void =>
		ports.progress({
			plan,
			step: step.id,
			index: steps.indexOf(step) + 1,
			size: steps.length,
			done: steps.filter(({ id }) => isSettled(stepOf(ports.run(), id))).length,
			description: cut(step.description),
			change,
		});
	const before = stepOf(ports.run(), step.id);
	const lane = `${planLane(plan)}/${step.id}/${before.attempt}`;
	report({ status: before.status === "running" ? "resumed" : "running" });
	if (before.status !== "running") {
		const started = planStepStarted({ plan, step: step.id, attempt: before.attempt });
		await patiently(lane, ports, () => ports.log.append(started, scope));
	}

	const outcome = await tryStep(lane, decomposition, step, scope, ports, report);
	const record =
		outcome.kind === "completed"
			? planStepCompleted({ plan, step: step.id, ...(await kept(lane, outcome.reply, ports)), cost: outcome.cost })
			: planStepFailed({ plan, step: step.id, reason: outcome.reason });
	const { durable } = await patiently(lane, ports, () => {
		ports.log.append(record, scope);
		return ports.log.append(laneClosed({ lane }), scope);
	});
	// Reported only when durable: a step that was reported as done is never paid for again.
	await durable;
	report(
		outcome.kind === "completed"
			? { status: "completed", cost: outcome.cost }
			: { status: "failed", reason: outcome.reason },
	);
	await ports.onBoundary("plan_step", `${plan} ${step.id}: ${cut(step.description)}`, scope);
}

type StepOutcome = { kind: "completed"; reply: ModelReply; cost: Cost } | { kind: "failed"; reason: string };

/** Runs one step. A model call is retried by the common policy, `retryLimit` times; after that the step has failed. */
async function tryStep(
	path: string,
	decomposition: Decomposition,
	step: PlanStep,
	scope: Scope,
	ports: PlanPorts,
	report: (change: PlanProgress["change"]) => void,
): Promise<StepOutcome> {
	const tools = ports.tools.filter(({ name }) => step.tools.includes(name));
	const request = stepRequest(decomposition, step, await resultsFor(step, ports), tools);
	const { retryLimit: limit, stepMaxIterations: maxRounds } = ports.limits;
	const { timers = systemTimers } = ports;
	const recordedIn = ports.recordedIn?.bind(ports);
	// A failed step has a record of its own, `plan_step_failed`. If a kill prevents that, the step still counts as failed.
	const order = new Order({ program: path, recordedIn, timers, recordsItsEnd: true });
	const using: Using = {
		...ports,
		observe(event) {
			ports.observe?.(event);
			if (event.type === "retrying" && event.kind === "model")
				report({ status: "retrying", reason: event.reason, retry: event.attempt, limit });
		},
	};
	const lane = new Lane(path, scope, using, undefined, order);
	const retry = { maxAttempts: limit + 1 };
	const model = entryAt(ports.models ?? {}, step.model ?? "") ?? ports.model;
	const onReply = withinTokens(step);
	try {
		const end = await agentLoop(lane, model, request, tools, { maxRounds, tooMany: stillAsking, retry, onReply });
		return { kind: "completed", reply: end.reply, cost: { calls: end.rounds, ...end.usage } };
	} catch (error) {
		ports.signal.throwIfAborted();
		// The step has not failed: the call is asked about again when the plan goes on.
		if (isReynError(error, "CALL_WAITING", "CALL_IN_DOUBT")) throw error;
		return { kind: "failed", reason: cut(reasonOf(error).message, MAX_REASON) };
	}
}

const stillAsking = (maxIterations: number): PlanError =>
	new PlanError(
		"PLAN_STEP_ITERATIONS",
		`the step still asked for tools after ${maxIterations} turns; raise plan.step_max_iterations or split the step`,
		{ maxIterations },
	);

/** Counts what each answer has used, paid for now or recalled: above its limit a step may not go on. An answer that ends it is paid for, and taken. */
function withinTokens({ max_tokens: most = Number.POSITIVE_INFINITY }: PlanStep) {
	let used = 0;
	return async ({ usage, toolCalls }: ModelReply): Promise<void> => {
		used += usage.inputTokens + usage.outputTokens;
		if (used <= most || toolCalls.length === 0) return;
		throw new PlanError(
			"PLAN_STEP_TOKENS",
			`the step has used ${used} of ${most} tokens (max_tokens) and still asks for tools; allow more, or split the step`,
			{ used, most },
		);
	};
}

/** The results of the steps that a step depends on, by id. */
async function resultsFor({ depends_on }: PlanStep, ports: PlanPorts): Promise<ReadonlyMap<string, string>> {
	const run = ports.run();
	return new Map(
		await Promise.all(depends_on.map(async (id) => [id, await textOf(stepOf(run, id), ports.results)] as const)),
	);
}

/** The result of a step in the form of its record. A large one is stored before this resolves, waiting for space. */
async function kept(
	lane: string,
	reply: ModelReply,
	ports: PlanPorts,
): Promise<{ readonly result: string } | { readonly spilled: SpilledText }> {
	const spilled = await patiently(lane, ports, () => spillText(reply, ports.results));
	return spilled ? { spilled } : { result: reply.text };
}

/** Writes, and waits while the disk is full. @throws the signal's reason, and other errors of `write` */
function patiently<T>(
	lane: string,
	{ observe, timers = systemTimers, signal }: PlanPorts,
	write: () => T | Promise<T>,
): Promise<T> {
	const waiting = ({ code, message }: Error & { readonly code: string }): void =>
		observe?.({ type: "no_space", lane, kind: "plan_step", name: lane, code, reason: message });
	return whenSpace(write, waiting, timers, signal);
}

/** The longest reason of a failed step, in characters: it stands in the record, and in the prompts of steps that depend on it. */
const MAX_REASON = 1000;

/** A text of so many characters at most. What is told of it now is what the log gives back later: half a character is U+FFFD. */
const cut = (text: string, most = 60): string =>
	(text.length > most ? `${text.slice(0, most - 1)}…` : text).toWellFormed();
