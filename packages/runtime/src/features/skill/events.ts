/** The events of skill runs. */
import type { Scope } from "@reyn/wal";

/** The end of a skill run. */
export interface SkillEvent {
	readonly type: "skill_end";
	readonly scope: Scope;
	readonly run: string;
	readonly outcome: "completed" | "stopped" | "discarded";
	readonly reason?: string;
}
