/** The Messages API of Anthropic: its stream, and what it refuses. */
import { mediaTypeOf } from "@reyn/journal/internal";
import { type Reply, type Speaker, signatureOf } from "./wire.ts";

interface Block {
	readonly type: string;
	readonly text?: string;
	readonly id?: string;
	readonly tool_use_id?: string;
	readonly thinking?: string;
	readonly signature?: string;
	readonly source?: { readonly type: string; readonly media_type: string; readonly data: string };
	readonly content?: string | readonly Block[];
}

/** Why it is no image or document, as the provider looks at its bytes. */
function wrongFile({ type, source }: Block): string | undefined {
	if (type !== "image" && type !== "document") return undefined;
	if (source?.type !== "base64") return `${type}: source must be base64`;
	const isDocument = source.media_type === "application/pdf";
	if (isDocument !== (type === "document")) return `${type}: ${source.media_type} does not belong here`;
	if (source.data.length > 5 * 1024 * 1024) return `${type}: exceeds 5 MB maximum`;
	return mediaTypeOf(Buffer.from(source.data, "base64")) === source.media_type
		? undefined
		: `${type}: the bytes are no ${source.media_type}`;
}

const event = (data: { readonly type: string; readonly [more: string]: unknown }): string =>
	`event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;

const finishes = { stop: "end_turn", length: "max_tokens", filter: "refusal" } as const;

export const anthropic: Speaker = {
	wrong({ messages }) {
		const all = messages as { role: string; content: readonly Block[] }[];
		if (all[0]?.role !== "user") return "messages: the first message must be of the user";
		for (const [i, { role, content }] of all.entries()) {
			if (role === all[i - 1]?.role) return `messages.${i}: roles must alternate`;
			if (content.length === 0) return `messages.${i}: content must not be empty`;
			const blocks = content.flatMap((block) => [block, ...(Array.isArray(block.content) ? block.content : [])]);
			for (const block of blocks) {
				const file = wrongFile(block);
				if (file !== undefined) return `messages.${i}: ${file}`;
				if (block.type === "text" && !block.text?.trim()) return `messages.${i}: text must not be empty`;
				if (block.type === "thinking" && block.signature !== signatureOf(block.thinking ?? ""))
					return `messages.${i}: invalid signature in thinking`;
			}
			const uses = content.filter(({ type }) => type === "tool_use").map(({ id }) => id);
			const results = (all[i + 1]?.content ?? []).filter(({ type }) => type === "tool_result");
			const own = content.filter(({ type }) => type === "tool_result").length;
			if (content.slice(0, own).some(({ type }) => type !== "tool_result"))
				return `messages.${i}: tool_result blocks must come first`;
			if (role === "assistant" && uses.join() !== results.map((each) => each.tool_use_id).join())
				return `messages.${i}: each tool_use needs its tool_result in the next message`;
			if (role === "user" && i === 0 && content.some(({ type }) => type === "tool_result"))
				return "messages.0: tool_result without its tool_use";
		}
		return undefined;
	},

	events({ thinking, text, calls = [], finish = "stop", reads = 48 }: Reply) {
		const blocks: { readonly start: object; readonly deltas: readonly object[] }[] = [];
		if (thinking !== undefined)
			blocks.push({
				start: { type: "thinking", thinking: "", signature: "" },
				deltas: [
					{ type: "thinking_delta", thinking },
					{ type: "signature_delta", signature: signatureOf(thinking) },
				],
			});
		if (text !== undefined)
			blocks.push({
				start: { type: "text", text: "" },
				deltas: [text.slice(0, 3), text.slice(3)].map((piece) => ({ type: "text_delta", text: piece })),
			});
		for (const { id, name, args } of calls)
			blocks.push({
				start: { type: "tool_use", id, name, input: {} },
				deltas: [args.slice(0, 4), args.slice(4)].map((piece) => ({ type: "input_json_delta", partial_json: piece })),
			});
		const stop = calls.length > 0 && finish === "stop" ? "tool_use" : finishes[finish];
		const usage = {
			input_tokens: reads - 8,
			cache_read_input_tokens: 8,
			cache_creation_input_tokens: 0,
			output_tokens: 1,
		};
		const message = { id: "msg_1", type: "message", role: "assistant", model: "claude", content: [], usage };
		return [
			event({ type: "message_start", message: { ...message, stop_reason: null, stop_sequence: null } }),
			...blocks.flatMap(({ start, deltas }, index) => [
				event({ type: "content_block_start", index, content_block: start }),
				...deltas.map((delta) => event({ type: "content_block_delta", index, delta })),
				event({ type: "content_block_stop", index }),
			]),
			event({ type: "message_delta", delta: { stop_reason: stop, stop_sequence: null }, usage: { output_tokens: 7 } }),
			event({ type: "message_stop" }),
		];
	},

	error: (error) => event({ type: "error", error }),
};
