/** `ask`: a question, or a task, for the agent of a session. */
import { z } from "zod";
import { option, text } from "../param.ts";
import { seq } from "../shapes.ts";
import { workVerb } from "../verb.ts";
import { session } from "./ref.ts";

/** Their bytes are in base64, since who asks may be another process. */
const givenFiles = z.array(z.strictObject({ name: z.string(), base64: z.base64() }));

export const ask = workVerb({
	name: "ask",
	summary: "ask something; a plan that it leads to goes on in the background",
	params: {
		text: text(
			"text",
			"the question",
			z.string().refine((given) => given.trim() !== "", "the question is empty"),
		),
		files: option("files", "images and PDFs to be shown with it", givenFiles.default([])),
		session,
	},
	example: "where is recovery described?",
	begun: z.object({ turn: seq }),
	check: async () => {},
	async begin(runtime, { text, session, files }) {
		const given = files.map(({ name, base64 }) => ({ name, bytes: Buffer.from(base64, "base64") }));
		return { turn: await runtime.prompt(text, session, given) };
	},
	lines: ({ turn }) => [`asked in #${turn}`],
});
