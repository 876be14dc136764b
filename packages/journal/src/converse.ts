/** Lets a model work with tools until its answer can be read; one that cannot may be mended once. */
import { agentLoop } from "./agent-loop.ts";
import { JournalError } from "./errors.ts";
import type { Lane } from "./lane.ts";
import type { ModelReply } from "./model-step.ts";
import type { Model, Tool, Usage } from "./ports.ts";

export interface Conversation {
	readonly system: string;
	/** What it is asked. */
	readonly text: string;
	/** How often the model may be asked. */
	readonly maxRounds: number;
}

/** What an answer says, or what is wrong with it. */
export type Read<T> = { readonly kind: "fits"; readonly value: T } | { readonly kind: "not"; readonly why: string };

/** @throws JournalError `AGENT_ANSWER` for an answer that cannot be read, asked twice; and what `agentLoop` throws */
export async function converse<T>(
	lane: Lane,
	model: Model,
	{ system, text, maxRounds }: Conversation,
	tools: readonly Tool[],
	read: (answer: string) => Read<T>,
): Promise<{ readonly value: T; readonly usage: Usage }> {
	let value: T | undefined;
	let mayMend = true;
	const mend = (reply: ModelReply): string | undefined => {
		const said = read(reply.text);
		if (said.kind === "fits") {
			value = said.value;
			return undefined;
		}
		if (!mayMend)
			throw new JournalError("AGENT_ANSWER", `the answer does not fit its schema, asked twice: ${said.why}`, {
				answer: reply.text.slice(0, 2000),
			});
		mayMend = false;
		return `That does not fit: ${said.why}. Answer again, with JSON alone.`;
	};
	const request = { system, messages: [{ role: "user" as const, text }] };
	const { usage } = await agentLoop(lane, model, request, tools, { maxRounds, mend });
	return { value: value as T, usage };
}

/** Asks for an answer that is JSON. */
export const withSchema = (prompt: string, schema: unknown): string =>
	`${prompt}\n\nAnswer with JSON alone that fits this JSON Schema:\n${JSON.stringify(schema)}`;

/** Reads an answer that is JSON, or has it in a fence. @param check says what the JSON is; what it throws is what is wrong with it */
export function readJson<T>(text: string, check: (json: unknown) => Read<T>): Read<T> {
	const [, fenced] = /```(?:json)?\s*\n([\s\S]*?)\n```/.exec(text) ?? [];
	try {
		return check(JSON.parse(fenced ?? text));
	} catch (error) {
		return { kind: "not", why: (error as Error).message };
	}
}
