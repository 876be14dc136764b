/** `files`: what tools have changed in files since a moment, and what they held then. */
import { z } from "zod";
import { type ChangedFiles, readChangedFiles } from "../changed-files.ts";
import { filesText } from "../lines/files.ts";
import { word } from "../param.ts";
import { parseRef } from "../refs.ts";
import { differentFile, list, scope, seq, texts, uncovered } from "../shapes.ts";
import { readVerb } from "../verb.ts";

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
				...differentFile,
				by: list(z.object({ seq, scope, lane: z.string(), inDoubt: z.literal(true).exactOptional() })),
				others: z.object({ between: z.boolean(), since: z.union([z.boolean(), z.literal("unknown")]) }),
			}),
		),
		asBefore: texts,
		uncovered,
	}),
	read: async (runtime, { ref }): Promise<ChangedFiles> => readChangedFiles(runtime, await parseRef(ref, runtime)),
	lines: (found) => filesText(found),
});
