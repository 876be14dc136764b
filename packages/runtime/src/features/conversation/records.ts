/** The records that a conversation adds to the log. */
import { attachedFileSchema, spilledTextSchema } from "@reyn/journal/internal";
import { defineRecord } from "@reyn/wal";
import { z } from "zod";

/** A turn is identified by the seq of the record that begins it: its prompt, or `compaction_asked`. */
const turn = z.int().positive();

export const userPrompt = defineRecord(
	"user_prompt",
	z.object({
		text: z.string(),
		by: z.enum(["person", "skill"]),
		/** The id of the model that the turn is begun with. Absent in older logs: unknown. */
		model: z.string().optional(),
		/** Who waits for what it brings, by a name of theirs. Absent: nobody has said so. */
		chain: z.string().optional(),
		/** What was given with it, whose bytes lie beside the log. Absent: nothing. */
		files: z.array(attachedFileSchema).readonly().optional(),
	}),
);

/**
 * A text of the agent: the answer of round `round` of a turn, or a text from work in the background. If the text is `spilled`, it
 * lies beside the log, and the record has its beginning.
 */
export const assistantMessage = defineRecord(
	"assistant_message",
	z.union([
		z.object({ text: z.string(), turn, round: z.int().nonnegative() }),
		z.object({
			text: z.string(),
			/** The kind of work, in the feature's word: `plan`, `skill`; and who waits for it, by a name of theirs. */
			from: z.object({ kind: z.string(), id: z.string(), chain: z.string().optional() }),
			spilled: spilledTextSchema.optional(),
		}),
		// The two forms of older versions.
		z.object({ text: z.string(), plan: z.string(), spilled: spilledTextSchema.optional() }),
		z.object({ text: z.string(), skill: z.string(), spilled: spilledTextSchema.optional() }),
	]),
);

/** A tool call of a turn that failed, as the model is told. A call that succeeds is recorded as a step instead. */
export const toolFailed = defineRecord("tool_failed", z.object({ turn, call: z.string(), text: z.string() }));

export const turnCompleted = defineRecord("turn_completed", z.object({ turn }));
/** The turn ended without an answer: a person stopped it, a rewind cut it, or the model failed. */
export const turnInterrupted = defineRecord("turn_interrupted", z.object({ turn, reason: z.string() }));

/** A person wants what was said so far to be told in short, in a turn of its own. */
export const compactionAsked = defineRecord(
	"compaction_asked",
	z.object({
		/** As of {@link userPrompt}. */
		model: z.string(),
	}),
);

/**
 * What was said and done before the record that begins the turn `upTo`, told in short at the beginning of a turn: from that turn on a model
 * is shown this text in its place.
 */
export const conversationCompacted = defineRecord(
	"conversation_compacted",
	z.object({
		turn,
		upTo: turn,
		text: z.string(),
		/** Who has asked for it. Absent: nobody, it was due. */
		by: z.literal("person").optional(),
		/** What a model is shown of what was said, before and after it, in tokens as they are guessed. Absent in older logs: unknown. */
		tokens: z.object({ before: z.int().nonnegative(), after: z.int().nonnegative() }).optional(),
	}),
);

/** Where a text comes from that was taken over: an answer, by its record, or what a step of a plan has found; as of the moment `from`. */
export const adoptedFrom = z.object({
	from: z.int().nonnegative(),
	source: z.union([z.object({ message: z.int().positive() }), z.object({ plan: z.string(), step: z.string() })]),
});

/** A person has taken a text over from another moment, on whatever line: the model is shown it, and where it comes from. */
export const messageAdopted = defineRecord(
	"message_adopted",
	adoptedFrom.extend({ text: z.string(), actor: z.string() }),
);

/** The user has been shown a message that came from the background. */
export const messageDelivered = defineRecord("message_delivered", z.object({ message: z.int().positive() }));

export const conversationRecords = [
	userPrompt,
	assistantMessage,
	toolFailed,
	turnCompleted,
	turnInterrupted,
	compactionAsked,
	conversationCompacted,
	messageAdopted,
	messageDelivered,
] as const;
