/** What a plan keeps beside the log: its decomposition, as the model made it and never made again, and large results of steps. */
import { type SpilledText, spilledResults } from "@reyn/journal";
import { hashedTexts } from "@reyn/journal/internal";
import type { BlobStore, Draft } from "@reyn/wal";
import { type Decomposition, decompositionSchema, MAX_BYTES, textOf } from "./decomposition.ts";
import type { PlanRuns } from "./plan-runs.ts";
import { planStarted, planStepCompleted } from "./records.ts";

export type ReadDecomposition =
	| { readonly kind: "sound"; readonly decomposition: Decomposition }
	| { readonly kind: "lost"; readonly why: string };

/** The decompositions by their names in the store that they are written to: which are theirs, and who refers to them. */
export const decompositions = {
	isName: hashedTexts.isName,

	ofRecord: ({ kind, data }: Draft): readonly string[] =>
		kind === planStarted.kind ? hashedTexts.namesOf((data as { decomposition: string }).decomposition) : [],

	ofState: (plans: PlanRuns): readonly string[] =>
		hashedTexts.namesOf(...Object.values(plans).map(({ decomposition }) => decomposition)),
};

/** The results of steps that lie beside the log, by their names in the store of results: who refers to them. */
export const spilledStepResults = {
	ofRecord: ({ kind, data }: Draft): readonly string[] =>
		kind === planStepCompleted.kind ? spilledResults.ofText((data as { spilled?: SpilledText }).spilled) : [],

	ofState: (plans: PlanRuns): readonly string[] =>
		Object.values(plans)
			.flatMap(({ steps }) => Object.values(steps))
			.flatMap((step) => (step.status === "completed" ? spilledResults.ofText(step.spilled) : [])),
};

/** Writes it durably, and gives its SHA-256, which the plan's first record carries. */
export const writeDecomposition = (decomposition: Decomposition, blobs: BlobStore): Promise<string> =>
	hashedTexts.put(textOf(decomposition), blobs);

/** Reads it back; one that is missing or changed is lost, and says so. Any other failure to read is thrown: it may pass. */
export async function readDecomposition(sha256: string, blobs: BlobStore): Promise<ReadDecomposition> {
	const read = await hashedTexts.get(sha256, blobs, MAX_BYTES);
	if (read.kind === "lost") return read;
	return { kind: "sound", decomposition: decompositionSchema.parse(JSON.parse(read.text)) };
}
