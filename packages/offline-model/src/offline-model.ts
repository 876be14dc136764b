/** The offline model as a `Model`: streams a reply in parts, at a pace that people can watch, and counts its tokens. */
import { setTimeout as wait } from "node:timers/promises";
import type { Model, ModelRequest, Usage } from "@reyn/journal";
import { attachable } from "@reyn/journal/internal";
import { withoutFiles } from "./files.ts";
import type { Reply } from "./reply.ts";

export interface OfflineModelOptions {
	/** How long a call takes, spread over its parts, so that people can watch. Default 0. */
	readonly paceMs?: number;
}

// A timer fires after a millisecond at the earliest, so shorter waits are added up until they make one of 10 ms.
const shortestWaitMs = 10;

/**
 * A model without a model: it takes terms out of the question, looks with the tools that it is given, and answers by quoting
 * what it found. No network, no clock, no dice: the same request always gets the same parts.
 */
export function offlineModel({ paceMs = 0 }: OfflineModelOptions = {}): Model {
	return {
		id: "offline",
		accepts: attachable,
		async *generate(request, { signal }) {
			signal.throwIfAborted();
			// Loaded when it is asked: its tables of words take a tenth of the time of a command that asks nothing.
			const { reply } = await import("./reply.ts");
			const answer = reply(request);
			const deltas = splitDeltas(answer.text);
			const pace = pacer(paceMs / (deltas.length + answer.calls.length), signal);
			for (const text of deltas) {
				await pace();
				yield { type: "text", text };
			}
			for (const call of answer.calls) {
				await pace();
				yield { type: "toolCall", call };
			}
			signal.throwIfAborted();
			yield { type: "usage", usage: usageOf(withoutFiles(request).request, answer) };
		},
	};
}

/** About four characters a token: an approximation, the same for every text and every run. */
export const approximateTokens = (text: string): number => Math.ceil(text.length / 4);

function usageOf({ system, messages, tools }: ModelRequest, { text, calls }: Reply): Usage {
	return {
		inputTokens: approximateTokens(JSON.stringify({ system, messages, tools })),
		outputTokens: approximateTokens(calls.length === 0 ? text : text + JSON.stringify(calls)),
	};
}

/** A few words at a time; joined, they are the text. */
const splitDeltas = (text: string): readonly string[] => text.match(/\s*(?:\S+\s*){1,4}/g) ?? [];

/** Waits its share before each part and stops with the signal's reason. */
function pacer(shareMs: number, signal: AbortSignal): () => Promise<void> {
	let owedMs = 0;
	return async () => {
		signal.throwIfAborted();
		owedMs += shareMs;
		if (owedMs < shortestWaitMs) return;
		const waitMs = owedMs;
		owedMs = 0;
		await wait(waitMs, undefined, { signal }).catch(() => {});
		signal.throwIfAborted();
	};
}
