/** The bundled skill: look through a directory, sum it up, write the summary to the agent's workspace. */
import { join } from "node:path";
import type { Tool } from "@reyn/journal";
import { defineSkill, done, next, type Skill } from "@reyn/skill-resume";
import { atomicWrite } from "@reyn/wal/internal";
import { z } from "zod";

const input = z.strictObject({ topic: z.string().min(1) });
const gathered = z.object({ summary: z.string() });

/** @param workspace where the digest is written: `digest-<topic>.md` */
export function digestSkill(tools: readonly Tool[], workspace: string): Skill {
	const tool = (name: string): Tool => tools.find((each) => each.name === name) as Tool;
	return defineSkill<z.infer<typeof input>>({
		name: "digest",
		description: "Searches the directory for a topic, sums up what it says, and writes digest-<topic>.md",
		input,
		start: "gather",
		phases: {
			async gather(context, { topic }) {
				const search = tool("search");
				const found = await context.step("search", ({ signal }) => search.call({ query: topic }, { signal }), {
					purity: "world",
					args: { topic },
				});
				const { text } = await context.model({
					system: "Sum up the given search results in a few lines, each with its source as path:line.",
					messages: [{ role: "user", text: `Sum up what is said about: ${topic}\n\n${found}` }],
					tools: [],
				});
				return next("publish", { summary: text });
			},
			async publish(context, { topic }, before) {
				const { summary } = gathered.parse(before);
				const path = join(workspace, `digest-${topic.replace(/[^\p{L}\p{N}]+/gu, "-").slice(0, 60)}.md`);
				await context.step("write", () => atomicWrite(path, `# ${topic}\n\n${summary}\n`), {
					purity: "side_effect",
					args: { path, summary },
					// Writing the same text again changes nothing, so a write in doubt is simply made again.
					reconcile: async () => ({ kind: "not_done" }),
				});
				return done(`${summary}\n\nwritten to ${path}`);
			},
		},
	}) as Skill;
}
