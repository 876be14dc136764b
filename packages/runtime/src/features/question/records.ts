/** The records of questions to people. */
import { defineRecord } from "@reyn/wal";
import { z } from "zod";

export const askedSchema = z.object({
	/** Names what it is about, so that work that is cut and comes here again asks no second one. */
	key: z.string(),
	/** The lane of the call that asks. Absent: the key begins with it, or the work alone counts. */
	lane: z.string().exactOptional(),
	/** What exactly is asked about, as a hash: in other terms it is another question. */
	terms: z.string().exactOptional(),
	/** The piece of work that asks: `plan`, `p3`. */
	from: z.object({ kind: z.string(), id: z.string() }),
	question: z.string(),
	/** What a person has to see to answer it, such as what would change. */
	lines: z.array(z.string()).readonly().exactOptional(),
	/** One of these is an answer. Absent: any text is. */
	choices: z.array(z.string()).readonly().exactOptional(),
	/** The choice that words may follow, or the choices: `no: not this file`. */
	explained: z.union([z.string(), z.array(z.string()).readonly()]).exactOptional(),
});

/** A question that work asks a person, durable before anybody is asked. It is identified by the seq of this record. */
export const questionAsked = defineRecord("question_asked", askedSchema);

/** The answer, durable before the work goes on with it. */
export const questionAnswered = defineRecord(
	"question_answered",
	z.object({ question: z.int().positive(), text: z.string(), by: z.string() }),
);

export const questionRecords = [questionAsked, questionAnswered] as const;
