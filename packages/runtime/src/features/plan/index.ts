/** Plans: steps in the background that a turn has asked for. */
import {
	type PlanLimits,
	planAborted,
	planPaused,
	planRecords,
	planResumed,
	planRuns,
	planStarted,
	planStepsReset,
} from "@reyn/plan";
import { defaultPlanLimits } from "@reyn/plan/internal";
import type { Feature } from "../../kernel/feature.ts";
import { asker, backgroundMessages } from "../../kernel/services.ts";
import { auditPlan } from "./audit.ts";
import { kept } from "./kept.ts";
import { plansIn } from "./pieces.ts";
import { PlanHost, type PlanResume } from "./plan-host.ts";
import type { ProposalOptions } from "./proposal.ts";
import { tellPlan } from "./tell.ts";

export interface PlanOptions {
	readonly plans?: ProposalOptions | undefined;
	readonly limits?: Partial<PlanLimits> | undefined;
	readonly planResume?: PlanResume | undefined;
}

export const planFeature = ({ plans, limits, planResume = "retry_pending" }: PlanOptions = {}): Feature<PlanHost> => ({
	name: "plan",
	records: { code: planRecords },
	projections: [planRuns],
	begins: [planStarted, planStepsReset, planResumed],
	undo: {
		[planAborted.kind]: (record) =>
			planAborted.is(record) && record.data.by === "person" ? { takenBackBy: { scope: record.scope } } : undefined,
	},
	blobs: kept,
	needs: [asker, backgroundMessages],
	pieces: plansIn,
	// It costs again, and nobody waits for it any more: a person says so.
	settle: ({ id }, before) =>
		before ? { becomes: "running" } : { becomes: "waiting", draft: planPaused({ plan: id }) },
	tell: tellPlan,
	audit: auditPlan,
	start: (kernel) => new PlanHost(kernel, { ...defaultPlanLimits, ...limits }, planResume, plans),
});
