/** `spend`: what all that happened has cost. */
import { z } from "zod";
import { list, seq } from "../shapes.ts";
import { readSpend, type Spend, type Total, tokensIn } from "../spend.ts";
import { oneLine } from "../text.ts";
import { readVerb } from "../verb.ts";

const total = z.object({ calls: seq, inputTokens: seq, outputTokens: seq });
const costs = { paid: total, left: total, recalled: total, failed: seq };

export const spend = readVerb({
	name: "spend",
	summary: "what was paid for, on this line of history and on those that were left",
	params: {},
	example: "",
	result: z.object({
		since: seq,
		through: seq,
		...costs,
		by: list(z.object({ kind: z.string(), name: z.string(), ...costs })),
	}),
	read: (runtime) => readSpend(runtime),
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

const inWords = (total: Total): string =>
	`${total.calls} ${total.calls === 1 ? "call" : "calls"}, ${tokensIn(total)} tokens (${total.inputTokens} in, ${total.outputTokens} out)`;
