/** Pure: what may run now, and what a finished step gives to those that wait for it. */
import { entryAt } from "@reyn/snapshot";
import type { Decomposition, PlanStep } from "./decomposition.ts";
import type { PlanRun, StepRun } from "./plan-runs.ts";

export function stepOf(run: PlanRun, id: string): StepRun {
	return entryAt(run.steps, id) ?? { status: "pending", attempt: 0 };
}

/** Is it over, one way or the other? */
export const isSettled = ({ status }: StepRun): boolean => status === "completed" || status === "failed";

export function isFinished(run: PlanRun, { steps }: Decomposition): boolean {
	return steps.every(({ id }) => isSettled(stepOf(run, id)));
}

/** The steps that are not settled, and whose dependencies all are. */
export function readySteps(run: PlanRun, { steps }: Decomposition): readonly PlanStep[] {
	return steps.filter(
		({ id, depends_on }) => !isSettled(stepOf(run, id)) && depends_on.every((need) => isSettled(stepOf(run, need))),
	);
}

/** What dependents, and the user, read in place of a step. */
export function textOf(step: StepRun): string {
	switch (step.status) {
		case "completed":
			return step.result;
		case "failed":
			return `(FAILED: ${step.reason})`;
		case "pending":
		case "running":
			return "(not finished)";
	}
}
