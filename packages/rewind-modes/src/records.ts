/** The record that a `summarize` rewind adds to the conversation. */
import { defineRecord } from "@reyn/wal";
import { z } from "zod";

/** What `summarize` adds to the conversation: the interval in a few words, so that the agent knows what it tried. */
export const rewindNote = defineRecord(
	"rewind_note",
	z.object({
		target: z.int().nonnegative(),
		actor: z.string(),
		text: z.string(),
		counts: z.record(z.string(), z.int().nonnegative()),
	}),
);

export const rewindRecords = [rewindNote] as const;
