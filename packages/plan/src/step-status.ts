/** The status of plan steps: which may run now, and what a finished one gives to the steps that depend on it. */
import { readText } from "@reyn/journal";
import { entryAt } from "@reyn/snapshot";
import type { BlobStore } from "@reyn/wal";
import type { Decomposition, PlanStep } from "./decomposition.ts";
import type { PlanRun, StepRun } from "./plan-runs.ts";

export function stepOf(run: PlanRun, id: string): StepRun {
	return entryAt(run.steps, id) ?? { status: "pending", attempt: 0 };
}

/** Is the step over, completed or failed? */
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

/**
 * The text of a finished step, for the steps that depend on it and for the user: its result, or that it failed and why.
 *
 * @param results the store of results above 32 KiB
 * @throws JournalError `RESULT_LOST` when it is missing or changed there
 */
export async function textOf(step: StepRun, results?: BlobStore): Promise<string> {
	switch (step.status) {
		case "completed":
			return step.spilled ? readText(step.spilled, results) : (step.result ?? "");
		case "failed":
			return `(FAILED: ${step.reason})`;
		case "pending":
		case "running":
			return "(not finished)";
	}
}
