/** What two processes say to each other about verbs: version 1. */
import { z } from "zod";

/** First, by the process that has the log: which log, and who it is. */
export const hello = z.object({ v: z.literal(1), log: z.string(), pid: z.int() });

/** Do what was seen, or begin what is given. */
export const request = z.strictObject({
	id: z.string().max(64),
	verb: z.string().max(64),
	actor: z.string().max(256),
	/** Of a write verb: what was seen. Of a work verb: what it was given. */
	of: z.record(z.string(), z.unknown()),
});
export type Request = z.infer<typeof request>;

export const answer = z.union([
	z.object({ id: z.string(), done: z.record(z.string(), z.unknown()) }),
	z.object({
		id: z.string(),
		error: z.object({ code: z.string(), message: z.string(), detail: z.record(z.string(), z.unknown()) }),
	}),
]);
export type Answer = z.infer<typeof answer>;
