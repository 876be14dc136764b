/** The records that steps add to the log, and their schemas. */
import { defineRecord } from "@reyn/wal";
import { z } from "zod";
import { purities } from "./purity.ts";

/** Where a call of a script stands, so that an edited script finds the calls that it has in common with the version before. */
const place = z.object({
	/** The position of the call in its lane, from 0. */
	at: z.int().nonnegative(),
	/** A hash over all calls that this one may rest on: those before it in its lane, and in the lanes above. */
	chain: z.string(),
	/** The same hash without the positions of branches. */
	loose: z.string(),
	/** The name of the call for people. */
	label: z.string(),
	/** The arguments for people and for comparison: each field by its path, as JSON; a long one is cut, with a hash of the whole. */
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
	/** The kind of call: `model`, `tool`, `step` … */
	kind: z.string(),
	name: z.string(),
	purity: z.enum(purities),
	/**
	 * For a call in an agent loop: which loop of its lane, which round, and which tool call. It names a model's call even when its
	 * arguments (prompts, tools) have changed since.
	 */
	round: z.string().max(80).optional(),
	/** The number of the try, from 1; absent: the first. */
	attempt: z.int().positive().optional(),
	/** The seq of the newest outcome that the program had been told when it asked for this call; absent: all before this record. */
	after: z.int().nonnegative().optional(),
	/** For an inner step whose outer call gives it an order of its own: the `after` of that outer call. */
	within: z.int().nonnegative().optional(),
	/** The lane was closed before: nobody asks for the step any more, and it is recorded only so that the log says what happened. */
	closed: z.literal(true).optional(),
	place: place.optional(),
};

const tokens = z.int().nonnegative();

export const usageSchema = z.object({
	inputTokens: tokens,
	outputTokens: tokens,
	cachedInputTokens: tokens.exactOptional(),
	uncounted: z.literal(true).exactOptional(),
});

/** A stored result: in the record, or beside the log under its hash. */
const kept = {
	/** JSON; absent for `undefined`, and when the result lies beside the log. */
	result: z.unknown().optional(),
	/** JSON pointers to the strings that are bytes in base64. */
	binary: z.array(z.string()).readonly().optional(),
	/** The hash and the size of JSON that is too large for a record, and lies beside the log. */
	spilled: z
		.object({
			sha256: z.string(),
			bytes: z.int().nonnegative(),
			/** The hashes of the attached files that it names, which lie beside the log too. */
			files: z.array(z.string()).readonly().optional(),
		})
		.optional(),
};

export const storedResultSchema = z.object(kept);

/** What was decided of a call that was in doubt: it is made again, or taken to be empty, or its far side knew the end. */
const doubt = z.enum(["retry", "skip", "reconciled"]);

export type Doubt = z.infer<typeof doubt>;

/** What names an earlier record of the same step. */
const again = {
	/** The seq of the step's first start, where this record is not that one. Absent in later starts of older versions. */
	started: z.int().optional(),
	/** The seq of the record that this one repeats: that one is on another line of history, or from before an edit. */
	adopts: z.int().optional(),
};

/** The start of an effect, durable before the call. From here on the step is in doubt until its outcome is recorded. */
export const stepStarted = defineRecord(
	"step_started",
	z.object({
		...identity,
		...again,
		/** The result of `prepare`, which `call` and `reconcile` get. */
		prepared: z.unknown().optional(),
		/** It was in doubt. Absent in logs of older versions too. */
		doubt: doubt.optional(),
	}),
);

/** A call that ended with a result. */
export const stepCompleted = defineRecord(
	"step_completed",
	z.object({
		...identity,
		...again,
		...kept,
		usage: usageSchema.optional(),
		/** It was in doubt, and this is what was decided, or learned. Absent in logs of older versions too. */
		doubt: doubt.optional(),
		/** The root lane of the program, when the world's answer has changed: what was asked for after the old one may not be asked again. */
		moves: z.string().optional(),
	}),
);

/** Why a call failed, as far as its caller can see. See {@link Reason}. */
export const reasonSchema = z.object({
	message: z.string(),
	code: z.union([z.string(), z.number()]).optional(),
	/** The error's `name`, where that is not `Error`. */
	name: z.string().optional(),
	detail: z.unknown().optional(),
	/** The call was made, but its result cannot be recorded: it is not made again. */
	made: z.literal(true).optional(),
	/** A gate has denied it for now, or what has let that through: it is no answer of the call. */
	forNow: z.literal(true).optional(),
});

/** A try that failed. `retryable`: another one may help. */
export const stepFailed = defineRecord(
	"step_failed",
	z.object({
		...identity,
		...again,
		retryable: z.boolean(),
		/** How long the next try waits, in milliseconds from this record. It is recorded since it is partly random. */
		pauseMs: z.number().nonnegative().optional(),
		/** The caller was told. Absent: another try follows; in records of older versions, `retryable: false` means that it was told. */
		told: z.literal(true).optional(),
		/** A failure that was told is taken back: nothing rests on it, and the call gets all its tries again. */
		forgotten: z.literal(true).optional(),
		/** A gate denied the call, so it was not made. Absent in older versions: it may have been made. */
		unmade: z.literal(true).optional(),
		reason: reasonSchema,
	}),
);

/**
 * The end of a program by throwing. A next run calls the failed steps again that nothing rests on, and the calls whose failures the
 * program let through or was told last (`by`), whatever its other branches did meanwhile.
 */
export const laneFailed = defineRecord(
	"lane_failed",
	z.object({ lane: z.string(), by: z.array(callKeySchema).optional() }),
);

/** The end of the work in a lane: its outcome is recorded elsewhere, and its steps will not be asked for again. */
export const laneClosed = defineRecord("lane_closed", z.object({ lane: z.string() }));

export const journalRecords = [stepStarted, stepCompleted, stepFailed, laneFailed, laneClosed] as const;
