/** Questions of an operator about plans: which are in flight, and what their finished steps cost. */
import { entryAt } from "@reyn/snapshot";
import { PlanError } from "./errors.ts";
import { isInFlight, type PlanRun, type PlanRuns } from "./plan-runs.ts";

/** The plan of an id that is in flight. @throws PlanError `PLAN_UNKNOWN`, naming the plans in flight */
export function findPlan(plans: PlanRuns, id: string): PlanRun {
	const run = entryAt(plans, id);
	if (run && isInFlight(run)) return run;
	const live = inFlight(plans).map(([plan]) => plan);
	throw new PlanError(
		"PLAN_UNKNOWN",
		`no plan "${id}" is in flight; ${live.length > 0 ? `these are: ${live.join(", ")}` : "none is"}`,
		{ plan: id, inFlight: live },
	);
}

/** The plans in flight, running or paused, oldest first. */
export function inFlight(plans: PlanRuns): readonly (readonly [id: string, run: PlanRun])[] {
	return Object.entries(plans)
		.filter(([, run]) => isInFlight(run))
		.sort(([, a], [, b]) => a.started - b.started);
}

/** What the finished steps of a plan cost, which a resume does not pay for again. */
export function costOf({ steps }: PlanRun): {
	readonly steps: number;
	readonly calls: number;
	readonly tokens: number;
} {
	const done = Object.values(steps).filter((step) => step.status === "completed");
	return {
		steps: done.length,
		calls: done.reduce((sum, { cost }) => sum + cost.calls, 0),
		tokens: done.reduce((sum, { cost }) => sum + cost.inputTokens + cost.outputTokens, 0),
	};
}
