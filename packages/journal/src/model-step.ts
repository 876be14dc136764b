/** Asks a model as a step, and holds the default policy of how often it is tried. */
import { codeOf } from "@reyn/wal";
import { z } from "zod";
import { asError, isDropped, isRetryable, issuesOf, JournalError, readable, reasonOf } from "./errors.ts";
import { withBytes } from "./files-shown.ts";
import type { Lane } from "./lane.ts";
import type { FinishReason, Json, Model, ModelPart, ModelRequest, ToolCall, ToolSpec, Usage } from "./ports.ts";
import { usageSchema } from "./records.ts";
import { type ModelPolicy, mayPass, type RetryPolicy, retryAfterOf } from "./retry.ts";

/** A model's whole answer. */
export interface ModelReply {
	readonly text: string;
	readonly toolCalls: readonly ToolCall[];
	readonly usage: Usage;
	/** What the model wants back unchanged with this message. */
	readonly echo?: Json;
}

/** An answer as it is recorded: one that was cut was paid for too. */
interface Answer extends ModelReply {
	/** Why it is not whole. */
	readonly cut?: Exclude<FinishReason, "stop">;
}

/** Six tries, whose pauses add up to about half a minute. A provider's `retryAfterMs` comes before these pauses. */
const defaultRetry: RetryPolicy = {
	maxAttempts: 6,
	initialIntervalMs: 1000,
	backoffFactor: 2,
	maxIntervalMs: 60_000,
	jitter: 0.25,
	maxRetryAfterMs: 300_000,
	shouldRetry: mayAnswerLater,
};

/** May a failed model call succeed later? A timeout counts too: a model call has no effect but its price, so it may be made again. */
function mayAnswerLater(error: unknown): boolean {
	const isLate = codeOf(error) === "STEP_TIMEOUT";
	return isLate || isRetryable(error) || isDropped(error);
}

const DEFAULT_TIMEOUT_MS = 600_000;

/**
 * Asks a model for one answer. A recorded answer is given again without a call, and `onText` gets it in one piece. A stream that
 * breaks, is cancelled or takes too long is no answer. A failure that may pass is tried again by the lane's `modelPolicy`;
 * `onText` then gets the answer from its beginning.
 *
 * @param retry where this call differs from that policy
 * @param round see {@link Step}
 * @throws JournalError `MODEL_UNAVAILABLE` after the last try; `MODEL_ANSWER`, or a WalError `WAL_NOT_JSON` or `WAL_TOO_LARGE`, if
 * the parts are no valid answer (the model is not asked again); `MODEL_CUT` for an answer that is not whole, which is recorded; what the
 * model threw, if no further try can help; `FILE_LOST` for a file of what was asked last that is missing or damaged
 */
export function askModel(
	lane: Lane,
	model: Model,
	request: ModelRequest,
	onText?: (delta: string) => void,
	retry?: Partial<RetryPolicy>,
	round?: string,
): Promise<ModelReply> {
	let streamed = false;
	const { timeoutMs = DEFAULT_TIMEOUT_MS, ...more }: ModelPolicy = lane.modelPolicy ?? {};
	const policy = { ...defaultRetry, ...more.retry, ...retry };
	const asked = askedWith(request);
	const tellUnread = (read: number, least: number): void => lane.unread(model.id, read, least);
	const reply = lane.perform<Answer>({
		kind: "model",
		name: model.id,
		args: asked,
		purity: "llm",
		round,
		usage: ({ usage }) => usage,
		retry: policy,
		timeoutMs,
		endedBy: (error, attempt) => (mayPass(error, policy) ? unavailable(lane, model, attempt, error) : error),
		async call({ signal }) {
			streamed = true;
			const shown = withBytes(asked, model, lane.files);
			return readReply(model, shown, signal, tellUnread, onText).catch((thrown) => {
				throw asError(readable(thrown));
			});
		},
	});
	return reply.then((answer) => {
		if (!streamed && answer.text) onText?.(answer.text);
		if (answer.cut !== undefined) throw cutError(model, answer.cut, answer);
		return answer;
	});
}

const cuts: Readonly<Record<Exclude<FinishReason, "stop">, string>> = {
	length: "at its limit of tokens. Raise that limit, or ask for less at a time",
	filter: "by a filter of its provider",
	other: "for a reason that its provider does not say",
};

/** The error for an answer that is not whole: it is recorded, and none of its tool calls is made. */
function cutError({ id }: Model, reason: NonNullable<Answer["cut"]>, { usage }: Answer): JournalError {
	const text = `the answer of ${id} was cut after ${usage.outputTokens} tokens, ${cuts[reason]}. It was paid for, and is not asked for again`;
	return Object.assign(new JournalError("MODEL_CUT", text, { model: id, reason }), { retryable: false });
}

/** The error after the last try. It is retryable: whether to ask later is for the caller to decide. */
function unavailable(lane: Lane, { id }: Model, attempts: number, cause: unknown): JournalError {
	const said = reasonOf(cause);
	const reason = { ...said, message: lane.redact(said.message) };
	const tries = attempts === 1 ? "1 try" : `${attempts} tries`;
	const retryAfterMs = retryAfterOf(cause);
	const when = retryAfterMs > 0 ? ` (it says to ask again in ${Math.ceil(retryAfterMs / 1000)} s)` : "";
	return new JournalError(
		"MODEL_UNAVAILABLE",
		`${id} gave no answer in ${tries}: ${reason.message}${when}`,
		{ model: id, attempts, reason, ...(retryAfterMs > 0 ? { retryAfterMs } : {}) },
		{ cause },
	);
}

/** The request as the model gets it; the fingerprint of the step is made of it. */
export const askedWith = (request: ModelRequest): ModelRequest => ({ ...request, tools: request.tools.map(describe) });

/** The part of a tool that a model is shown: an object with more fields may have been given. */
const describe = ({ name, description, parameters }: ToolSpec): ToolSpec => ({ name, description, parameters });

/** The schema of one part of a model's answer. */
export const partSchema = z.discriminatedUnion("type", [
	z.object({ type: z.literal("text"), text: z.string() }),
	// Further fields of a call belong to the provider, and are given back to it unchanged.
	z.object({
		type: z.literal("toolCall"),
		call: z.looseObject({ id: z.string().min(1), name: z.string().min(1), args: z.unknown().optional() }),
	}),
	z.object({ type: z.literal("usage"), usage: usageSchema }),
	z.object({
		type: z.literal("finish"),
		reason: z.enum(["stop", "length", "filter", "other"]),
		echo: z.json().optional(),
		least: z.int().positive().optional(),
	}),
]);

async function readReply(
	model: Model,
	shown: ModelRequest | Promise<ModelRequest>,
	signal: AbortSignal,
	onUnread: (read: number, least: number) => void,
	onText?: (delta: string) => void,
): Promise<Answer> {
	// Calls begin in the order in which they are asked for: only one that reads files is behind others.
	const request = shown instanceof Promise ? await shown : shown;
	let text = "";
	const toolCalls: ToolCall[] = [];
	let usage: Usage | undefined;
	let finish: Extract<ModelPart, { type: "finish" }> | undefined;
	let parts = 0;
	for await (const given of model.generate(request, { signal })) {
		signal.throwIfAborted();
		const read = partSchema.safeParse(given);
		if (!read.success) throw noAnswer(model, parts, issuesOf(read.error));
		const part = read.data;
		switch (part.type) {
			case "text":
				text += part.text;
				onText?.(part.text);
				break;
			case "toolCall":
				toolCalls.push(part.call);
				break;
			case "usage":
				if (usage) throw noAnswer(model, parts, "a second usage; there has to be exactly one");
				usage = part.usage;
				break;
			case "finish":
				if (finish) throw noAnswer(model, parts, "a second finish; there may be one");
				finish = part;
		}
		parts++;
	}
	if (!usage) throw Object.assign(new Error(`the answer of ${model.id} broke off before its end`), { retryable: true });
	const { reason = "stop", echo, least } = finish ?? {};
	if (least !== undefined) onUnread(usage.inputTokens, least);
	if (reason !== "stop") return { text, toolCalls: [], usage, cut: reason };
	return { text, toolCalls, usage, ...(echo === undefined ? {} : { echo }) };
}

/** The error for an answer with an invalid part. It is final: another answer would be paid for too, and be no better. */
function noAnswer({ id }: Model, part: number, why: string): JournalError {
	const text = `part ${part} of what ${id} gave is no part of an answer: ${why}. It is not asked again for this call: mend its adapter`;
	return Object.assign(new JournalError("MODEL_ANSWER", text, { model: id, part }), { retryable: false });
}
