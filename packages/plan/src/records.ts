/** The records that plans add to the log, and their schemas. */
import { spilledTextSchema } from "@reyn/journal/internal";
import { defineRecord } from "@reyn/wal";
import { z } from "zod";

const plan = z.string();
const step = z.string();
/** A person did it, and may undo it. */
const by = z.literal("person").optional();

/** What the model calls of a step cost, paid for now or recalled. */
export const costSchema = z.object({ calls: z.int(), inputTokens: z.int(), outputTokens: z.int() });
export type Cost = z.infer<typeof costSchema>;

/**
 * The limits of a step: `iterations` of its model, `retries` of a model call, `tokens` of all its calls, `seconds` of work in one
 * process. And that of its plan: `plan_tokens` of all tries of all steps.
 */
export const limitKinds = ["iterations", "retries", "tokens", "seconds", "plan_tokens"] as const;
export type LimitKind = (typeof limitKinds)[number];

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
		/** Who waits for its answer, by a name of theirs. */
		chain: z.string().optional(),
	}),
);
export const planStepStarted = defineRecord("plan_step_started", z.object({ plan, step, attempt: z.int() }));
/** The end of a step. A short result is in the record; another lies beside the log: its text, or the model's reply that has it. */
export const planStepCompleted = defineRecord(
	"plan_step_completed",
	z.object({ plan, step, result: z.string().optional(), spilled: spilledTextSchema.optional(), cost: costSchema }),
);
/** `cost`: what it had cost until then. Absent in older logs: unknown. */
export const planStepFailed = defineRecord(
	"plan_step_failed",
	z.object({ plan, step, reason: z.string(), cost: costSchema.optional() }),
);
/** A limit of a running step is extended by what it is, once more; or that of its plan, to which the step has come. */
export const planStepExtended = defineRecord("plan_step_extended", z.object({ plan, step, limit: z.enum(limitKinds) }));
/** These steps run again, as if they never had; a plan that waits or has ended goes on. `why`: nobody has asked for it, and a plan that waits still does. */
export const planStepsReset = defineRecord(
	"plan_steps_reset",
	z.object({ plan, steps: z.array(step), why: z.string().optional(), by }),
);
/** The plan has other steps from here on. Those that are not pending are the same. */
export const planAmended = defineRecord(
	"plan_amended",
	z.object({ plan, steps: z.int(), /** SHA-256 of the stored decomposition. */ decomposition: z.string(), by }),
);
/** It waits for a person: since one paused it, at a limit, or since a rewind went back into it while it was not running. */
export const planPaused = defineRecord("plan_paused", z.object({ plan, why: z.string().optional(), by }));
export const planResumed = defineRecord("plan_resumed", z.object({ plan, by }));
/** The answer has been delivered. `failed`: its last step has, and what was delivered is what the others have found. */
export const planCompleted = defineRecord(
	"plan_completed",
	z.object({ plan, /** Absent in older logs: unknown. */ failed: z.literal(true).optional() }),
);
/**
 * The end of a plan without an answer. `tell`: the notice for the conversation, to be delivered after this record. The close of the
 * plan's lane says that it was delivered.
 */
export const planAborted = defineRecord(
	"plan_aborted",
	z.object({ plan, reason: z.string(), by, tell: z.string().optional() }),
);

/** All steps of a plan run in lanes below this one. */
export const planLane = (plan: string): string => `plan/${plan}`;

/** An attempt of a step, from 0. */
export interface Attempt {
	readonly plan: string;
	readonly step: string;
	readonly attempt: number;
}

/** The lane in which an attempt of a step runs. */
export const attemptLane = ({ plan, step, attempt }: Attempt): string => `${planLane(plan)}/${step}/${attempt}`;

/** The attempt that runs in a lane; undefined: it is another lane. */
export function attemptOf(lane: string): Attempt | undefined {
	// The id of a plan is anything; that of a step has no slash.
	const [, plan = "", step = "", attempt] = /^(.*)\/([^/]+)\/(\d+)$/.exec(lane.slice(planLane("").length)) ?? [];
	const found = { plan, step, attempt: Number(attempt) };
	return attempt !== undefined && attemptLane(found) === lane ? found : undefined;
}

export const planRecords = [
	planStarted,
	planStepStarted,
	planStepCompleted,
	planStepFailed,
	planStepExtended,
	planStepsReset,
	planAmended,
	planPaused,
	planResumed,
	planCompleted,
	planAborted,
] as const;
