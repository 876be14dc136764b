/** Looks something up in the directory, sums it up, and writes two pages: what was found, and the report. */
import { defineSkill, done, next } from "@reyn/skill-resume";
import { z } from "zod";

const input = z.strictObject({
	about: z.string().min(1),
	/** The directory of the pages. They must not be there yet. */
	to: z.string().min(1).default("report"),
});

export default defineSkill<z.infer<typeof input>>({
	name: "report",
	description: "Looks something up in the directory, and writes a report and its sources to files",
	input,
	start: "gather",
	phases: {
		async gather({ tool }, { about }) {
			return next("sum", await tool("search", { query: about }));
		},
		async sum({ model }, { about }, found) {
			const { text } = await model({
				system: "Sum up the given search results in a few lines, each with its source as path:line.",
				messages: [{ role: "user", text: `Sum up what is said about: ${about}\n\n${found}` }],
				tools: [],
			});
			return next("write", { found, text });
		},
		// Killed between two writes, or within one, it goes on with the one that is missing: the tool knows what it has written.
		async write({ tool }, { about, to }, before) {
			const { found, text } = z.object({ found: z.string(), text: z.string() }).parse(before);
			await tool("write", { path: `${to}/sources.md`, text: `# What is said about ${about}\n\n${found}\n` });
			await tool("write", {
				path: `${to}/report.md`,
				text: `# ${about}\n\n${text}\n\nFrom [what was found](sources.md).\n`,
			});
			return done(`${to}/report.md`);
		},
	},
});
