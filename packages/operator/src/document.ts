/** The form of what a verb says to machines, as JSON Schema. */
import { z } from "zod";
import { seq } from "./shapes.ts";
import type { Verb } from "./verb.ts";

/** The schema of what `--json` gives for a verb: of a write verb, what was seen, whether it was done, and what was done; of work, what was begun, or would be. */
export function documentSchema(verb: Verb): z.ZodType {
	switch (verb.access) {
		case "read":
		case "files":
			return verb.result;
		case "work":
			return verb.preview ? z.union([verb.begun, verb.preview.result]) : verb.begun;
		case "write": {
			const [seen, done] = [verb.seen as z.ZodObject, verb.done as z.ZodObject];
			return seen.extend({ applied: z.boolean(), recorded: seq.exactOptional(), ...done.partial().shape });
		}
	}
}

export const jsonSchemaOf = (verb: Verb): object => z.toJSONSchema(documentSchema(verb), { unrepresentable: "any" });
