/** What the bot can do: two tools and a skill. A line in `refunds.txt` is a refund; the shop knows each by its key. */
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { defineTool } from "@reyn/journal";
import { defineSkill, done, next } from "@reyn/skill-resume";
import { z } from "zod";

const order = z.object({ order: z.int() });
const refunds = () => (existsSync("refunds.txt") ? readFileSync("refunds.txt", "utf8").trim().split("\n") : []);

export const lookUp = defineTool({
	name: "look_up",
	description: "What was ordered, and for how much",
	input: order,
	purity: "world",
	call: async ({ order }) => `order ${order}: a lamp, 40 EUR`,
});

export const refund = defineTool({
	name: "refund",
	description: "Pays an order back",
	input: order,
	purity: "side_effect",
	async call({ order }, { idempotencyKey }) {
		appendFileSync("refunds.txt", `${idempotencyKey} order ${order}\n`);
		crash("refund");
		return `order ${order} is paid back`;
	},
	/** After a kill nobody knows whether it happened, but for the shop. */
	async reconcile(key) {
		const found = refunds().find((line) => line.startsWith(`${key} `));
		return found ? { kind: "done", result: `${found.slice(key.length + 1)} is paid back` } : { kind: "not_done" };
	},
});

export const report = defineSkill({
	name: "report",
	description: "Counts the refunds of a day, and files that",
	input: z.object({ day: z.string() }),
	start: "count",
	phases: {
		count: async ({ step }) => next("file", await step("count", async () => refunds().length, { purity: "external" })),
		file: async (_context, { day }, count) => {
			crash("report");
			return done(`${day}: ${count} refund(s)`);
		},
	},
});

/** `CRASH=refund` kills the process (SIGKILL) when the refund is made and nobody has recorded it. */
export function crash(at) {
	if (process.env.CRASH === at) process.kill(process.pid, "SIGKILL");
}
