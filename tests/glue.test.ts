/** How much of an example is about the packages, and not about what it does. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { root } from "./workspace.ts";

const linesOf = (path: string): readonly string[] =>
	readFileSync(join(root, "examples", path), "utf8")
		.trimEnd()
		.split("\n");

test("a support bot needs at most 30 lines of glue, and its README says how many", () => {
	const lines = linesOf("support-bot/bot.js");
	const glue = lines.filter((line) => line.endsWith("// glue")).length;
	expect(glue).toBeLessThanOrEqual(30);
	expect(linesOf("support-bot/README.md").join(" ")).toContain(
		`Of the ${lines.length} lines of [bot.js](bot.js), ${glue} are marked`,
	);
});

test("a runtime of one's own has less than 100 lines", () => {
	expect(linesOf("custom-runtime/agent.js").length).toBeLessThan(100);
});
