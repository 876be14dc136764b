/** Runs one step of a plan: a narrow loop of model and tools, within its limits. */
import {
	agentLoop,
	Lane,
	type ModelReply,
	type ModelRequest,
	Order,
	type SpilledText,
	spillText,
	type Tool,
	type Using,
} from "@reyn/journal";
import { reasonOf } from "@reyn/journal/internal";
import { entryAt } from "@reyn/snapshot";
import { isReynError, type Scope, systemTimers } from "@reyn/wal";
import type { Decomposition, PlanStep } from "./decomposition.ts";
import { PlanError } from "./errors.ts";
import type { PlanPorts, PlanProgress } from "./execute.ts";
import { resultOf } from "./lost-result.ts";
import { shownTo } from "./narrow.ts";
import { patiently } from "./patiently.ts";
import type { Cost } from "./records.ts";
import { Paused, type StepLimits } from "./step-limits.ts";

/** One attempt of a step. */
export interface StepTask {
	readonly plan: string;
	/** From 0. */
	readonly attempt: number;
	readonly lane: string;
	readonly decomposition: Decomposition;
	readonly step: PlanStep;
	readonly scope: Scope;
}

/** A call of a step waits for somebody, is in doubt, or what it runs has stopped for now: the step has not failed. */
export const held = ["CALL_WAITING", "CALL_IN_DOUBT", "CALL_HELD"] as const;

/** How a step ended. `paused`: it has not, and its plan waits. */
export type StepOutcome =
	| { readonly kind: "completed"; readonly result: KeptText; readonly cost: Cost }
	| { readonly kind: "failed"; readonly reason: string; readonly cost: Cost }
	| { readonly kind: "paused" };

/** A text in the form of a record. */
export type KeptText = { readonly result: string } | { readonly spilled: SpilledText };

/** A result with more bytes of JSON lies beside the log, so that the state of a plan stays small. */
const RESULT_BYTES = 1024;

/** The longest reason of a failed step, in characters: it stands in the record, and in the prompts of steps that depend on it. */
const MAX_REASON = 1000;
/** The same in bytes of JSON: a finished step takes less than 2 KB of the state. */
const REASON_BYTES = 1500;

/**
 * Runs an attempt until it ends, or waits. A model call is tried again by the common policy, `retryLimit` times.
 *
 * @throws JournalError {@link held}: it goes on when its plan does; LostResult of a step that it depends on; the signal's reason
 */
export async function tryStep(
	task: StepTask,
	limits: StepLimits,
	ports: PlanPorts,
	report: (change: PlanProgress["change"]) => void,
): Promise<StepOutcome> {
	const { request, tools } = askedOf(task, await resultsFor(task.step, ports), ports);
	const model = entryAt(ports.models ?? {}, task.step.model ?? "") ?? ports.model;
	for (;;) {
		try {
			const signal = limits.begin();
			const { reply } = await agentLoop(laneOf(task, { ...ports, signal }, report), model, request, tools, {
				maxRounds: ports.limits.stepMaxIterations,
				more: (rounds) => limits.iterations(rounds),
				tooMany: stillAsking,
				retry: { maxAttempts: ports.limits.retryLimit + 1 },
				mayAsk: () => limits.asks(),
				onReply: (reply, _round, place) => limits.answered(reply, place),
			});
			return { kind: "completed", result: await kept(task.lane, reply, ports), cost: limits.cost };
		} catch (error) {
			limits.end();
			const failed = await afterwards(error, limits, ports);
			if (failed) return failed;
		} finally {
			limits.end();
		}
	}
}

/** May a step begin, by the limit of its plan? @returns undefined: it may; else how it has ended, or that its plan waits @throws as {@link tryStep} */
export async function mayBegin(limits: StepLimits, ports: PlanPorts): Promise<StepOutcome | undefined> {
	try {
		await limits.asks();
		return undefined;
	} catch (error) {
		return afterwards(error, limits, ports);
	}
}

/** What a step is asked, with which tools. Reports it. */
function askedOf(
	task: StepTask,
	results: ReadonlyMap<string, string>,
	ports: PlanPorts,
): { readonly request: ModelRequest; readonly tools: readonly Tool[] } {
	const { decomposition, step, plan, attempt } = task;
	const own = ports.tools.filter(({ name }) => step.tools.includes(name));
	const whole = shownTo(decomposition, step, results, own, "whole");
	// What an older version has paid for is recalled by what it has asked with.
	const isPaid =
		laneOf(task, ports, () => {})
			.rounds(whole.request.messages)
			.placeOf(0) !== undefined;
	const { request, tools, parts, cut } = isPaid ? whole : shownTo(decomposition, step, results, own);
	ports.context?.({ plan, step: step.id, attempt, parts, cut });
	return { request, tools };
}

/** What follows an error. Undefined: the step goes on. @throws what ends the plan's run */
async function afterwards(error: unknown, limits: StepLimits, { signal }: PlanPorts): Promise<StepOutcome | undefined> {
	signal.throwIfAborted();
	if (error instanceof Paused) return { kind: "paused" };
	// The step has not failed: the call is asked about again when the plan goes on.
	if (isReynError(error, ...held)) throw error;
	try {
		await limits.goesOn(error);
		return undefined;
	} catch (end) {
		signal.throwIfAborted();
		if (end instanceof Paused) return { kind: "paused" };
		if (isReynError(end, "CALL_WAITING")) throw end;
		return { kind: "failed", reason: cut(reasonOf(end).message), cost: limits.cost };
	}
}

function laneOf(
	{ lane: program, scope }: StepTask,
	ports: PlanPorts,
	report: (change: PlanProgress["change"]) => void,
): Lane {
	const { timers = systemTimers, limits } = ports;
	const recordedIn = ports.recordedIn?.bind(ports);
	// A failed step has a record of its own, `plan_step_failed`. If a kill prevents that, the step still counts as failed.
	const order = new Order({ program, recordedIn, timers, recordsItsEnd: true });
	const observe: Using["observe"] = (event) => {
		ports.observe?.(event);
		if (event.type === "retrying" && event.kind === "model")
			report({ status: "retrying", reason: event.reason, retry: event.attempt, limit: limits.retryLimit });
	};
	return new Lane(program, scope, { ...ports, observe }, undefined, order);
}

const stillAsking = (maxIterations: number): PlanError =>
	new PlanError(
		"PLAN_STEP_ITERATIONS",
		`the step still asked for tools after ${maxIterations} turns; raise plan.step_max_iterations or split the step`,
		{ maxIterations },
	);

/** The results of the steps that a step depends on, by id. */
async function resultsFor({ depends_on }: PlanStep, ports: PlanPorts): Promise<ReadonlyMap<string, string>> {
	const run = ports.run();
	return new Map(
		await Promise.all(depends_on.map(async (id) => [id, await resultOf(run, id, ports.results)] as const)),
	);
}

/** The result of a step in the form of its record. One that is not short is stored before this resolves, waiting for space. */
async function kept(lane: string, reply: ModelReply, ports: PlanPorts): Promise<KeptText> {
	const { results } = ports;
	// A reply above 32 KiB lies there already.
	const spill = async () => (await spillText(reply, results)) ?? (await spillText(reply.text, results, RESULT_BYTES));
	const spilled = await patiently(lane, ports, spill);
	return spilled ? { spilled } : { result: reply.text };
}

/** What is told of it now is what the log gives back later: half a character is U+FFFD. */
function cut(text: string): string {
	for (let most = MAX_REASON; ; ) {
		const short = (text.length > most ? `${text.slice(0, most - 1)}…` : text).toWellFormed();
		const bytes = Buffer.byteLength(JSON.stringify(short));
		if (bytes <= REASON_BYTES) return short;
		most = Math.floor((Math.min(most, text.length) * REASON_BYTES) / bytes);
	}
}
