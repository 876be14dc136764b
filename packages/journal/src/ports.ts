import type { Purity } from "./purity.ts";
import type { RetryPolicy } from "./retry.ts";
import type { InDoubt, Reconciled } from "./step.ts";

/**
 * A language model, seen from Reyn: one request in, parts out. Adapters wrap a provider; `generate` must stop when `signal` aborts.
 * What may pass, a rate limit or an outage, is thrown with `retryable: true`, and with `retryAfterMs` if the provider says when. A
 * connection that is refused or breaks may pass too, as its `code` or its `cause` says, unless it is thrown with `retryable: false`.
 * Every other failure is final.
 */
export interface Model {
	/** Names the model in records and keys: `offline`, `openai/gpt-5`. */
	readonly id: string;
	generate(request: ModelRequest, options: { readonly signal: AbortSignal }): AsyncIterable<ModelPart>;
}

export interface ModelRequest {
	readonly system: string;
	readonly messages: readonly Message[];
	readonly tools: readonly ToolSpec[];
}

export type Message =
	| { readonly role: "user"; readonly text: string }
	| { readonly role: "assistant"; readonly text: string; readonly toolCalls: readonly ToolCall[] }
	| { readonly role: "tool"; readonly callId: string; readonly name: string; readonly text: string }
	| { readonly role: "note"; readonly text: string };

export interface ToolCall {
	readonly id: string;
	readonly name: string;
	/** JSON, not yet checked against the tool's schema. */
	readonly args?: unknown;
}

export interface ToolSpec {
	readonly name: string;
	readonly description: string;
	/** JSON Schema of the arguments. */
	readonly parameters: Readonly<Record<string, unknown>>;
}

/** `text` parts are deltas; a `toolCall` comes whole; exactly one `usage` ends the answer. */
export type ModelPart =
	| { readonly type: "text"; readonly text: string }
	| { readonly type: "toolCall"; readonly call: ToolCall }
	| { readonly type: "usage"; readonly usage: Usage };

/** Tokens of one model call. */
export interface Usage {
	readonly inputTokens: number;
	readonly outputTokens: number;
}

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** A tool that a model may call. */
export interface Tool extends ToolSpec {
	readonly purity: Purity;
	/** Once it has answered, and that is no error, the turn is over: what comes of it comes by itself. */
	readonly endsTurn?: true | undefined;
	/**
	 * Of an effect: what has to be known before it is made. It is durable with the start of the call, and `call` and `reconcile` are
	 * given it; a call of which nobody knows whether it happened is not prepared again.
	 */
	prepare?(args: unknown, context: Pick<ToolContext, "signal">): Promise<Json>;
	/** Answers with the text that the model sees. Throws an error whose message a person understands. */
	call(args: unknown, context: ToolContext): Promise<string | ToolAnswer>;
	/** Asks the far side what became of a call of which nobody knows whether it happened. */
	reconcile?(idempotencyKey: string, prepared?: Json): Promise<Reconciled<string | ToolAnswer>>;
	/** What becomes of such a call where the far side does not know. Default: as `whenInDoubt` says. */
	readonly inDoubt?: InDoubt | undefined;
	/** How often a failing call is tried, and with what pauses. Default: once. */
	readonly retry?: RetryPolicy | undefined;
	/** How long one try may take, in milliseconds, and one answer of `reconcile`. Default: no limit. */
	readonly timeoutMs?: number | undefined;
	/** What is taken for the answer of a call that is skipped. Default: a text that says so. */
	readonly empty?: string | undefined;
}

/** `isError`: the call was made, and came to nothing; the text says why. */
export interface ToolAnswer {
	readonly text: string;
	readonly isError?: boolean | undefined;
}

export interface ToolContext {
	readonly signal: AbortSignal;
	/** The same on a retry of the same step; for the far side to recognise a repeat. Absent for pure and world tools. */
	readonly idempotencyKey?: string;
	/** What `prepare` gave, as it is recorded. */
	readonly prepared?: Json;
}

/** Tools that may come and go while it is open: those of a server, say. */
export interface ToolSource {
	tools(): readonly Tool[];
	/** @returns what ends it */
	onChange(listener: () => void): () => void;
	close(): Promise<void>;
}
