/** The lines of plans in the audit trail. */
import {
	planAborted,
	planAmended,
	planCompleted,
	planPaused,
	planResumed,
	planStarted,
	planStepCompleted,
	planStepExtended,
	planStepFailed,
	planStepStarted,
	planStepsReset,
} from "@reyn/plan";
import type { WalRecord } from "@reyn/wal";
import { type Audited, brief } from "../../kernel/audit.ts";

export function auditPlan(record: WalRecord): Audited | undefined {
	if (planStarted.is(record)) {
		const { plan, goal, steps } = record.data;
		return { kind: "plan", what: "started", plan, subject: brief(goal), steps };
	}
	if (planStepStarted.is(record)) return { kind: "plan", what: "step started", ...record.data };
	if (planStepCompleted.is(record)) {
		const { plan, step, cost } = record.data;
		return { kind: "plan", what: "step ended", plan, step, ...cost };
	}
	if (planStepFailed.is(record)) {
		const { plan, step, reason } = record.data;
		return { kind: "plan", what: "step failed", plan, step, why: brief(reason) };
	}
	if (planStepsReset.is(record)) {
		const { plan, steps, by, why } = record.data;
		return { kind: "plan", what: "steps reset", plan, steps, by, why };
	}
	if (planStepExtended.is(record)) return { kind: "plan", what: "limit extended", ...record.data };
	if (planAmended.is(record)) {
		const { plan, steps, by } = record.data;
		return { kind: "plan", what: "amended", plan, steps, by };
	}
	if (planPaused.is(record)) return { kind: "plan", what: "paused", ...record.data };
	if (planResumed.is(record)) return { kind: "plan", what: "resumed", ...record.data };
	if (planCompleted.is(record)) return { kind: "plan", what: "ended", ...record.data };
	if (!planAborted.is(record)) return undefined;
	const { plan, reason, by } = record.data;
	return { kind: "plan", what: "discarded", plan, by, why: brief(reason) };
}
