import { defineRecord } from "@reyn/wal";
import { z } from "zod";
import { purities } from "./purity.ts";

/** Which call this is: the `occ`-th one in its lane with this fingerprint. */
const identity = {
	lane: z.string(),
	/** SHA-256 of kind, name and canonical arguments. */
	fp: z.string(),
	occ: z.int().nonnegative(),
	/** What sort of call: `model`, `tool`, `step` … */
	kind: z.string(),
	name: z.string(),
	purity: z.enum(purities),
};

const usage = z.object({ inputTokens: z.int().nonnegative(), outputTokens: z.int().nonnegative() });

/** Durable before the call of a side effect: from here on the outcome is in doubt until it is recorded. */
export const stepStarted = defineRecord("step_started", z.object(identity));

/** Of an outcome: */
const ending = {
	/** The seq of its start, where it has one. */
	started: z.int().optional(),
	/** The outcome that it repeats, since that one does not count on this line of history. */
	adopts: z.int().optional(),
};

/** How a call ended. */
export const stepCompleted = defineRecord(
	"step_completed",
	z.object({ ...identity, ...ending, result: z.unknown().optional(), usage: usage.optional() }),
);

export const stepFailed = defineRecord(
	"step_failed",
	z.object({
		...identity,
		...ending,
		retryable: z.boolean(),
		reason: z.object({ message: z.string(), code: z.string().optional() }),
	}),
);

/** The unit of work behind a lane is over: its outcome is recorded elsewhere, and its steps will not be asked for again. */
export const laneClosed = defineRecord("lane_closed", z.object({ lane: z.string() }));

export const journalRecords = [stepStarted, stepCompleted, stepFailed, laneClosed] as const;
