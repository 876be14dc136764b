/** What skill runs say. */
import type { Scope } from "@reyn/wal";

/** What skill runs say when they are over. */
export interface SkillEvent {
	readonly type: "skill_end";
	readonly scope: Scope;
	readonly run: string;
	readonly outcome: "completed" | "stopped" | "discarded";
	readonly reason?: string;
}
