import { defineRecord } from "@reyn/wal";
import { z } from "zod";
import { purities } from "./purity.ts";

/** Where a call of a script stands, so that an edited script finds what it has in common with the one before. */
const place = z.object({
	/** The how-manieth call of its lane, from 0. */
	at: z.int().nonnegative(),
	/** Hash over all calls that this one may rest on: those before it in its lane, and in the lanes around it. */
	chain: z.string(),
	/** The same without the positions of branches. */
	loose: z.string(),
	/** For people. */
	label: z.string(),
	/** The arguments for people and for comparison: each field by path, as JSON; of a long one how it begins, and a hash. */
	fields: z.record(z.string(), z.string()),
});

/** Which call this is: the `occ`-th one in its lane with this fingerprint. */
const callKey = {
	lane: z.string(),
	/** SHA-256 of kind, name and canonical arguments. */
	fp: z.string(),
	occ: z.int().nonnegative(),
};

export const callKeySchema = z.object(callKey);

export type CallKey = z.infer<typeof callKeySchema>;

const identity = {
	...callKey,
	/** What sort of call: `model`, `tool`, `step` … */
	kind: z.string(),
	name: z.string(),
	purity: z.enum(purities),
	/** Of a call in a loop: which loop of its lane, which round, and which call of a tool. What a model is asked with may change, and this stays. */
	round: z.string().max(80).optional(),
	/** The how-manieth try this is of; absent: the first. */
	attempt: z.int().positive().optional(),
	/** The newest outcome that the program had been told of when it made this call; absent: all before this record. */
	after: z.int().nonnegative().optional(),
	/** Of a step inside a call whose steps have an order of their own: the same of that call. */
	within: z.int().nonnegative().optional(),
	place: place.optional(),
};

export const usageSchema = z.object({ inputTokens: z.int().nonnegative(), outputTokens: z.int().nonnegative() });

/** A result as it is kept: in the record, or beside the log under its own hash. */
const kept = {
	/** JSON; absent for `undefined`, and where the result lies beside the log. */
	result: z.unknown().optional(),
	/** JSON pointers to the strings that stand for bytes, in base64. */
	binary: z.array(z.string()).readonly().optional(),
	/** Where the JSON lies that is too large for a record. */
	spilled: z.object({ sha256: z.string(), bytes: z.int().nonnegative() }).optional(),
};

export const storedResultSchema = z.object(kept);

/** Durable before the call of a side effect: from here on the outcome is in doubt until it is recorded. */
export const stepStarted = defineRecord(
	"step_started",
	z.object({
		...identity,
		/** What the call was prepared with: it is what the far side is asked with too. */
		prepared: z.unknown().optional(),
	}),
);

/** Of an outcome: */
const ending = {
	/** The seq of its start, where it has one. */
	started: z.int().optional(),
	/** The outcome that it repeats, since that one does not count on this line of history, or not at this place. */
	adopts: z.int().optional(),
};

/** How a call ended. */
export const stepCompleted = defineRecord(
	"step_completed",
	z.object({
		...identity,
		...ending,
		...kept,
		usage: usageSchema.optional(),
		/** The world says otherwise than before: what the program of this lane asked for since, it may not ask for again. */
		moves: z.string().optional(),
	}),
);

/** Why a call failed, as far as whoever made it can see. */
export const reasonSchema = z.object({
	message: z.string(),
	code: z.union([z.string(), z.number()]).optional(),
	/** Of the error's class, where that is not `Error`. */
	name: z.string().optional(),
	detail: z.unknown().optional(),
	/** The call was made to its end, and what it gave cannot be kept: it is not made again. */
	made: z.literal(true).optional(),
});

/** A try that failed: for good, or such that another may help (`retryable`). */
export const stepFailed = defineRecord(
	"step_failed",
	z.object({
		...identity,
		...ending,
		retryable: z.boolean(),
		/** How long the next try waits, from this record on, in milliseconds: chance has a part in it. */
		pauseMs: z.number().nonnegative().optional(),
		/** Whoever made the call was told. Absent: another try follows; before there was this field, also where it may help. */
		told: z.literal(true).optional(),
		/** What was told is taken back: nothing rests on it, and the call is made again with all its tries. */
		forgotten: z.literal(true).optional(),
		reason: reasonSchema,
	}),
);

/**
 * The program behind a lane has ended by throwing. What failed in it, and nothing rests on, is called again when it is run again; so
 * are the calls whose failures it let through, or was told of last (`by`), whatever its other branches did meanwhile.
 */
export const laneFailed = defineRecord(
	"lane_failed",
	z.object({ lane: z.string(), by: z.array(callKeySchema).optional() }),
);

/** The unit of work behind a lane is over: its outcome is recorded elsewhere, and its steps will not be asked for again. */
export const laneClosed = defineRecord("lane_closed", z.object({ lane: z.string() }));

export const journalRecords = [stepStarted, stepCompleted, stepFailed, laneFailed, laneClosed] as const;
