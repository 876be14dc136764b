import { reasonOf } from "./errors.ts";
import { isFailureOfCall } from "./failure.ts";
import type { Lane } from "./lane.ts";
import type { Model, ModelRequest, Tool, ToolCall, ToolSpec, Usage } from "./ports.ts";

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
	const asked: ModelRequest = { ...request, tools: request.tools.map(describe) };
	const reply = lane.perform<ModelReply>({
		kind: "model",
		name: model.id,
		args: asked,
		purity: "llm",
		usage: ({ usage }) => usage,
		async call({ signal }) {
			streamed = true;
			return readReply(model, asked, signal, onText);
		},
	});
	return reply.then((answer) => {
		if (!streamed && answer.text) onText?.(answer.text);
		return answer;
	});
}

/** What a model is told of a tool call that it asked for. */
export interface ToolAnswer {
	/** The tool's text, or `ERROR: ` and why it failed: the model may know another way. */
	readonly text: string;
	readonly failed: boolean;
}

/**
 * Calls a tool that a model asked for, as a step of the tool's purity.
 *
 * @throws the signal's reason when it is cancelled, and whatever fails beneath the tool, the log above all
 */
export async function answerCall(
	lane: Lane,
	tools: readonly Tool[],
	{ name, args = {} }: ToolCall,
): Promise<ToolAnswer> {
	const tool = tools.find((each) => each.name === name);
	if (!tool) {
		const known = tools.map((each) => each.name).join(", ");
		return { failed: true, text: `ERROR: there is no tool "${name}" here; there are ${known || "none"}` };
	}
	try {
		const text = await lane.perform({
			kind: "tool",
			name,
			args,
			purity: tool.purity,
			call: (context) => tool.call(args, context),
			empty: "(skipped: nobody knows whether this call happened before the process ended)",
		});
		return { failed: false, text };
	} catch (error) {
		lane.signal.throwIfAborted();
		if (!isFailureOfCall(error)) throw error;
		return { failed: true, text: `ERROR: ${lane.redact(reasonOf(error).message)}` };
	}
}

/** What a model may know of a tool, of which more may have been given. */
const describe = ({ name, description, parameters }: ToolSpec): ToolSpec => ({ name, description, parameters });

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
