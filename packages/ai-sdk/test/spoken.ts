/** The models that are tested, each over the wire of its provider, with what that says when it cannot answer. */
import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type { Model } from "@reyn/journal";
import { fromAiSdk } from "../src/index.ts";
import { anthropic } from "./anthropic-wire.ts";
import { chat } from "./chat-wire.ts";
import { google } from "./google-wire.ts";
import { responses } from "./responses-wire.ts";
import type { Speaker, Wire } from "./wire.ts";

export const KEY = "sk-canary-7f3a9c51d2e84b60";

export interface Spoken {
	readonly name: string;
	readonly speaker: Speaker;
	readonly id: string;
	model(wire: Wire): Model;
	/** How it says that an account has no money. */
	readonly empty: object;
	/** How it says in a stream that it is too busy. */
	readonly busy: object;
	/** Does it see to the arguments of calls itself? Then an answer whose arguments are no JSON is none. */
	readonly seesArguments?: true;
	/** The files that it does not take. */
	readonly refuses?: readonly string[];
}

const noQuota = {
	error: { message: "You exceeded your current quota", type: "insufficient_quota", code: "insufficient_quota" },
};

export const spoken: readonly Spoken[] = [
	{
		...{ name: "Anthropic", speaker: anthropic, id: "anthropic/claude-x" },
		model: ({ url }) =>
			fromAiSdk(createAnthropic({ baseURL: url, apiKey: KEY })("claude-x"), {
				maxOutputTokens: 2000,
				providerOptions: { anthropic: { thinking: { type: "enabled", budgetTokens: 1024 } } },
			}),
		empty: { type: "error", error: { type: "rate_limit_error", message: "Your credit balance is too low" } },
		busy: { type: "overloaded_error", message: "Overloaded" },
	},
	{
		...{ name: "chat completions, as Ollama has them", speaker: chat, id: "ollama/llama-x" },
		model: ({ url }) =>
			fromAiSdk(createOpenAICompatible({ name: "ollama", baseURL: url, apiKey: KEY, includeUsage: true })("llama-x")),
		empty: noQuota,
		busy: { message: "The server is overloaded", type: "server_error" },
	},
	{
		...{ name: "OpenAI, chat completions", speaker: chat, id: "openai/gpt-x" },
		model: ({ url }) => fromAiSdk(createOpenAI({ baseURL: url, apiKey: KEY }).chat("gpt-x")),
		empty: noQuota,
		busy: { message: "The server is overloaded", type: "server_error" },
	},
	{
		...{ name: "OpenAI, responses", speaker: responses, id: "openai/gpt-x" },
		model: ({ url }) => fromAiSdk(createOpenAI({ baseURL: url, apiKey: KEY })("gpt-x")),
		empty: noQuota,
		busy: { message: "The server is overloaded", code: "server_error" },
	},
	{
		...{ name: "Google", speaker: google, id: "google/gemini-x", seesArguments: true, refuses: ["shot.gif"] },
		model: ({ url }) => fromAiSdk(createGoogleGenerativeAI({ baseURL: url, apiKey: KEY })("gemini-x")),
		empty: {
			error: { code: 429, status: "RESOURCE_EXHAUSTED", message: "Your prepayment credits are depleted; see billing" },
		},
		busy: { code: 503, status: "UNAVAILABLE", message: "The model is overloaded" },
	},
];
