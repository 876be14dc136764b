import type { TurnEvent } from "./features/conversation/events.ts";
import type { PlanEvent } from "./features/plan/events.ts";
import type { ScriptRunEvent } from "./features/script/events.ts";
import type { SkillEvent } from "./features/skill/events.ts";
import type { KernelEvent } from "./kernel/events.ts";

/** What a runtime says while it works: for screens and streams. Nothing durable depends on who listens. */
export type RuntimeEvent = KernelEvent | TurnEvent | PlanEvent | SkillEvent | ScriptRunEvent;
