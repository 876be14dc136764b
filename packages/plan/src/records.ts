import { defineRecord } from "@reyn/wal";
import { z } from "zod";

const plan = z.string();
const step = z.string();

/** What the model calls of a step cost, whether they were paid now or recalled. */
export const costSchema = z.object({ calls: z.int(), inputTokens: z.int(), outputTokens: z.int() });
export type Cost = z.infer<typeof costSchema>;

/** The artifact is durable, and the plan runs from here on. */
export const planStarted = defineRecord(
	"plan_started",
	z.object({
		plan,
		goal: z.string(),
		steps: z.int(),
		/** SHA-256 of `decomposition.json`. */ decomposition: z.string(),
	}),
);
export const planStepStarted = defineRecord("plan_step_started", z.object({ plan, step, attempt: z.int() }));
export const planStepCompleted = defineRecord(
	"plan_step_completed",
	z.object({ plan, step, result: z.string(), cost: costSchema }),
);
export const planStepFailed = defineRecord("plan_step_failed", z.object({ plan, step, reason: z.string() }));
/** These steps are to run again, as if they never had. */
export const planStepsReset = defineRecord("plan_steps_reset", z.object({ plan, steps: z.array(step) }));
/** A rewind went back into the plan while it was not running: it waits for a person. */
export const planPaused = defineRecord("plan_paused", z.object({ plan }));
export const planResumed = defineRecord("plan_resumed", z.object({ plan }));
/** The answer has been delivered. */
export const planCompleted = defineRecord("plan_completed", z.object({ plan }));
/** `by` says that a person discarded it, who may take that back. */
export const planAborted = defineRecord(
	"plan_aborted",
	z.object({ plan, reason: z.string(), by: z.literal("person").optional() }),
);

export const planRecords = [
	planStarted,
	planStepStarted,
	planStepCompleted,
	planStepFailed,
	planStepsReset,
	planPaused,
	planResumed,
	planCompleted,
	planAborted,
] as const;
