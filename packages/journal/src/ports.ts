/** The ports that an embedder fills: a language model, the tools it may call, and where those tools come from. */
import type { AttachedFile } from "./attached-file.ts";
import type { BeforeImage } from "./file-change.ts";
import type { Purity } from "./purity.ts";
import type { RetryPolicy } from "./retry.ts";
import type { InDoubt, Reconciled } from "./step.ts";

/**
 * A language model, seen from Reyn: one request in, parts out. Adapters wrap a provider; `generate` must stop when `signal` aborts.
 * A failure that may pass (a rate limit, an outage) is thrown with `retryable: true`, and with `retryAfterMs` if the provider says
 * when. A refused or broken connection is recognised by its `code` or its `cause`, and counts as passing unless it is thrown with
 * `retryable: false`. Every other failure is final.
 */
export interface Model {
	/** Names the model in records and keys: `offline`, `openai/gpt-5`. */
	readonly id: string;
	/** The most tokens that it reads in a request. What is longer is shortened before it is asked. Absent: unknown, and nothing is. */
	readonly maxInputTokens?: number | undefined;
	/** The media types of the files that it takes: `image/png`. Of others it gets a line of text. Absent: none. */
	readonly accepts?: readonly string[] | undefined;
	generate(request: ModelRequest, options: { readonly signal: AbortSignal }): AsyncIterable<ModelPart>;
}

export interface ModelRequest {
	/** `compaction`: the answer is to tell in short what was said before. Absent: an agent asks. */
	readonly purpose?: "compaction" | undefined;
	readonly system: string;
	readonly messages: readonly Message[];
	readonly tools: readonly ToolSpec[];
}

/** What stands in its text of a file is for people, and stays where the file itself is not shown. */
export type Message =
	| { readonly role: "user"; readonly text: string; readonly files?: readonly AttachedFile[] | undefined }
	| {
			readonly role: "assistant";
			readonly text: string;
			readonly toolCalls: readonly ToolCall[];
			readonly echo?: Echo | undefined;
	  }
	| {
			readonly role: "tool";
			readonly callId: string;
			readonly name: string;
			readonly text: string;
			readonly files?: readonly AttachedFile[] | undefined;
	  }
	| { readonly role: "note"; readonly text: string };

/**
 * What a model wants back unchanged with its message, such as signed thinking. Only the model that gave it can read it: another one
 * passes it over.
 */
export interface Echo {
	/** The id of the model. */
	readonly model: string;
	readonly parts: Json;
}

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

/** `text` parts are deltas; a `toolCall` comes whole; exactly one `usage` ends the answer, perhaps behind one `finish`. */
export type ModelPart =
	| { readonly type: "text"; readonly text: string }
	| { readonly type: "toolCall"; readonly call: ToolCall }
	| { readonly type: "usage"; readonly usage: Usage }
	| {
			readonly type: "finish";
			readonly reason: FinishReason;
			readonly echo?: Json | undefined;
			/** The request has so many tokens at least, and fewer were counted: not all of it may have been read. Absent: nothing says so. */
			readonly least?: number | undefined;
	  };

/**
 * Why an answer ended. `stop`: it is whole; an answer without a `finish` is. `length`: at a limit of tokens. `filter`: the provider
 * held the rest back. `other`: for a reason that nobody knows. What broke off is no answer at all: the model throws.
 */
export type FinishReason = "stop" | "length" | "filter" | "other";

/** Tokens of one model call. */
export interface Usage {
	readonly inputTokens: number;
	readonly outputTokens: number;
	/** So many of `inputTokens` came from a cache, which costs less. Absent: unknown. */
	readonly cachedInputTokens?: number;
	/** The provider did not count, or not all: the numbers are the least. */
	readonly uncounted?: true;
}

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** A tool that a model may call. */
export interface Tool extends ToolSpec {
	readonly purity: Purity;
	/**
	 * The turn is over once this tool has answered without an error, unless the answer says that it goes on: it has started work that
	 * reports by itself, such as a plan.
	 */
	readonly endsTurn?: true | undefined;
	/**
	 * Says what a call would touch, for who decides whether it may be made. It only looks, and throws where the call could not be made
	 * anyhow: nobody is asked about such a one, and it fails with that error. An empty list: nothing. Absent: nobody knows.
	 * It is asked again once the call may be made; where it says something else then, that is decided on anew.
	 */
	wants?(args: unknown, context: Pick<ToolContext, "signal">): Promise<readonly Want[]>;
	/**
	 * For an effect: finds out what has to be known before it is made. The result is durable with the start of the call, and is given
	 * to `call` and `reconcile`. A call in doubt is not prepared again.
	 */
	prepare?(args: unknown, context: Pick<ToolContext, "signal"> & Keeping): Promise<Json>;
	/** Answers with the text that the model sees. Throws an error whose message a person understands. */
	call(args: unknown, context: ToolContext): Promise<string | ToolAnswer>;
	/** Asks the far side what became of a call in doubt: started, and its outcome unknown. */
	reconcile?(
		idempotencyKey: string,
		prepared: Json | undefined,
		context: Pick<ToolContext, "signal">,
	): Promise<Reconciled<string | ToolAnswer>>;
	/** What to do with a call in doubt when the far side does not know either. Default: what `whenInDoubt` says. */
	readonly inDoubt?: InDoubt | undefined;
	/** How often a failing call is tried, and with what pauses. Default: once. */
	readonly retry?: RetryPolicy | undefined;
	/** How long one try, and one answer of `wants`, `prepare` and `reconcile`, may take, in milliseconds. Default: no limit. */
	readonly timeoutMs?: number | undefined;
	/** The answer of a call that is skipped. Default: a text that says so. */
	readonly empty?: string | undefined;
}

/** What a call would touch. */
export interface Want {
	/** What it would do there, in a word: `read`, `write`. */
	readonly action: string;
	/** Where: the path of a file, a command, a host. */
	readonly subject: string;
	/** What a lasting permission would cover, as a pattern of subjects: `src/**`. Absent: this subject alone. */
	readonly covers?: string;
	/** Lines for the person who decides, such as what would change. */
	readonly shows?: readonly string[];
}

/** A tool's answer. `isError`: the call was made and failed; the text says why. */
export interface ToolAnswer {
	readonly text: string;
	readonly isError?: boolean | undefined;
	/** Beside an error of a tool with `endsTurn`: that was no mistake of the model, which may try again as often as it likes. */
	readonly goesOn?: true | undefined;
	/** What the model is shown beside the text, as `attach` of the context gave it. */
	readonly files?: readonly AttachedFile[] | undefined;
}

export interface ToolContext {
	readonly signal: AbortSignal;
	/** Stays the same on a retry of the same step, so that the far side recognises a repeat. Absent for pure and world tools. */
	readonly idempotencyKey?: string;
	/** The recorded result of `prepare`. */
	readonly prepared?: Json;
	/** The lane inside the call, for work that is recorded step by step and ends with it. Absent where a tool is called by hand. */
	readonly lane?: { readonly path: string };
	/**
	 * Keeps an image or a PDF for the `files` of the answer; durable when it resolves. Absent: there is no store of files.
	 *
	 * @throws JournalError `FILE_REFUSED`
	 */
	readonly attach?: (name: string, bytes: Uint8Array) => Promise<AttachedFile>;
}

/** For an effect that replaces something: keeps what is there, before it is gone. */
export interface Keeping {
	/**
	 * Keeps bytes beside the log, as they are: no secret is taken out. They are durable when it resolves; give what it gives back as the
	 * `image` of a {@link FileChange}, since `gc` removes what no record names. Absent: nothing is kept.
	 */
	readonly keep?: (bytes: Uint8Array) => Promise<Omit<BeforeImage, "mode">>;
}

/** A source whose tools may come and go while it is open, such as a server. */
export interface ToolSource {
	tools(): readonly Tool[];
	/** @returns a function that takes the listener off */
	onChange(listener: () => void): () => void;
	close(): Promise<void>;
}
