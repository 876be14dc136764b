/** `ask_user`: a tool by which a model asks a person. */
import { defineTool, JournalError, type Tool } from "@reyn/journal";
import { startOf } from "@reyn/journal/internal";
import { z } from "zod";
import type { Frame } from "../../kernel/feature.ts";
import { type Asker, startKey } from "../../kernel/services.ts";
import { questions } from "./questions.ts";

/** The name of the tool. */
export const ASK_USER = "ask_user";

const input = z.strictObject({
	question: z.string().min(1).max(4_000).describe("What you want to know, so that it can be answered by itself"),
	choices: z
		.array(z.string().min(1).max(200))
		.min(2)
		.max(9)
		.refine((all) => new Set(all).size === all.length, "each of them once")
		.optional()
		.describe("The answers to choose from; without them any text is one"),
});

export function askUser({ session, piece }: Frame, asker: Asker): Tool {
	return defineTool({
		name: ASK_USER,
		description: "Ask the user what only they can know or decide. The work waits for the answer.",
		input,
		purity: "side_effect",
		// A question touches nothing.
		wants: async () => [],
		async call({ question, choices }, { signal, idempotencyKey = "" }) {
			const key = startKey(startOf(idempotencyKey));
			const answer = await asker.ask(session, { key, from: piece, question, ...(choices && { choices }) }, signal);
			if (answer.kind === "answered") return answer.text;
			if (answer.kind === "nobody") return { text: "nobody is here who could answer", isError: true };
			throw new JournalError("CALL_WAITING", `ask_user waits for an answer to #${answer.seq}`, { seq: answer.seq });
		},
		async reconcile(idempotencyKey) {
			const key = startKey(startOf(idempotencyKey));
			const known = session.view.get(questions).find((each) => each.key === key);
			return known?.answer ? { kind: "done", result: known.answer.text } : { kind: "not_done" };
		},
	});
}
