/** Background plans of 2 to 7 steps over a durable journal: validated, resumable, never made a second time. */
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
export { execute, type PlanLimits, type PlanPorts, type PlanProgress, type PlanResult } from "./execute.ts";
export { findPlan, inFlight } from "./operate.ts";
export { type PlanRun, type PlanRuns, planRuns, type StepRun } from "./plan-runs.ts";
export {
	type Cost,
	planAborted,
	planCompleted,
	planLane,
	planPaused,
	planRecords,
	planResumed,
	planStarted,
	planStepCompleted,
	planStepFailed,
	planStepStarted,
	planStepsReset,
} from "./records.ts";
export { type PlanInPorts, type PlanSession, runPlanIn } from "./run-plan-in.ts";
export { textOf } from "./step-status.ts";
