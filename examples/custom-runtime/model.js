/** A model that follows a script, so that nothing here needs a network. Each call leaves a line in `model-calls.txt`. */
import { appendFileSync } from "node:fs";
import { setTimeout } from "node:timers/promises";

/** Goes on with a conversation: a question it answers with the words to count, the counts with a sentence. */
export async function think(lines, signal) {
	const { who, text } = lines.at(-1);
	appendFileSync("model-calls.txt", `${who}: ${text}\n`);
	crash("call");
	await setTimeout(200, undefined, { signal });

	if (who === "you") return { words: (text.match(/\p{L}+/gu) ?? []).filter((word) => word !== "or") };
	const counts = lines.slice(lines.findLastIndex((line) => line.who === "you")).filter((line) => line.who === "tool");
	const [longest] = counts.map((line) => line.text.split(" ")).sort(([, a], [, b]) => b - a);
	return { answer: longest ? `${longest[0]} is the longest, with ${longest[1]} letters.` : "Give me some words." };
}

/** The tool. To count twice does no harm; a call that may be made only once wants `@reyn/journal`. */
export const count = (word) => ({ word, letters: [...word].length });

/** `CRASH=call` ends the process in a call of the model, `CRASH=record` after its next record, as a power failure would. */
export function crash(at) {
	if (process.env.CRASH === at) process.kill(process.pid, "SIGKILL");
}
