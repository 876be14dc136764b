import type { Seq } from "@reyn/wal";
import type { TurnEvent } from "./features/conversation/events.ts";
import type { PlanEvent } from "./features/plan/events.ts";
import type { ScriptRunEvent } from "./features/script/events.ts";
import type { SkillEvent } from "./features/skill/events.ts";
import type { KernelEvent } from "./kernel/events.ts";

/**
 * What a runtime says while it works: for screens and streams. Nothing durable depends on who listens. With `seq` it is derived from
 * that durable record, and all who read the log are told it; without, only the process that works knows it.
 */
export type RuntimeEvent = (KernelEvent | TurnEvent | PlanEvent | SkillEvent | ScriptRunEvent) & {
	readonly seq?: Seq;
};
