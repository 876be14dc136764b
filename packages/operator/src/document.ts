/** The form of what a verb says to machines, as JSON Schema. */
import { z } from "zod";
import { seq } from "./shapes.ts";
import type { ClosedVerb, Verb, WriteVerb } from "./verb.ts";

/** The schema of what `--json` gives for a verb: of one that changes something, what was seen, whether it was done, and what was done; of a stream, each of its lines; of work, what was begun, or would be. */
export function documentSchema(verb: Verb): z.ZodType {
	switch (verb.access) {
		case "read":
		case "files":
			return verb.result;
		case "work":
			return verb.preview ? z.union([verb.begun, verb.preview.result]) : verb.begun;
		case "stream":
			return verb.each;
		case "write":
			return changed(verb, { recorded: seq.exactOptional() });
		case "closed":
			return changed(verb);
	}
}

function changed({ seen, done }: WriteVerb | ClosedVerb, more: z.core.$ZodLooseShape = {}): z.ZodType {
	const partly = (done as z.ZodObject).partial().shape;
	return (seen as z.ZodObject).extend({ applied: z.boolean(), ...more, ...partly });
}

export const jsonSchemaOf = (verb: Verb): object => z.toJSONSchema(documentSchema(verb), { unrepresentable: "any" });
