/** The error class of skills, and its codes. */
import { ReynError } from "@reyn/wal";

export type SkillCode =
	| "SKILL_ABORTED"
	| "SKILL_BRANCHES"
	| "SKILL_GRAPH"
	| "SKILL_INVALID_INPUT"
	| "SKILL_TRANSITION"
	| "SKILL_UNKNOWN"
	| "SKILL_UNKNOWN_RUN";

/** An error of this package; each code is a heading in its README. */
export class SkillError extends ReynError<SkillCode> {}
