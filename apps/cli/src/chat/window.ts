/** How much of what a model reads at once the next question has in it. What a model counts it says with each answer, and nobody before: these are guesses by the length. */
import type { ModelRequest } from "@reyn/journal";
import { approximateTokens } from "@reyn/journal/internal";
import { messagesBefore, type Runtime, type SessionScope } from "@reyn/runtime";
import { type Instructions, instructionsText } from "../instructions.ts";

/** As they are guessed when a request is made to fit. */
export const tokensOf = ({ system = "", messages = [] }: Partial<ModelRequest>): number =>
	Math.ceil(approximateTokens({ system, messages, tools: [] }));

/** Of a conversation, as a model is shown it now. */
export const tokensSaid = (runtime: Runtime, scope: SessionScope): number =>
	tokensOf({ messages: messagesBefore(runtime.conversation(scope), runtime.wal.tip + 1) });

/** In tokens; without `most` it is unknown how many a model reads. */
export interface ContextUsed {
	readonly tokens: number;
	readonly most?: number;
}

/** @param told what comes before the conversation @returns what is used now: counted anew only where something was said since */
export function contextOf(
	runtime: Runtime,
	told: Instructions,
	most: number | undefined,
): (scope: SessionScope) => ContextUsed {
	const before = tokensOf({ system: instructionsText(told) });
	let counted: { readonly items: unknown; readonly tokens: number } | undefined;
	return (scope) => {
		const { items } = runtime.conversation(scope);
		// A list never changes: another one has something else in it.
		if (counted?.items !== items) counted = { items, tokens: items.length === 0 ? 0 : tokensSaid(runtime, scope) };
		return { tokens: before + counted.tokens, ...(most !== undefined && { most }) };
	};
}
