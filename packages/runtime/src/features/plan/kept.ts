/** The blobs that plans keep beside the log: their steps, as the model made them, and large results of steps. */
import { decompositions, planRuns, spilledStepResults } from "@reyn/plan";
import { amongResults, type BlobArea } from "../../kernel/store.ts";

export const PLANS = "plans";

export const kept: readonly BlobArea[] = [
	{
		area: PLANS,
		isName: decompositions.isName,
		ofRecord: decompositions.ofRecord,
		ofView: (view) => decompositions.ofState(view.get(planRuns)),
	},
	amongResults({
		ofRecord: spilledStepResults.ofRecord,
		ofView: (view) => spilledStepResults.ofState(view.get(planRuns)),
	}),
];
