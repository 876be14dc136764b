/** The events of skill runs. */
import type { Scope } from "@reyn/wal";
import type { ParentStep } from "./pieces.ts";

/** The end of a skill run. */
export interface SkillEvent {
	readonly type: "skill_end";
	readonly scope: Scope;
	readonly run: string;
	readonly outcome: "completed" | "stopped" | "discarded";
	readonly reason?: string;
	/** The step of a plan that it is a child of, which goes on. Absent: it is none. */
	readonly parent?: ParentStep;
}
