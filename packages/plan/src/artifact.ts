/** The blobs of a plan beside the log: its decomposition, which the model makes once and never again, and large results of steps. */
import { type SpilledText, spilledResults } from "@reyn/journal";
import { hashedTexts } from "@reyn/journal/internal";
import type { BlobStore, Draft } from "@reyn/wal";
import { z } from "zod";
import { type Decomposition, decompositionSchema, MAX_BYTES, textOf } from "./decomposition.ts";
import { type PlanRuns, plansOf } from "./plan-runs.ts";
import { planAmended, planStarted, planStepCompleted } from "./records.ts";

export type ReadDecomposition =
	| { readonly kind: "sound"; readonly decomposition: Decomposition }
	| { readonly kind: "lost"; readonly why: string };

/** The blobs of decompositions: which names are theirs, and which records and states refer to them. */
export const decompositions = {
	isName: hashedTexts.isName,

	ofRecord: ({ kind, data }: Draft): readonly string[] =>
		kind === planStarted.kind || kind === planAmended.kind
			? hashedTexts.namesOf((data as { decomposition: string }).decomposition)
			: [],

	ofState: (plans: PlanRuns): readonly string[] =>
		hashedTexts.namesOf(...plansOf(plans).map(([, { decomposition }]) => decomposition)),
};

/** The results of steps beside the log: which records and states refer to them. */
export const spilledStepResults = {
	ofRecord: ({ kind, data }: Draft): readonly string[] =>
		kind === planStepCompleted.kind ? spilledResults.ofText((data as { spilled?: SpilledText }).spilled) : [],

	ofState: (plans: PlanRuns): readonly string[] =>
		plansOf(plans)
			.flatMap(([, { steps }]) => Object.values(steps))
			.flatMap((step) => (step.status === "completed" ? spilledResults.ofText(step.spilled) : [])),
};

/** Writes a decomposition durably. @returns its SHA-256, which the plan's first record carries */
export const writeDecomposition = (decomposition: Decomposition, blobs: BlobStore): Promise<string> =>
	hashedTexts.put(textOf(decomposition), blobs);

/** Reads a decomposition; a missing, changed or newer one is `lost`. @throws any other failure to read, which may pass */
export async function readDecomposition(sha256: string, blobs: BlobStore): Promise<ReadDecomposition> {
	const read = await hashedTexts.get(sha256, blobs, MAX_BYTES);
	if (read.kind === "lost") return read;
	const parsed = decompositionSchema.safeParse(JSON.parse(read.text));
	return parsed.success
		? { kind: "sound", decomposition: parsed.data }
		: { kind: "lost", why: `this version of Reyn cannot read them: ${z.prettifyError(parsed.error)}` };
}
