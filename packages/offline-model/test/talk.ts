/** Whole turns of the offline model against the real tools, for its tests. */
import type { Message, ModelPart, ModelRequest, ToolCall, ToolSpec } from "@reyn/journal";
import { createFileTools } from "@reyn/tools";
import { offlineModel } from "../src/offline-model.ts";

export const live = new AbortController().signal;
export const user = (text: string): Message => ({ role: "user", text });
const spec = (name: string): ToolSpec => ({ name, description: "", parameters: {} });

export const request = (messages: readonly Message[], tools: readonly string[] = []): ModelRequest => ({
	system: "be helpful",
	messages,
	tools: tools.map(spec),
});

export async function collect<T>(stream: AsyncIterable<T>): Promise<readonly T[]> {
	const all: T[] = [];
	for await (const each of stream) all.push(each);
	return all;
}

export const parts = (asked: ModelRequest): Promise<readonly ModelPart[]> =>
	collect(offlineModel().generate(asked, { signal: live }));

export async function reply(asked: ModelRequest): Promise<{ text: string; calls: readonly ToolCall[] }> {
	const all = await parts(asked);
	return {
		text: all.map((part) => (part.type === "text" ? part.text : "")).join(""),
		calls: all.flatMap((part) => (part.type === "toolCall" ? [part.call] : [])),
	};
}

export interface Told {
	readonly text: string;
	/** `search lock` or `read src/a.ts`, in order. */
	readonly did: readonly string[];
	readonly plan: Plan | undefined;
	readonly messages: readonly Message[];
}

export interface Plan {
	readonly goal: string;
	readonly steps: readonly { id: string; description: string; tools: string[]; depends_on: string[] }[];
}

export const inChat = ["list", "search", "read", "plan"];

/** A whole turn in a directory; `plan` answers as given. */
export async function askIn(
	root: string,
	messages: readonly Message[],
	tools = inChat,
	planned: readonly string[] = [],
	options: { readonly maxFiles?: number; readonly maxFileBytes?: number } = {},
): Promise<Told> {
	const lookups = createFileTools(root, options);
	const all = [...messages];
	const did: string[] = [];
	const answers = [...planned];
	let plan: Plan | undefined;
	for (let round = 0; round < 8; round++) {
		const { text, calls } = await reply(request(all, tools));
		all.push({ role: "assistant", text, toolCalls: calls });
		if (calls.length === 0) return { text, did, plan, messages: all };
		for (const call of calls) {
			const args = call.args as { query?: string; path?: string };
			did.push([call.name, args.query ?? args.path ?? ""].join(" ").trim());
			if (call.name === "plan") plan = call.args as Plan;
			const answer =
				call.name === "plan"
					? (answers.shift() ?? "plan 1a started; it works in the background")
					: await (
							lookups.find(({ name }) => name === call.name)?.call(call.args, { signal: live }) ??
							Promise.reject(new Error("no tool"))
						).then(String, (error: Error) => `ERROR: ${error.message}`);
			all.push({ role: "tool", callId: call.id, name: call.name, text: answer });
		}
	}
	throw new Error("the model did not come to an end");
}
