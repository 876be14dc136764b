/** Background plans of 2 to 7 steps over a durable journal: validated, resumable, never made a second time. */
export type { OwnLogOptions, WorkingSession } from "@reyn/journal/internal";
export { amended, type PlanAmendment } from "./amend.ts";
export type { PlanResult } from "./answer.ts";
export {
	decompositions,
	type ReadDecomposition,
	readDecomposition,
	spilledStepResults,
	writeDecomposition,
} from "./artifact.ts";
export {
	type Decomposition,
	PLAN_TOOL,
	type PlanStep,
	parseDecomposition,
	planTool,
	withDependents,
} from "./decomposition.ts";
export { type PlanCode, PlanError } from "./errors.ts";
export {
	type AtLimit,
	execute,
	type PlanLimits,
	type PlanPorts,
	type PlanProgress,
	type StepLimit,
} from "./execute.ts";
export type { PartSize, StepContext } from "./narrow.ts";
export {
	type OpenPlansOptions,
	openPlans,
	type PlanEnd,
	type PlanLog,
	type PlanShown,
	type Plans,
	type StartOptions,
} from "./open-plans.ts";
export { findKept, findPlan, inFlight } from "./operate.ts";
export { type PlanRun, type PlanRuns, planIn, planRuns, plansOf, type StepRun } from "./plan-runs.ts";
export {
	type Cost,
	type LimitKind,
	planAborted,
	planAmended,
	planCompleted,
	planLane,
	planPaused,
	planRecords,
	planResumed,
	planStarted,
	planStepCompleted,
	planStepExtended,
	planStepFailed,
	planStepStarted,
	planStepsReset,
} from "./records.ts";
export { type PlanInPorts, type PlanSession, runPlanIn } from "./run-plan-in.ts";
export { textOf } from "./step-status.ts";
