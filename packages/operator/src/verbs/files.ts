/** `files`: what tools have changed in files since a moment, and what they held then. */
import { z } from "zod";
import { type ChangedFiles, readChangedFiles } from "../changed-files.ts";
import { filesText } from "../lines/files.ts";
import { word } from "../param.ts";
import { parseRef } from "../refs.ts";
import { list, scope, seq, texts } from "../shapes.ts";
import { readVerb } from "../verb.ts";

const mode = z.int();

export const files = readVerb({
	name: "files",
	summary: "which files tools have changed since a moment, with what differs from then; on whatever line of history",
	params: { ref: word("ref", "a ref, as for show; absent: since the beginning", z.string().default("0")) },
	example: "@-1",
	/** `others`: somebody else changed it too, between what tools did or since. `more`: lines of the diff that are left out. */
	result: z.object({
		...{ since: seq, through: seq },
		files: list(
			z.object({
				path: z.string(),
				change: z.enum(["made", "changed", "removed", "unknown"]),
				modes: z.object({ before: mode, now: mode }).exactOptional(),
				by: list(z.object({ seq, scope, lane: z.string(), inDoubt: z.literal(true).exactOptional() })),
				others: z.object({ between: z.boolean(), since: z.union([z.boolean(), z.literal("unknown")]) }),
				diff: texts.exactOptional(),
				more: seq.exactOptional(),
				why: z.string().exactOptional(),
			}),
		),
		asBefore: texts,
		uncovered: list(z.object({ name: z.string(), calls: seq })),
	}),
	read: async (runtime, { ref }): Promise<ChangedFiles> => readChangedFiles(runtime, await parseRef(ref, runtime)),
	lines: (found) => filesText(found),
});
