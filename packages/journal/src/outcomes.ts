/** Tells a timeline which records begin and end a step, so that an outcome is known on every line of history that has its start. */
import type { View } from "@reyn/snapshot";
import type { Draft, Seq } from "@reyn/wal";
import { z } from "zod";
import { entryKey, stepKinds } from "./entry.ts";
import { isAwaited, journal, openStarts } from "./journal.ts";
import { stepCompleted, stepStarted } from "./records.ts";

/** The step that a record is about, and the seq of its first start. Records kept aside (`step_late`) were checked by no schema yet. */
const spoken = z.object({
	lane: z.string(),
	fp: z.string(),
	occ: z.int(),
	started: z.int().optional(),
	attempt: z.int().optional(),
	adopts: z.int().optional(),
	told: z.boolean().optional(),
	retryable: z.boolean().optional(),
});

export interface StepReport {
	readonly of: string;
	readonly what: "begun" | "failed" | "done";
	readonly start?: Seq | undefined;
	readonly retried?: true;
	readonly repeats?: Seq | undefined;
	readonly again?: true;
}

/** Give this to `openTimeline` of @reyn/timetravel as `outcomes`, with `journal` among its projections. */
export const stepOutcomes = {
	kinds: stepKinds,
	read({ kind, data }: Draft): StepReport | undefined {
		const step = stepKinds.includes(kind) ? spoken.safeParse(data).data : undefined;
		if (!step) return undefined;
		const of = `${step.lane} ${entryKey(step)}`;
		const what = kind === stepStarted.kind ? "begun" : kind === stepCompleted.kind ? "done" : "failed";
		const { started: start, adopts: repeats, attempt = 1 } = step;
		// Older versions told of a failure exactly when it was not retryable.
		const { retryable, told = !retryable } = step;
		const isRetried = what === "failed" && !told;
		// A start of an older version does not say of which it is another try.
		const isAgain = what === "begun" && start === undefined && attempt > 1;
		const more = { ...(isRetried && { retried: true as const }), ...(isAgain && { again: true as const }) };
		return { of, what, start, repeats, ...more };
	},
	openStarts: (view: View): readonly Seq[] => openStarts(view.get(journal)),
	isAwaited: (view: View, outcome: Draft): boolean => isAwaited(view.get(journal), outcome),
	/** The record that repeats an outcome. An outcome that is a repeat itself keeps naming the first one. */
	adopting: ({ kind, data }: Draft, from: Seq): Draft => ({ kind, data: { adopts: from, ...(data as object) } }),
} as const;
