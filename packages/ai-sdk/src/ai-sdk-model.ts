/** The part of a language model of the AI SDK that is used here, as specifications V3 and V4 have it: any provider's model is one. */

export interface AiSdkModel {
	readonly specificationVersion: string;
	/** `anthropic.messages` */
	readonly provider: string;
	/** `claude-sonnet-4-5` */
	readonly modelId: string;
	doStream(call: AiSdkCall): PromiseLike<{ readonly stream: ReadableStream<unknown> }>;
}

/** What is the same for each call of a model. An absent one is as the provider has it. */
export interface AiSdkSettings {
	/** The most tokens that the model reads in a request: what is longer is shortened before it is asked. Absent: nothing is. */
	readonly maxInputTokens?: number;
	/** The media types of the files that the model takes. Default: PNG, JPEG, GIF, WebP and PDF. A model that reads texts alone takes `[]`. */
	readonly accepts?: readonly string[];
	readonly maxOutputTokens?: number;
	readonly temperature?: number;
	readonly topP?: number;
	readonly reasoning?: NonNullable<AiSdkCall["reasoning"]>;
	/** By provider: `{ anthropic: { thinking: { type: "enabled", budgetTokens: 4000 } } }`. */
	readonly providerOptions?: ProviderOptions;
}

// Mutable, as the specification has it: readonly arrays could not be given to it.
export interface AiSdkCall {
	prompt: AiSdkMessage[];
	tools?: { type: "function"; name: string; description: string; inputSchema: Record<string, unknown> }[];
	maxOutputTokens?: number;
	temperature?: number;
	topP?: number;
	reasoning?: "provider-default" | "none" | "minimal" | "low" | "medium" | "high" | "xhigh";
	providerOptions?: ProviderOptions;
	abortSignal?: AbortSignal;
}

export type AiSdkMessage =
	| { role: "system"; content: string }
	| { role: "user"; content: (TextPart | FilePart)[] }
	| { role: "assistant"; content: AssistantPart[] }
	| { role: "tool"; content: ToolResultPart[] };

export type AssistantPart =
	| TextPart
	| { type: "reasoning"; text: string; providerOptions?: ProviderOptions }
	| { type: "tool-call"; toolCallId: string; toolName: string; input: unknown; providerOptions?: ProviderOptions };

interface TextPart {
	type: "text";
	text: string;
	providerOptions?: ProviderOptions;
}

interface FilePart {
	type: "file";
	/** As the specification of the model has it: V3 and V4 do not agree. */
	data: never;
	mediaType: string;
	filename: string;
}

interface ToolResultPart {
	type: "tool-result";
	toolCallId: string;
	toolName: string;
	/** What a `content` has is as the specification of the model has it. */
	output: { type: "text"; value: string } | { type: "content"; value: never[] };
}

type JsonValue = null | boolean | number | string | JsonValue[] | JsonObject;
type JsonObject = { [key: string]: JsonValue | undefined };

/** By provider. */
export type ProviderOptions = Record<string, JsonObject>;
