/** Reads the parts of a provider's stream, and tells them on as a model's. */
import type { FinishReason, ModelPart, Usage } from "@reyn/journal";
import { z } from "zod";
import type { AiSdkMessage, ProviderOptions } from "./ai-sdk-model.ts";
import { type Block, echoOf } from "./echo.ts";
import { providerError } from "./provider-error.ts";
import { unreadOf } from "./unread.ts";

const meta = z.record(z.string(), z.record(z.string(), z.json())).optional();
const id = z.string();
const count = z.number().int().nonnegative().optional().catch(undefined);
const started = z.object({ type: z.literal(["text-start", "reasoning-start"]), id, providerMetadata: meta });
const more = z.object({
	type: z.literal(["text-delta", "reasoning-delta"]),
	id,
	delta: z.string(),
	providerMetadata: meta,
});
const ended = z.object({ type: z.literal(["text-end", "reasoning-end"]), id, providerMetadata: meta });
const call = z.object({
	type: z.literal("tool-call"),
	toolCallId: z.string().min(1),
	toolName: z.string().min(1),
	input: z.string(),
	providerExecuted: z.boolean().optional(),
	providerMetadata: meta,
});
const finish = z.object({
	type: z.literal("finish"),
	finishReason: z.object({ unified: z.string(), raw: z.string().optional() }),
	usage: z.object({
		inputTokens: z.object({ total: count, noCache: count, cacheRead: count, cacheWrite: count }),
		outputTokens: z.object({ total: count }),
	}),
});
const failed = z.object({ type: z.literal("error"), error: z.unknown() });
const told = z.discriminatedUnion("type", [started, more, ended, call, finish, failed]);
/** Of the others nothing is told on, such as sources. */
const toldTypes = told.options.flatMap(({ shape: { type } }) => [...type.values] as string[]);
const anyPart = z.looseObject({ type: z.string() });

const reasons: Readonly<Record<string, FinishReason>> = {
	stop: "stop",
	"tool-calls": "stop",
	length: "length",
	"content-filter": "filter",
};

/**
 * @param prompt what was asked
 * @throws the provider's error, as the port of a model has it
 */
export async function* answerOf(
	stream: AsyncIterable<unknown>,
	signal: AbortSignal,
	now: () => number,
	prompt: readonly AiSdkMessage[],
): AsyncGenerator<ModelPart> {
	const blocks: Block[] = [];
	const open = new Map<string, Extract<Block, { text: string }>>();
	const blockOf = (type: "text" | "reasoning", at: string): Extract<Block, { text: string }> => {
		const found = open.get(`${type} ${at}`);
		if (found) return found;
		const block = { type, text: "" };
		blocks.push(block);
		open.set(`${type} ${at}`, block);
		return block;
	};
	let end: z.infer<typeof finish> | undefined;
	for await (const given of stream) {
		signal.throwIfAborted();
		const part = partOf(given);
		if (!part) continue;
		switch (part.type) {
			case "text-start":
			case "reasoning-start":
				withMeta(blockOf(part.type === "text-start" ? "text" : "reasoning", part.id), part.providerMetadata);
				break;
			case "text-delta":
			case "reasoning-delta": {
				const block = blockOf(part.type === "text-delta" ? "text" : "reasoning", part.id);
				block.text += part.delta;
				withMeta(block, part.providerMetadata);
				if (block.type === "text" && part.delta !== "") yield { type: "text", text: part.delta };
				break;
			}
			case "text-end":
			case "reasoning-end": {
				const type = part.type === "text-end" ? "text" : "reasoning";
				withMeta(blockOf(type, part.id), part.providerMetadata);
				// Some providers use the id of a block again.
				open.delete(`${type} ${part.id}`);
				break;
			}
			case "tool-call": {
				if (part.providerExecuted) break;
				const block: Block = { type: "call", id: part.toolCallId };
				withMeta(block, part.providerMetadata);
				blocks.push(block);
				yield { type: "toolCall", call: { id: part.toolCallId, name: part.toolName, args: argsOf(part.input) } };
				break;
			}
			case "error":
				throw providerError(part.error, now());
			case "finish":
				end = part;
		}
	}
	signal.throwIfAborted();
	if (!end) throw broken("its stream ended before its answer did");
	const least = unreadOf(prompt, countedIn(end.usage));
	yield { type: "finish", reason: reasonOf(end.finishReason), ...echoed(blocks), ...(least && { least }) };
	yield { type: "usage", usage: usageOf(end.usage) };
}

/** @throws for a part that is not as the specification has it */
function partOf(given: unknown): z.infer<typeof told> | undefined {
	const any = anyPart.safeParse(given);
	if (any.success && !toldTypes.includes(any.data.type)) return undefined;
	const found = told.safeParse(given);
	if (found.success) return found.data;
	const what = `a part of its answer is not as the specification has it: ${z.prettifyError(found.error)}`;
	throw Object.assign(new Error(what), { retryable: false });
}

/** Later metadata of a block adds to that before it: a signature may come last. */
function withMeta(block: Block, found: ProviderOptions | undefined): void {
	for (const [provider, values] of Object.entries(found ?? {}))
		block.meta = { ...block.meta, [provider]: { ...block.meta?.[provider], ...values } };
}

/** Arguments that are no JSON are told as they are: the model is told that they are wrong. */
function argsOf(input: string): unknown {
	if (input.trim() === "") return {};
	try {
		return JSON.parse(input);
	} catch {
		return input;
	}
}

/** @throws for an answer that broke off, which may come whole later */
function reasonOf({ unified, raw }: z.infer<typeof finish>["finishReason"]): FinishReason {
	const known = reasons[unified];
	if (known) return known;
	// Nobody said that it was over: the connection was cut.
	if (unified === "interrupted" || raw === undefined) throw broken("its answer broke off");
	if (unified === "error") throw broken(`its answer ended with ${JSON.stringify(raw)}`);
	return "other";
}

const broken = (what: string): Error => Object.assign(new Error(what), { retryable: true });

const echoed = (blocks: readonly Block[]) => {
	const echo = echoOf(blocks);
	return echo === undefined ? {} : { echo };
};

/** All that it has read, a cache included; undefined: nobody knows. */
function countedIn({ inputTokens }: z.infer<typeof finish>["usage"]): number | undefined {
	const { total, noCache = 0, cacheRead = 0, cacheWrite = 0 } = inputTokens;
	return total === undefined ? undefined : Math.max(total, noCache + cacheRead + cacheWrite);
}

const usageOf = ({ inputTokens, outputTokens }: z.infer<typeof finish>["usage"]): Usage => ({
	inputTokens: inputTokens.total ?? 0,
	outputTokens: outputTokens.total ?? 0,
	...(inputTokens.cacheRead === undefined ? {} : { cachedInputTokens: inputTokens.cacheRead }),
	...(inputTokens.total === undefined || outputTokens.total === undefined ? { uncounted: true } : {}),
});
