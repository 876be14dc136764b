import type { Lane } from "./perform.ts";
import type { Model, ModelRequest, Tool, ToolCall, Usage } from "./ports.ts";
import { startsDurably } from "./purity.ts";

/** A model's whole answer. */
export interface ModelReply {
	readonly text: string;
	readonly toolCalls: readonly ToolCall[];
	readonly usage: Usage;
}

/**
 * Asks a model, once: a recorded answer is given again without a call, and `onText` sees it in one piece. A stream
 * that breaks or is cancelled is no answer.
 */
export function askModel(
	lane: Lane,
	model: Model,
	request: ModelRequest,
	onText?: (delta: string) => void,
): Promise<ModelReply> {
	let streamed = false;
	const reply = lane.perform<ModelReply>({
		kind: "model",
		name: model.id,
		args: request,
		purity: "llm",
		usage: ({ usage }) => usage,
		async call({ signal }) {
			streamed = true;
			return readReply(model, request, signal, onText);
		},
	});
	return reply.then((answer) => {
		if (!streamed && answer.text) onText?.(answer.text);
		return answer;
	});
}

/** Calls a tool as a step of its purity. */
export function callTool(lane: Lane, tool: Tool, args: unknown): Promise<string> {
	return lane.perform({
		kind: "tool",
		name: tool.name,
		args: args ?? {},
		purity: tool.purity,
		call: (context) => tool.call(args ?? {}, startsDurably(tool.purity) ? context : { signal: context.signal }),
		empty: "(skipped: nobody knows whether this call happened before the process ended)",
	});
}

async function readReply(
	model: Model,
	request: ModelRequest,
	signal: AbortSignal,
	onText?: (delta: string) => void,
): Promise<ModelReply> {
	let text = "";
	const toolCalls: ToolCall[] = [];
	let usage: Usage | undefined;
	for await (const part of model.generate(request, { signal })) {
		signal.throwIfAborted();
		switch (part.type) {
			case "text":
				text += part.text;
				onText?.(part.text);
				break;
			case "toolCall":
				toolCalls.push(part.call);
				break;
			case "usage":
				usage = part.usage;
		}
	}
	if (!usage) throw Object.assign(new Error(`the answer of ${model.id} broke off before its end`), { retryable: true });
	return { text, toolCalls, usage };
}
