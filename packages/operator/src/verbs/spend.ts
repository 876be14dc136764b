/** `spend`: what all that happened has cost. */
import { costInWords } from "@reyn/journal";
import { z } from "zod";
import { choice } from "../param.ts";
import { costShape, list, seq } from "../shapes.ts";
import { groupings, readSpend, type Spend, type Total, tokensIn } from "../spend.ts";
import { oneLine } from "../text.ts";
import { readVerb } from "../verb.ts";

/** `usd`: dollars, as a decimal number; `unknown`: so many calls cost nobody knows what. */
/** `uncounted`: of so many calls the tokens are the least, since their provider did not count them. */
const total = z.object({
	...{ calls: seq, inputTokens: seq, outputTokens: seq, cost: costShape },
	uncounted: seq.exactOptional(),
});
const costs = { paid: total, left: total, recalled: total, failed: seq };

export const spend = readVerb({
	name: "spend",
	summary: "what was paid for, on this line of history and on those that were left",
	params: {
		by: choice(
			"what",
			"put together by model, by work (a turn, a plan, a skill, a script), by session or by day (UTC)",
			groupings,
			"model",
		),
	},
	example: "--by day",
	result: z.object({
		since: seq,
		through: seq,
		...costs,
		by: list(z.object({ kind: z.string(), name: z.string(), ...costs })),
	}),
	read: (runtime, { by }) => readSpend(runtime, by),
	lines({ since, paid, left, recalled, failed, by }: Spend) {
		return [
			`paid: ${inWords(paid)}${since > 1 ? `, since #${since}: what came before was taken away by gc` : ""}`,
			...(left.calls > 0 ? [`  of which ${inWords(left)} on lines that were left`] : []),
			...(recalled.calls > 0 ? [`not paid again: ${inWords(recalled)}, which another line had`] : []),
			...(failed > 0 ? [`unknown: what ${failed} ${failed === 1 ? "call" : "calls"} that failed cost`] : []),
			...by.map(({ kind, name, paid }) => `  ${oneLine(`${kind} ${name}`, 40).padEnd(40)}  ${inWords(paid)}`),
		];
	},
});

function inWords(total: Total): string {
	const { calls, inputTokens, outputTokens, cost } = total;
	const words = costInWords(cost);
	const least = total.uncounted === undefined ? "" : "at least ";
	const tokens = `${least}${tokensIn(total)} tokens (${inputTokens} in, ${outputTokens} out)`;
	return `${calls} ${calls === 1 ? "call" : "calls"}, ${tokens}, ${words === "unknown" ? "cost unknown" : words}`;
}
