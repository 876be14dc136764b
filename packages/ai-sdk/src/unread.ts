/** Notices a server that cuts a long prompt and says nothing, as Ollama does: it counts fewer tokens than the prompt has words. */
import type { AiSdkMessage } from "./ai-sdk-model.ts";

/** Of a shorter prompt nothing is said: so little is read by all. */
const SHORTEST = 500;

/**
 * The least tokens that a prompt has, where fewer were counted; undefined: nothing speaks against that all was read. Files and tools are
 * not counted: what they have nobody knows. It is a hint alone, since a server may also count wrongly: the answer stands.
 *
 * @param counted the tokens that the provider has read, those from a cache included; undefined or 0: it does not count
 */
export function unreadOf(prompt: readonly AiSdkMessage[], counted: number | undefined): number | undefined {
	if (counted === undefined || counted === 0) return undefined;
	const least = sum(prompt.map(wordsOf));
	return least < SHORTEST || counted >= least ? undefined : least;
}

/** A run of letters, with the apostrophes in it, has a token of its own at least: no tokenizer joins two, and most split a few. */
const WORD = /[\p{L}\p{M}][\p{L}\p{M}'’]*/gu;

const wordsOf = (message: AiSdkMessage): number => sum(textsOf(message).map((text) => text.match(WORD)?.length ?? 0));

function textsOf(message: AiSdkMessage): readonly string[] {
	if (message.role === "system") return [message.content];
	return message.content.flatMap((part) => {
		if (part.type === "text") return part.text;
		return part.type === "tool-result" && part.output.type === "text" ? part.output.value : [];
	});
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, each) => all + each, 0);
