/** What a provider wants back with an answer: its parts in their order, with the metadata of each. Texts and calls that the message has are not said again. */
import type { ToolCall } from "@reyn/journal";
import { z } from "zod";
import type { AssistantPart, ProviderOptions } from "./ai-sdk-model.ts";

const options = z.record(z.string(), z.record(z.string(), z.json()));
const meta = { meta: options.exactOptional() };

const echoSchema = z.array(
	z.discriminatedUnion("type", [
		z.object({ type: z.literal("reasoning"), text: z.string(), ...meta }),
		/** Without a text of its own it is all of the message's. */
		z.object({ type: z.literal("text"), text: z.string().exactOptional(), ...meta }),
		z.object({ type: z.literal("call"), id: z.string(), ...meta }),
	]),
);

export type Echoed = z.infer<typeof echoSchema>;

/** The parts of an answer as the provider gave them. */
export type Block =
	| { readonly type: "reasoning" | "text"; text: string; meta?: ProviderOptions }
	| { readonly type: "call"; readonly id: string; meta?: ProviderOptions };

/** What has to be kept of an answer; undefined: its text and calls say it all. */
export function echoOf(blocks: readonly Block[]): Echoed | undefined {
	const kept = blocks.filter((block) => block.type !== "text" || block.text !== "");
	const texts = kept.filter(({ type }) => type === "text");
	const isSaid = kept.every(({ type, meta: own }) => type !== "reasoning" && own === undefined) && texts.length < 2;
	if (isSaid) return undefined;
	return kept.map((block): Echoed[number] => {
		const own = block.meta === undefined ? {} : { meta: block.meta as never };
		if (block.type === "call") return { type: "call", id: block.id, ...own };
		if (block.type === "text" && texts.length === 1) return { type: "text", ...own };
		return { type: block.type, text: block.text, ...own };
	});
}

/** The parts of the message as they were; undefined where what is kept is not of this message, or was changed. */
export function partsOf(
	echo: unknown,
	{ text, toolCalls }: { readonly text: string; readonly toolCalls: readonly ToolCall[] },
): AssistantPart[] | undefined {
	const read = echoSchema.safeParse(echo);
	if (!read.success) return undefined;
	const calls = new Map(toolCalls.map((call) => [call.id, call]));
	const parts: AssistantPart[] = [];
	for (const each of read.data) {
		const own = each.meta === undefined ? {} : { providerOptions: each.meta as ProviderOptions };
		if (each.type === "call") {
			const call = calls.get(each.id);
			if (!call || !calls.delete(each.id)) return undefined;
			parts.push({ type: "tool-call", toolCallId: call.id, toolName: call.name, input: call.args ?? {}, ...own });
		} else parts.push({ type: each.type, text: each.text ?? text, ...own });
	}
	const said = parts.flatMap((part) => (part.type === "text" ? part.text : [])).join("");
	return calls.size === 0 && said === text ? parts : undefined;
}
