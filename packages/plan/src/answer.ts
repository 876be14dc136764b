/** The answer of a plan: the text of its last step, or what the others have found. */
import type { BlobStore } from "@reyn/wal";
import { type Decomposition, terminalStep } from "./decomposition.ts";
import { resultOf } from "./lost-result.ts";
import type { PlanRun } from "./plan-runs.ts";
import { stepOf } from "./step-status.ts";

export interface PlanResult {
	/** The text of the last step; where that has failed, what the others have found, and why it has. */
	readonly text: string;
	/** Ids of the steps that failed. */
	readonly failed: readonly string[];
}

/** @throws LostResult for one that is missing or changed in `results` */
export async function answerOf(run: PlanRun, decomposition: Decomposition, results?: BlobStore): Promise<PlanResult> {
	const { steps } = decomposition;
	const failed = failedIn(run, decomposition);
	const terminal = terminalStep(decomposition);
	const last = stepOf(run, terminal.id);
	if (last.status !== "failed") return { text: await resultOf(run, terminal.id, results), failed };
	const others = steps.filter(({ id }) => id !== terminal.id);
	const found = await Promise.all(
		others.map(async ({ id, description }) => `## ${id}: ${description}\n${await resultOf(run, id, results)}`),
	);
	const text = [
		`This plan has no answer: its last step, ${terminal.id}, failed: ${last.reason}`,
		"What the steps before it have found:",
		...found,
	].join("\n\n");
	return { text, failed };
}

/** The ids of the steps that failed, in the plan's order. */
export const failedIn = (run: PlanRun, { steps }: Decomposition): readonly string[] =>
	steps.map(({ id }) => id).filter((id) => stepOf(run, id).status === "failed");
