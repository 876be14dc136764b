/** Derives events from the records of plans. */
import {
	type Decomposition,
	type PlanRun,
	planAborted,
	planAmended,
	planCompleted,
	planIn,
	planPaused,
	planRuns,
	planStarted,
	planStepCompleted,
	planStepFailed,
	planStepStarted,
	planStepsReset,
	readDecomposition,
} from "@reyn/plan";
import { stepOf } from "@reyn/plan/internal";
import type { WalRecord } from "@reyn/wal";
import type { TellContext } from "../../kernel/pump.ts";
import { sessionOf } from "../../kernel/sessions.ts";
import type { PlanEvent } from "./events.ts";
import { PLANS } from "./kept.ts";

export async function tellPlan(record: WalRecord, context: TellContext): Promise<readonly PlanEvent[]> {
	const scope = sessionOf(record.scope);
	if (planStarted.is(record)) {
		const { plan, goal, decomposition } = record.data;
		const { steps } = await stepsOf(decomposition, context);
		return [{ type: "plan_started", scope, plan, ...chainOf(record.data), goal, steps, finished: 0 }];
	}
	if (planStepStarted.is(record)) return [await stepEvent(record, context, record.data, { status: "running" })];
	if (planStepCompleted.is(record)) {
		const { cost } = record.data;
		return [await stepEvent(record, context, record.data, { status: "completed", cost })];
	}
	if (planStepFailed.is(record)) {
		const { reason, cost } = record.data;
		return [await stepEvent(record, context, record.data, { status: "failed", reason, ...(cost && { cost }) })];
	}
	if (planAmended.is(record)) {
		const { plan, decomposition } = record.data;
		return [{ type: "plan_amended", scope, plan, steps: (await stepsOf(decomposition, context)).steps }];
	}
	if (planPaused.is(record)) {
		const { plan, why: reason } = record.data;
		// What a rewind leaves paused says no reason, and is told with the rewind.
		if (reason === undefined) return [];
		const run = planIn((await context.before()).get(planRuns), plan);
		return [{ type: "plan_end", scope, plan, ...chainOf(run), outcome: "paused", failed: [], reason }];
	}
	if (planStepsReset.is(record)) {
		const { plan, steps, why: reason } = record.data;
		// What a person has asked for is told by whom they have asked.
		if (reason === undefined) return [];
		return Promise.all(steps.map((step) => stepEvent(record, context, { plan, step }, { status: "again", reason })));
	}
	if (planCompleted.is(record)) {
		const { plan, failed: hasFailed } = record.data;
		const run = planIn((await context.before()).get(planRuns), plan);
		const steps = run ? (await stepsOf(run.decomposition, context)).steps.map(({ id }) => id) : [];
		const failed = steps.filter((id) => run && stepOf(run, id).status === "failed");
		const outcome = hasFailed ? "failed" : "completed";
		return [{ type: "plan_end", scope, plan, ...chainOf(run), outcome, failed }];
	}
	if (planAborted.is(record)) {
		const { plan, reason } = record.data;
		const run = planIn((await context.before()).get(planRuns), plan);
		return [{ type: "plan_end", scope, plan, ...chainOf(run), outcome: "discarded", failed: [], reason }];
	}
	return [];
}

/** Who waits for a plan, as its events say it. */
export const chainOf = ({ chain }: Pick<PlanRun, "chain"> = {}): { readonly chain?: string } =>
	chain === undefined ? {} : { chain };

type StepEvent = Extract<PlanEvent, { readonly type: "plan_step" }>;

async function stepEvent(
	record: WalRecord,
	context: TellContext,
	{ plan, step }: { readonly plan: string; readonly step: string },
	change: StepEvent["change"],
): Promise<StepEvent> {
	const run = planIn((await context.before()).get(planRuns), plan);
	const { steps } = run ? await stepsOf(run.decomposition, context) : lost;
	const index = steps.findIndex(({ id }) => id === step) + 1;
	const { description = "" } = steps[index - 1] ?? {};
	const settled = run ? settledIn(run) : new Set<string>();
	const isOver = change.status === "completed" || change.status === "failed";
	if (isOver) settled.add(step);
	if (change.status === "again") settled.delete(step);
	const began = run && stepOf(run, step);
	const took = began?.status === "running" && began.at !== undefined ? Math.max(0, record.ts - began.at) : undefined;
	return {
		type: "plan_step",
		scope: sessionOf(record.scope),
		plan,
		step,
		index,
		size: run?.size ?? 0,
		done: settled.size,
		description: description.length > 60 ? `${description.slice(0, 59)}…` : description,
		change: isOver && took !== undefined ? { ...change, took } : change,
	};
}

const settledIn = ({ steps }: PlanRun): Set<string> =>
	new Set(
		Object.entries(steps).flatMap(([id, { status }]) => (status === "completed" || status === "failed" ? [id] : [])),
	);

const lost: Pick<Decomposition, "steps"> = { steps: [] };

/** The steps of a plan, from beside the log; none if they are lost. */
async function stepsOf(hash: string, context: TellContext): Promise<Pick<Decomposition, "steps">> {
	const read = await readDecomposition(hash, context.blobs(PLANS));
	return read.kind === "sound" ? read.decomposition : lost;
}
