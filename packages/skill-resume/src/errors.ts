/** The error class of skills, and its codes. */
import { isReynError, ReynError } from "@reyn/wal";

export type SkillCode =
	| "SKILL_ABORTED"
	| "SKILL_BRANCHES"
	| "SKILL_CALL"
	| "SKILL_CHILD"
	| "SKILL_GRAPH"
	| "SKILL_INVALID_INPUT"
	| "SKILL_INVALID_RUN"
	| "SKILL_LOAD"
	| "SKILL_NOT_JSON"
	| "SKILL_PAUSED"
	| "SKILL_POLICY"
	| "SKILL_TRANSITION"
	| "SKILL_TWICE"
	| "SKILL_UNKNOWN"
	| "SKILL_UNKNOWN_RUN"
	| "SKILL_UNTRUSTED";

/** An error of this package; each code is a heading in its README. */
export class SkillError extends ReynError<SkillCode> {}

/** Does what `runSkill` has thrown say that the run is over, by itself or by the policy for steps in doubt? Else it is kept. */
export const endsRun = (error: unknown): error is ReynError =>
	isReynError(error, "SKILL_ABORTED") || isReynError(error, "STEP_DISCARDED");
