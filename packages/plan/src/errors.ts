/** The error class of plans, and its codes. */
import { ReynError } from "@reyn/wal";

export type PlanCode =
	| "PLAN_INVALID"
	| "PLAN_LOST"
	| "PLAN_PAUSED"
	| "PLAN_STEP_ITERATIONS"
	| "PLAN_STEP_TIME"
	| "PLAN_STEP_TOKENS"
	| "PLAN_TOKENS"
	| "PLAN_UNKNOWN"
	| "PLAN_UNKNOWN_STEP"
	| "PLAN_UNREADABLE";

/** An error of this package; each code is a heading in its README. */
export class PlanError extends ReynError<PlanCode> {}
