/** Writes a page, has it judged, and writes it anew until it is good: a phase that is visited again. */
import { defineSkill, done, next } from "@reyn/skill-resume";
import { z } from "zod";

const input = z.strictObject({
	about: z.string().min(1),
	/** The file of the page. It must not be there yet. */
	to: z.string().min(1).default("page.md"),
});

const judged = z.object({ page: z.string(), why: z.string() });

export default defineSkill<z.infer<typeof input>>({
	name: "review",
	description: "Writes a page about something, and has it judged and mended until it is good",
	input,
	start: "draft",
	// Of each phase. A run that passes it is kept, and says so.
	maxVisits: 5,
	phases: {
		// `before` is undefined on the first visit, and then what the judge has said.
		async draft({ model, visit }, { about }, before) {
			const last = before === undefined ? undefined : judged.parse(before);
			const wrong = last && `\n\nThe page so far:\n${last.page}\n\nWhat is wrong with it:\n${last.why}`;
			const { text } = await model({
				system: "Write one page, in plain words. Answer with the page alone.",
				messages: [{ role: "user", text: `Draft ${visit} of a page about: ${about}${wrong ?? ""}` }],
				tools: [],
			});
			return next("judge", text);
		},
		// A model works on this one, and chooses where the work goes.
		judge: {
			instructions:
				"Judge the page. Where it is not good, go to draft and say why; else go to keep. Give the page as it is.",
			output: judged,
			next: ["draft", "keep"],
		},
		async keep({ tool }, { to }, before) {
			await tool("write", { path: to, text: `${judged.parse(before).page}\n` });
			return done(`written to ${to}`);
		},
	},
});
