/** The chat completions of OpenAI, which Ollama and many others speak: their stream, and what they refuse. */
import { mediaTypeOf } from "@reyn/journal/internal";
import type { Reply, Speaker } from "./wire.ts";

interface ChatMessage {
	readonly role: string;
	readonly content?: unknown;
	readonly tool_calls?: readonly { readonly id: string }[];
	readonly tool_call_id?: string;
}

/** Why a part of a message is none, as the server looks at its bytes. */
function wrongPart(part: unknown): string | undefined {
	const { type, text, image_url: image, file } = part as ChatPart;
	if (type === "text") return text ? undefined : "text must not be empty";
	const [, mediaType, base64 = ""] = /^data:([^;]+);base64,(.+)$/.exec(image?.url ?? file?.file_data ?? "") ?? [];
	const found = mediaTypeOf(Buffer.from(base64, "base64"));
	if (found === undefined || found !== mediaType) return `${type}: the bytes are no ${mediaType}`;
	return (type === "file") === (mediaType === "application/pdf")
		? undefined
		: `${type}: ${mediaType} does not belong here`;
}

interface ChatPart {
	readonly type: string;
	readonly text?: string;
	readonly image_url?: { readonly url: string };
	readonly file?: { readonly file_data: string };
}

const data = (value: object | string): string =>
	`data: ${typeof value === "string" ? value : JSON.stringify(value)}\n\n`;

const finishes = { stop: "stop", length: "length", filter: "content_filter" } as const;

const chunk = (delta: object, finish: string | null = null) => ({
	...{ id: "c1", object: "chat.completion.chunk", created: 1, model: "m" },
	choices: [{ index: 0, delta, finish_reason: finish }],
});

export const chat: Speaker = {
	wrong({ messages }) {
		const all = messages as readonly ChatMessage[];
		for (let i = 0; i < all.length; i++) {
			const { role, tool_calls: calls = [], content } = all[i] as ChatMessage;
			if (role === "tool") return `messages[${i}]: a message of role tool must follow its tool_calls`;
			if (role === "user" && content === "") return `messages[${i}]: content must not be empty`;
			if (role !== "user" && typeof (content ?? "") !== "string")
				return `messages[${i}]: content of ${role} must be a text`;
			const wrong = (Array.isArray(content) ? content : []).map(wrongPart).find((each) => each !== undefined);
			if (wrong !== undefined) return `messages[${i}]: ${wrong}`;
			const ids = calls.map(({ id }) => id);
			const results = all.slice(i + 1, i + 1 + ids.length).map((each) => each.tool_call_id);
			if (ids.join() !== results.join()) return `messages[${i}]: each of tool_calls needs a message of role tool`;
			i += ids.length;
		}
		return undefined;
	},

	events({ text, calls = [], finish = "stop", reads = 48 }: Reply) {
		const usage = {
			prompt_tokens: reads,
			completion_tokens: 7,
			total_tokens: reads + 7,
			prompt_tokens_details: { cached_tokens: 8 },
		};
		return [
			data(chunk({ role: "assistant", content: "" })),
			...(text === undefined ? [] : [text.slice(0, 3), text.slice(3)].map((content) => data(chunk({ content })))),
			...calls.flatMap(({ id, name, args }, index) => [
				data(chunk({ tool_calls: [{ index, id, type: "function", function: { name, arguments: "" } }] })),
				...[args.slice(0, 4), args.slice(4)].map((piece) =>
					data(chunk({ tool_calls: [{ index, function: { arguments: piece } }] })),
				),
			]),
			data(chunk({}, calls.length > 0 && finish === "stop" ? "tool_calls" : finishes[finish])),
			data({ ...chunk({}), choices: [], usage }),
			data("[DONE]"),
		];
	},

	error: (error) => data({ error }),
};
