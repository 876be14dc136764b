/** Recognises from a request who asks: a person in the chat, a step of a plan, or anybody with an instruction. */
import type { Message, ModelRequest, ToolCall } from "@reyn/journal";
import { askedIn } from "./digest.ts";

/** Who asks, as far as the request shows it. */
export type Situation =
	| { readonly kind: "router"; readonly question: string; readonly earlier: readonly string[]; readonly turn: Turn }
	| { readonly kind: "step"; readonly step: Step; readonly turn: Turn }
	| { readonly kind: "task"; readonly instruction: string; readonly turn: Turn };

/** What was done since the question. */
export interface Turn {
	/** Answers so far that called tools. */
	readonly rounds: number;
	readonly lookups: readonly Lookup[];
}

export interface Lookup {
	readonly call: ToolCall;
	/** Absent when the call was never answered. */
	readonly result: string | undefined;
	/** The answer that called it, counted from 0. */
	readonly round: number;
}

/** One step of a plan, as the plan's executor words it. */
export interface Step {
	readonly goal: string;
	readonly id: string;
	readonly description: string;
	readonly results: readonly StepResult[];
}

export interface StepResult {
	readonly id: string;
	readonly description: string;
	readonly text: string;
	/** Why there is no result. */
	readonly failed: string | undefined;
}

export function recognise({ messages, tools }: ModelRequest): Situation {
	if (tools.some(({ name }) => name === "plan")) {
		const at = messages.findLastIndex(isUser);
		const earlier = messages
			.slice(0, Math.max(0, at))
			.flatMap((each) => (isUser(each) ? [each.text] : each.role === "note" ? askedIn(each.text) : []));
		return {
			kind: "router",
			question: shortened(textAt(messages, at)),
			earlier: earlier.map(shortened),
			turn: turnOf(messages.slice(at + 1)),
		};
	}
	const first = messages.findIndex(isUser);
	const step = parseStep(textAt(messages, first));
	if (step !== undefined) return { kind: "step", step, turn: turnOf(messages.slice(first + 1)) };
	const at = messages.findLastIndex(isUser);
	return { kind: "task", instruction: textAt(messages, at).trim(), turn: turnOf(messages.slice(at + 1)) };
}

// What is pasted behind the first pages of a question says nothing about what to look for.
const longest = 4_000;
const shortened = (text: string): string =>
	text
		.slice(0, longest)
		.replace(/[ \t]+/g, " ")
		.trim();

const isUser = (message: Message): message is Extract<Message, { role: "user" }> => message.role === "user";

const textAt = (messages: readonly Message[], at: number): string => messages[at]?.text ?? "";

function turnOf(messages: readonly Message[]): Turn {
	const results = new Map(
		messages.flatMap((message) => (message.role === "tool" ? [[message.callId, message.text] as const] : [])),
	);
	const asked = messages.flatMap((message) =>
		message.role === "assistant" && message.toolCalls.length > 0 ? [message.toolCalls] : [],
	);
	return {
		rounds: asked.length,
		lookups: asked.flatMap((calls, round) => calls.map((call) => ({ call, result: results.get(call.id), round }))),
	};
}

const resultsTitle = "Results of the steps before:";

function parseStep(text: string): Step | undefined {
	const lines = text.split("\n");
	const at = lines.findIndex((line) => /^Step \S+: /.test(line));
	if (!lines[0]?.startsWith("Goal: ") || at < 1) return undefined;
	const goal = lines.slice(0, at).join("\n").slice("Goal: ".length).trim();
	const header = splitHeader((lines[at] ?? "").slice("Step ".length));
	const title = lines.findIndex((line, index) => index > at && line.trim() === resultsTitle);
	const description = [header.description, ...lines.slice(at + 1, title < 0 ? undefined : title)].join(" ").trim();
	return { goal, id: header.id, description, results: title < 0 ? [] : parseResults(lines.slice(title + 1)) };
}

function parseResults(lines: readonly string[]): readonly StepResult[] {
	const starts = lines.flatMap((line, index) => (/^### [\w.-]+: /.test(line) ? [index] : []));
	return starts.map((start, n) => {
		const text = lines
			.slice(start + 1, starts[n + 1])
			.join("\n")
			.trim();
		const failed = /^\(FAILED: (.*)\)$/s.exec(text)?.[1];
		return {
			...splitHeader((lines[start] ?? "").slice("### ".length)),
			text: failed === undefined ? text : "",
			failed,
		};
	});
}

/** `s1: List the files` */
function splitHeader(header: string): { id: string; description: string } {
	const colon = header.indexOf(": ");
	return { id: header.slice(0, colon), description: header.slice(colon + 2).trim() };
}
