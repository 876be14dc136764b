/** Plans: steps in the background that a turn has asked for. */
import { laneClosed } from "@reyn/journal";
import {
	type PlanLimits,
	planAborted,
	planAmended,
	planLane,
	planPaused,
	planRecords,
	planResumed,
	planRuns,
	planStarted,
	planStepsReset,
} from "@reyn/plan";
import { defaultPlanLimits } from "@reyn/plan/internal";
import type { WalRecord } from "@reyn/wal";
import type { Feature } from "../../kernel/feature.ts";
import { asker, backgroundMessages } from "../../kernel/services.ts";
import { auditPlan } from "./audit.ts";
import { kept } from "./kept.ts";
import { plansIn } from "./pieces.ts";
import { type OnLimit, PlanHost, type PlanResume } from "./plan-host.ts";
import type { ProposalOptions } from "./proposal.ts";
import { plansBegun } from "./rewound.ts";
import { tellPlan } from "./tell.ts";

export interface PlanOptions {
	readonly plans?: ProposalOptions | undefined;
	readonly limits?: Partial<PlanLimits> | undefined;
	readonly planResume?: PlanResume | undefined;
	readonly onLimit?: OnLimit | undefined;
}

const ofPerson = [planAborted, planStepsReset, planAmended, planPaused, planResumed];

/** What a person has done to a plan is taken back in that plan alone. */
const byPerson = ({ data, scope }: WalRecord) =>
	(data as { by?: unknown }).by === "person" ? { takenBackBy: { scope } } : undefined;

export const planFeature = ({
	plans,
	limits,
	planResume = "retry_pending",
	onLimit,
}: PlanOptions = {}): Feature<PlanHost> => ({
	name: "plan",
	records: { code: planRecords },
	projections: [planRuns, plansBegun],
	begins: [planStarted, planStepsReset, planAmended, planResumed],
	undo: Object.fromEntries(ofPerson.map(({ kind }) => [kind, byPerson])),
	blobs: kept,
	needs: [asker, backgroundMessages],
	pieces: plansIn,
	// It costs again, and nobody waits for it any more: a person says so.
	settle: ({ id }, before) =>
		before ? { becomes: "running" } : { becomes: "waiting", draft: planPaused({ plan: id }) },
	end: ({ id }, reason) => [planAborted({ plan: id, reason }), laneClosed({ lane: planLane(id) })],
	tell: tellPlan,
	audit: auditPlan,
	start: (kernel) => new PlanHost(kernel, { ...defaultPlanLimits, ...limits }, planResume, onLimit, plans),
});
