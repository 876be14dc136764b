/** `ask`: a question, or a task, for the agent of a session. */
import { z } from "zod";
import { text } from "../param.ts";
import { seq } from "../shapes.ts";
import { workVerb } from "../verb.ts";
import { session } from "./ref.ts";

export const ask = workVerb({
	name: "ask",
	summary: "ask something; a plan that it leads to goes on in the background",
	params: {
		text: text(
			"text",
			"the question",
			z.string().refine((given) => given.trim() !== "", "the question is empty"),
		),
		session,
	},
	example: "where is recovery described?",
	begun: z.object({ turn: seq }),
	check: async () => {},
	begin: async (runtime, { text, session }) => ({ turn: await runtime.prompt(text, session) }),
	lines: ({ turn }) => [`asked in #${turn}`],
});
