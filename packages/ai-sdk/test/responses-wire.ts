/** The Responses API of OpenAI: its stream, and what it refuses. */
import { mediaTypeOf } from "@reyn/journal/internal";
import { type Reply, type Speaker, signatureOf } from "./wire.ts";

interface Item {
	readonly type?: string;
	readonly role?: string;
	readonly content?: string | readonly Part[];
	readonly call_id?: string;
	readonly output?: string | readonly Part[];
}

interface Part {
	readonly type: string;
	readonly text?: string;
	readonly image_url?: string;
	readonly file_data?: string;
}

const event = (data: { readonly type: string; readonly [more: string]: unknown }): string =>
	`event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;

function wrongPart({ type, text, image_url: image, file_data: file }: Part): string | undefined {
	if (type === "input_text" || type === "output_text") return text ? undefined : "text must not be empty";
	const [, mediaType, base64 = ""] = /^data:([^;]+);base64,(.+)$/.exec(image ?? file ?? "") ?? [];
	if (mediaTypeOf(Buffer.from(base64, "base64")) !== mediaType) return `${type}: the bytes are no ${mediaType}`;
	const isPdf = mediaType === "application/pdf";
	return (type === "input_file") === isPdf ? undefined : `${type}: ${mediaType} does not belong here`;
}

function thought(thinking: string): readonly string[] {
	const item = { type: "reasoning", id: "rs_1", encrypted_content: signatureOf(thinking), summary: [] };
	return ["added", "done"].map((how) => event({ type: `response.output_item.${how}`, output_index: 0, item }));
}

const incomplete = { length: "max_output_tokens", filter: "content_filter" } as const;

export const responses: Speaker = {
	wrong({ input }) {
		const open = new Set<string>();
		for (const [i, { type, role, content, call_id: id = "", output }] of (input as readonly Item[]).entries()) {
			const parts = [content, output].flatMap((each) => (Array.isArray(each) ? (each as readonly Part[]) : []));
			const wrong = parts.map(wrongPart).find((each) => each !== undefined);
			if (wrong !== undefined) return `input[${i}]: ${wrong}`;
			if (content === "" || output === "") return `input[${i}]: must not be empty`;
			if (type === "function_call") open.add(id);
			else if (type === "function_call_output") {
				if (!open.delete(id)) return `input[${i}]: no tool call found for function call output with call_id ${id}`;
			} else if (role === "user" && open.size > 0) return `input[${i}]: no tool output found for ${[...open].join()}`;
		}
		return open.size === 0 ? undefined : `no tool output found for function call ${[...open].join()}`;
	},

	events({ thinking, text, calls = [], finish = "stop", reads = 48 }: Reply) {
		const usage = {
			...{ input_tokens: reads, input_tokens_details: { cached_tokens: 8 }, output_tokens: 7, total_tokens: reads + 7 },
		};
		const message = { type: "message", id: "msg_1" };
		const said = (delta: string) =>
			event({ type: "response.output_text.delta", item_id: "msg_1", output_index: 0, content_index: 0, delta });
		return [
			event({ type: "response.created", response: { id: "resp_1", created_at: 1, model: "m" } }),
			...(thinking === undefined ? [] : thought(thinking)),
			...(text === undefined
				? []
				: [
						event({ type: "response.output_item.added", output_index: 0, item: message }),
						...[text.slice(0, 3), text.slice(3)].map(said),
						event({ type: "response.output_item.done", output_index: 0, item: message }),
					]),
			...calls.flatMap(({ id, name, args }, at) => {
				const of = { output_index: at + 1, item_id: `fc_${id}` };
				const item = { type: "function_call", id: `fc_${id}`, call_id: id, name };
				return [
					event({ type: "response.output_item.added", ...of, item: { ...item, arguments: "" } }),
					...[args.slice(0, 4), args.slice(4)].map((delta) =>
						event({ type: "response.function_call_arguments.delta", ...of, delta }),
					),
					event({
						...{ type: "response.output_item.done", ...of },
						item: { ...item, arguments: args, status: "completed" },
					}),
				];
			}),
			finish === "stop"
				? event({ type: "response.completed", response: { usage } })
				: event({
						type: "response.incomplete",
						response: { usage, incomplete_details: { reason: incomplete[finish] } },
					}),
		];
	},

	error: (error) => event({ type: "error", sequence_number: 1, code: null, param: null, message: "", ...error }),
};
