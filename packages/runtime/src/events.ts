/** The type of all events that a runtime tells its listeners. */
import type { Seq } from "@reyn/wal";
import type { BudgetEvent } from "./features/budget/events.ts";
import type { ConfigEvent } from "./features/config/events.ts";
import type { TurnEvent } from "./features/conversation/events.ts";
import type { FilesEvent } from "./features/files/events.ts";
import type { PlanEvent } from "./features/plan/events.ts";
import type { QuestionEvent } from "./features/question/events.ts";
import type { ScriptRunEvent } from "./features/script/events.ts";
import type { SkillEvent } from "./features/skill/events.ts";
import type { TaskEvent } from "./features/task/events.ts";
import type { KernelEvent } from "./kernel/events.ts";

/**
 * An event of a runtime at work, for screens and streams. Nothing durable depends on who listens. An event with `seq` is derived from
 * that durable record, and every reader of the log gets it; one without `seq` comes in the working process alone.
 */
export type RuntimeEvent = (
	| KernelEvent
	| TurnEvent
	| PlanEvent
	| SkillEvent
	| ScriptRunEvent
	| QuestionEvent
	| BudgetEvent
	| ConfigEvent
	| FilesEvent
	| TaskEvent
) & {
	readonly seq?: Seq;
};
