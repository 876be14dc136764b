/**
 * Makes a prompt that every provider takes: it begins with a user, each tool call has its result and each result its call, no text is
 * empty, and none has half a character. What a log has after a rewind or a crash may be otherwise.
 */
import type { Message, ModelRequest, ToolCall } from "@reyn/journal";
import type { AiSdkMessage, AiSdkModel, AssistantPart } from "./ai-sdk-model.ts";
import { partsOf } from "./echo.ts";
import { fileParts, outputWith, takesFilesInResults } from "./files.ts";

const NO_RESULT = "ERROR: interrupted; nobody knows the result of this call";
const NOT_SHOWN = "(What was said before is not shown.)";
const EMPTY = "(no text)";
const FILES = "The files of these results:";

type Assistant = Extract<Message, { role: "assistant" }>;

/**
 * @param model the id of the model: what another one wanted back is passed over
 * @param spoken how it has files
 */
export function promptOf(
	{ system, messages }: Pick<ModelRequest, "system" | "messages">,
	model: string,
	spoken: Pick<AiSdkModel, "specificationVersion" | "provider">,
): AiSdkMessage[] {
	const prompt: AiSdkMessage[] = [];
	for (let at = 0; at < messages.length; at++) {
		const message = messages[at] as Message;
		switch (message.role) {
			case "user":
				prompt.push(user(message.text, fileParts(message.files ?? [], spoken)));
				break;
			case "note":
				prompt.push(user(`Note: ${message.text}`));
				break;
			case "assistant": {
				const results = resultsBehind(messages, at);
				at += results.length;
				const content = contentOf(message, model);
				if (content.length === 0) break;
				if (prompt.length === 0) prompt.push(user(NOT_SHOWN));
				prompt.push({ role: "assistant", content });
				if (message.toolCalls.length === 0) break;
				prompt.push({ role: "tool", content: answered(message.toolCalls, results, spoken) });
				const files = fileParts(
					results.flatMap((each) => each.files ?? []),
					spoken,
				);
				if (files.length > 0 && !takesFilesInResults(spoken)) prompt.push(user(FILES, files));
				break;
			}
			case "tool":
			// A result without its call.
		}
	}
	const instructions: AiSdkMessage[] = system === "" ? [] : [{ role: "system", content: system }];
	return wellFormed([...instructions, ...prompt]);
}

type UserMessage = Extract<AiSdkMessage, { role: "user" }>;

const user = (text: string, files: UserMessage["content"] = []): UserMessage => ({
	...{ role: "user", content: [{ type: "text", text: text || EMPTY }, ...files] },
});

type Result = Extract<Message, { role: "tool" }>;

function resultsBehind(messages: readonly Message[], at: number): readonly Result[] {
	const behind = messages.slice(at + 1);
	const end = behind.findIndex(({ role }) => role !== "tool");
	return (end < 0 ? behind : behind.slice(0, end)) as readonly Result[];
}

function contentOf(message: Assistant, model: string): AssistantPart[] {
	const { text, toolCalls, echo } = message;
	const echoed = echo?.model === model ? partsOf(echo.parts, message) : undefined;
	return (
		echoed ?? [
			...(text === "" ? [] : [{ type: "text" as const, text }]),
			...toolCalls.map(({ id, name, args = {} }) => ({
				type: "tool-call" as const,
				...{ toolCallId: id, toolName: name, input: args },
			})),
		]
	);
}

const answered = (calls: readonly ToolCall[], results: readonly Result[], spoken: Parameters<typeof outputWith>[2]) =>
	calls.map(({ id, name }) => {
		const { text = NO_RESULT, files = [] } = results.find(({ callId }) => callId === id) ?? {};
		const value = text || EMPTY;
		const isWhole = files.length > 0 && takesFilesInResults(spoken);
		const output = isWhole ? outputWith(value, files, spoken) : { type: "text" as const, value };
		return { type: "tool-result" as const, toolCallId: id, toolName: name, output };
	});

/** Halves of characters, which a result that was cut may have, are refused by some. */
function wellFormed<T>(value: T): T {
	if (typeof value === "string") return value.toWellFormed() as T;
	if (Array.isArray(value)) return value.map(wellFormed) as T;
	if (typeof value !== "object" || value === null || value instanceof Uint8Array) return value;
	return Object.fromEntries(Object.entries(value).map(([key, each]) => [key.toWellFormed(), wellFormed(each)])) as T;
}
