/** The records that plans add to the log, and their schemas. */
import { spilledTextSchema } from "@reyn/journal/internal";
import { defineRecord } from "@reyn/wal";
import { z } from "zod";

const plan = z.string();
const step = z.string();

/** What the model calls of a step cost, paid for now or recalled. */
export const costSchema = z.object({ calls: z.int(), inputTokens: z.int(), outputTokens: z.int() });
export type Cost = z.infer<typeof costSchema>;

/** The start of a plan. Its decomposition is durable beside the log by now. */
export const planStarted = defineRecord(
	"plan_started",
	z.object({
		plan,
		goal: z.string(),
		steps: z.int(),
		/** SHA-256 of the stored decomposition. */ decomposition: z.string(),
		/** The id of the model that it is begun with. Absent in older logs: unknown. */
		model: z.string().optional(),
	}),
);
export const planStepStarted = defineRecord("plan_step_started", z.object({ plan, step, attempt: z.int() }));
/** The end of a step. A result up to 32 KiB is in the record; a larger one lies beside the log, as the text of the model's reply. */
export const planStepCompleted = defineRecord(
	"plan_step_completed",
	z.object({ plan, step, result: z.string().optional(), spilled: spilledTextSchema.optional(), cost: costSchema }),
);
export const planStepFailed = defineRecord("plan_step_failed", z.object({ plan, step, reason: z.string() }));
/** These steps run again, as if they never had. */
export const planStepsReset = defineRecord("plan_steps_reset", z.object({ plan, steps: z.array(step) }));
/** A rewind went back into the plan while it was not running: it waits for a person. */
export const planPaused = defineRecord("plan_paused", z.object({ plan }));
export const planResumed = defineRecord("plan_resumed", z.object({ plan }));
/** The answer has been delivered. */
export const planCompleted = defineRecord("plan_completed", z.object({ plan }));
/**
 * The end of a plan without an answer. `by`: a person discarded it, and may undo that. `tell`: the notice for the conversation, to be
 * delivered after this record. The close of the plan's lane says that it was delivered.
 */
export const planAborted = defineRecord(
	"plan_aborted",
	z.object({ plan, reason: z.string(), by: z.literal("person").optional(), tell: z.string().optional() }),
);

/** All steps of a plan run in lanes below this one. */
export const planLane = (plan: string): string => `plan/${plan}`;

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
