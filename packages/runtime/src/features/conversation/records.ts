/** What a conversation adds to the log. */
import { spilledTextSchema } from "@reyn/journal/internal";
import { defineRecord } from "@reyn/wal";
import { z } from "zod";

/** The seq of the prompt that a turn answers names the turn. */
const turn = z.int().positive();

export const userPrompt = defineRecord("user_prompt", z.object({ text: z.string(), by: z.enum(["person", "skill"]) }));

/**
 * A text of the agent: the `round`-th answer of a turn, or what a piece of work delivers from the background. Of a text that is
 * `spilled`, which lies beside the log, it has the beginning.
 */
export const assistantMessage = defineRecord(
	"assistant_message",
	z.union([
		z.object({ text: z.string(), turn, round: z.int().nonnegative() }),
		z.object({
			text: z.string(),
			/** By the feature's word for it: `plan`, `skill`. */
			from: z.object({ kind: z.string(), id: z.string() }),
			spilled: spilledTextSchema.optional(),
		}),
		// As older versions wrote it.
		z.object({ text: z.string(), plan: z.string(), spilled: spilledTextSchema.optional() }),
		z.object({ text: z.string(), skill: z.string(), spilled: spilledTextSchema.optional() }),
	]),
);

/** A tool call of a turn that failed; the model is told so. What succeeds is a step of the journal. */
export const toolFailed = defineRecord("tool_failed", z.object({ turn, call: z.string(), text: z.string() }));

export const turnCompleted = defineRecord("turn_completed", z.object({ turn }));
/** The turn ended without an answer: a person stopped it, a rewind cut it, or the model failed. */
export const turnInterrupted = defineRecord("turn_interrupted", z.object({ turn, reason: z.string() }));

/** The user has been shown a message that came from the background. */
export const messageDelivered = defineRecord("message_delivered", z.object({ message: z.int().positive() }));

export const conversationRecords = [
	userPrompt,
	assistantMessage,
	toolFailed,
	turnCompleted,
	turnInterrupted,
	messageDelivered,
] as const;
