/** `ask()` of a program: a question to a person, as one call that is answered once. */
import type { Seq } from "@reyn/wal";
import { z } from "zod";
import { startOf } from "../idempotency-key.ts";
import type { ScriptStep } from "./run-script.ts";

export const askCall = z.strictObject({ question: z.string(), choices: z.array(z.string()).optional() });

export interface Question {
	/** Identifies the question for ever: the seq of its first durable start. */
	readonly seq: Seq;
	readonly question: string;
	readonly choices?: readonly string[] | undefined;
	readonly signal: AbortSignal;
}

/**
 * Makes the step of an `ask()` call.
 *
 * @param put puts the question to a person. @returns their answer, which is recorded before the program is told. @throws what leaves
 * it open
 */
export const askStep = (
	{ question, choices }: z.infer<typeof askCall>,
	put: (question: Question) => Promise<string>,
): ScriptStep<string> => ({
	kind: "ask",
	name: "ask",
	label: question,
	args: { question, ...(choices ? { choices } : {}) },
	purity: "side_effect",
	assumed: choices?.[0] ?? "",
	// A person who has not answered may simply be asked again.
	reconcile: async () => ({ kind: "not_done" }),
	// Who answers from elsewhere has the log alone.
	...(choices && { prepare: async () => ({ choices }) }),
	call: ({ signal, idempotencyKey = "" }) => put({ seq: startOf(idempotencyKey), question, choices, signal }),
});
