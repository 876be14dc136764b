/** The blobs of a plan beside the log: its decomposition, which the model makes once and never again, and large results of steps. */
import { type SpilledText, spilledResults } from "@reyn/journal";
import { hashedTexts } from "@reyn/journal/internal";
import type { BlobStore, Draft } from "@reyn/wal";
import { type Decomposition, decompositionSchema, MAX_BYTES, problemsOf, textOf } from "./decomposition.ts";
import { PlanError } from "./errors.ts";
import { type PlanRun, type PlanRuns, plansOf } from "./plan-runs.ts";
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

/**
 * Reads a decomposition; a missing or changed one is `lost`.
 *
 * @throws PlanError `PLAN_UNREADABLE` for one that is as it was written, by another version; any other failure to read, which may pass
 */
export async function readDecomposition(sha256: string, blobs: BlobStore): Promise<ReadDecomposition> {
	const read = await hashedTexts.get(sha256, blobs, MAX_BYTES);
	if (read.kind === "lost") return read;
	const parsed = decompositionSchema.safeParse(jsonOf(read.text));
	if (parsed.success) return { kind: "sound", decomposition: parsed.data };
	const problems = problemsOf(parsed.error);
	throw new PlanError(
		"PLAN_UNREADABLE",
		`the steps of a plan are none that this version reads (${problems[0]}); go on with the version that made them, or discard the plan`,
		{ decomposition: sha256, problems },
	);
}

function jsonOf(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		return text;
	}
}

/** The steps of a plan. @throws PlanError `PLAN_LOST`; any other failure to read, which may pass */
export async function keptOf(
	{ decomposition }: Pick<PlanRun, "decomposition">,
	plan: string,
	blobs: BlobStore,
): Promise<Decomposition> {
	const read = await readDecomposition(decomposition, blobs);
	if (read.kind === "sound") return read.decomposition;
	throw new PlanError("PLAN_LOST", `the steps of plan ${plan} are lost: ${read.why}. Discard it, and ask anew`, {
		plan,
	});
}
