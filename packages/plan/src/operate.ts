/** Questions of an operator about plans: which are in flight, and what their steps cost. */
import { PlanError } from "./errors.ts";
import { isInFlight, type PlanRun, type PlanRuns, planIn, plansOf, type StepRun } from "./plan-runs.ts";

/** The plan of an id that is in flight. @throws PlanError `PLAN_UNKNOWN`, saying how one that is over can go on, and naming the plans in flight */
export function findPlan(plans: PlanRuns, id: string): PlanRun {
	const run = planIn(plans, id);
	if (run && isInFlight(run)) return run;
	const live = inFlight(plans).map(([plan]) => plan);
	const text = run
		? `plan "${id}" is over: ${endOf(run)}. In flight: ${live.join(", ") || "none"}`
		: `no plan "${id}" is in flight; ${live.length > 0 ? `these are: ${live.join(", ")}` : "none is"}`;
	throw new PlanError("PLAN_UNKNOWN", text, {
		...{ plan: id, inFlight: live },
		...(run && { status: run.status, failed: failedIn(run) }),
	});
}

/**
 * The plan of an id that is in flight or has its answer, so that its steps can run again.
 *
 * @throws PlanError `PLAN_UNKNOWN`, naming the plans that there are, and how one that was given up comes back
 */
export function findKept(plans: PlanRuns, id: string): PlanRun {
	const run = planIn(plans, id);
	if (run && run.status !== "aborted") return run;
	const known = plansOf(plans).flatMap(([plan, { status }]) => (status === "aborted" ? [] : [plan]));
	const text = run
		? `plan "${id}" was given up; undo that first`
		: `no plan "${id}" is known; ${known.length > 0 ? `these are: ${known.slice(-20).join(", ")}` : "none is"}`;
	throw new PlanError("PLAN_UNKNOWN", text, { plan: id, known });
}

/** The plans in flight, running or paused, oldest first. */
export const inFlight = ({ live }: PlanRuns): readonly (readonly [id: string, run: PlanRun])[] =>
	Object.entries(live)
		.filter(([, run]) => isInFlight(run))
		.sort(([, a], [, b]) => a.started - b.started);

/** How a plan ended, and what can be done with it. */
function endOf(run: PlanRun): string {
	if (run.status === "aborted")
		return `it was given up${run.why === undefined ? "" : ` (${run.why})`}; undo that to take it up again`;
	const failed = failedIn(run);
	return failed.length > 0
		? `it has its answer, though ${failed.join(", ")} failed; retry what failed, or resume it from any step`
		: "it has its answer; resume it from a step to run that again, with all behind it";
}

const failedIn = ({ steps }: PlanRun): readonly string[] =>
	Object.entries(steps).flatMap(([id, { status }]) => (status === "failed" ? [id] : []));

/** The tokens that the last attempt of a step took. Undefined: unknown, as of one that got no answer, whose calls may have cost something. */
export const tokensOf = (step: StepRun): number | undefined =>
	"cost" in step && step.cost && step.cost.calls > 0 ? step.cost.inputTokens + step.cost.outputTokens : undefined;

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
