/** What records say of steps that begin and end, for a timeline: so that an outcome is known on every line that has its start. */
import type { View } from "@reyn/snapshot";
import type { Draft, Seq } from "@reyn/wal";
import { z } from "zod";
import { entryKey, stepKinds } from "./entry.ts";
import { isAwaited, journal, openStarts } from "./journal.ts";
import { stepCompleted, stepStarted } from "./records.ts";

/** Which step, and of an outcome its first start. What was kept aside is checked here: no schema of the log has. */
const spoken = z.object({ lane: z.string(), fp: z.string(), occ: z.int(), started: z.int().optional() });

export interface StepReport {
	readonly of: string;
	readonly what: "begun" | "failed" | "done";
	readonly start?: Seq | undefined;
}

/** Give it to `openTimeline` of @reyn/timetravel as `outcomes`, with `journal` among its projections. */
export const stepOutcomes = {
	kinds: stepKinds,
	read({ kind, data }: Draft): StepReport | undefined {
		const step = stepKinds.includes(kind) ? spoken.safeParse(data).data : undefined;
		if (!step) return undefined;
		const of = `${step.lane} ${entryKey(step)}`;
		if (kind === stepStarted.kind) return { of, what: "begun" };
		return { of, what: kind === stepCompleted.kind ? "done" : "failed", start: step.started };
	},
	openStarts: (view: View): readonly Seq[] => openStarts(view.get(journal)),
	isAwaited: (view: View, outcome: Draft): boolean => isAwaited(view.get(journal), outcome),
	/** One that is repeated again names the first. */
	adopting: ({ kind, data }: Draft, from: Seq): Draft => ({ kind, data: { adopts: from, ...(data as object) } }),
} as const;
