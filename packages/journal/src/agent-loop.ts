/** The agent loop: ask a model, call the tools that it asks for, show it their answers, until it asks for none. */
import type { Seq } from "@reyn/wal";
import { callTool, type ToolResult } from "./call-tool.ts";
import { JournalError } from "./errors.ts";
import type { Lane } from "./lane.ts";
import { askedWith, askModel, type ModelReply } from "./model-step.ts";
import type { Message, Model, ModelRequest, Tool, ToolCall, Usage } from "./ports.ts";
import { leavesOutcome } from "./purity.ts";
import type { RetryPolicy } from "./retry.ts";
import { Window } from "./window.ts";

export interface LoopOptions {
	/** How often the model may be asked; after that `more` decides. */
	readonly maxRounds: number;
	/** Says how many rounds more there may be when the model still asks for tools after so many. Default: none. */
	more?(rounds: number): Promise<number>;
	/** Makes the error to throw when there may be no more. Default: a JournalError `AGENT_TURNS`. */
	tooMany?(rounds: number): Error;
	/** Where asking the model differs from the lane's policy. */
	readonly retry?: Partial<RetryPolicy>;
	/** Gets each piece of text; a recorded answer comes in one piece. */
	onText?(delta: string): void;
	/** Called before the model is asked for an answer that is not recorded. If it throws, that ends the loop. @param round from 0 */
	mayAsk?(round: number): Promise<void>;
	/** Gets each answer before its tools are called. @param round from 0 @param place the seq at which it is recorded; undefined: it was just given */
	onReply?(reply: ModelReply, round: number, place?: Seq): Promise<void>;
	onCall?(call: ToolCall): void;
	/** Gets the result of each tool call, before the next call. */
	onResult?(call: ToolCall, result: ToolResult): Promise<void>;
	/** Says what is wrong with an answer without tool calls; the model gets that text and answers again. Undefined, the default: nothing. */
	mend?(reply: ModelReply): string | undefined;
	/**
	 * Lets tools with `endsTurn` end the loop; without this option they are like other tools. When such a tool answers with an error,
	 * the model sees it and may try again, `mendings` times; after that the error ends the loop. A call that failed without an answer
	 * ends it at once. An answer that says `goesOn` ends nothing, and is no try.
	 */
	readonly handsOver?: { readonly mendings: number } | undefined;
}

export interface LoopEnd {
	/** The last answer of the model. */
	readonly reply: ModelReply;
	/** How often the model was asked. */
	readonly rounds: number;
	/** The tokens of all answers, paid for now or recalled. */
	readonly usage: Usage;
	/** The call of a tool with `endsTurn` that ended the loop; absent: the model asked for no more tools. */
	readonly handedOver?: HandedOver;
}

export interface HandedOver extends ToolResult {
	/** The name of the tool. */
	readonly name: string;
}

/**
 * Runs the loop in a lane. Recorded answers are not asked for again, even if the tools, the instructions or the model have changed
 * since; new rounds use the present ones. What a model cannot read at once is shortened for it (`maxInputTokens`).
 *
 * @throws what `askModel` and `callTool` throw, and what `tooMany` says; JournalError `MODEL_WINDOW`
 */
export async function agentLoop(
	lane: Lane,
	model: Model,
	{ system, messages: given }: Pick<ModelRequest, "system" | "messages">,
	tools: readonly Tool[],
	options: LoopOptions,
): Promise<LoopEnd> {
	const { maxRounds, tooMany = stillAsking, retry, onText, handsOver } = options;
	const messages: Message[] = [...given];
	let usage: Usage = { inputTokens: 0, outputTokens: 0 };
	let mended = 0;
	// Named by what the loop begins with, whatever of it the model is shown.
	const rounds = lane.rounds(given);
	const window = new Window(model);
	/** The seq at which the round before is recorded. */
	let since = 0;
	let most = maxRounds;
	for (let round = 0; ; round++) {
		// What is recorded was allowed, whatever the limit is now.
		if (round >= most) most += rounds.placeOf(round) === undefined ? ((await options.more?.(round)) ?? 0) : maxRounds;
		if (round >= most) throw tooMany(round);
		const name = rounds.nameOf(round);
		const request = window.fit({ system, messages: [...messages], tools }, given.length);
		const known = lane.recorded({ kind: "model", name: model.id, args: askedWith(request), round: name });
		// A recorded round counts only after rounds that count, and with a larger seq: else it belongs to another conversation.
		const place = known && (known.place ?? NEVER);
		if (place !== undefined && place >= since) since = place;
		else if (since < NEVER) {
			rounds.leave(round);
			since = NEVER;
		}
		if (since === NEVER && options.mayAsk) await options.mayAsk(round);
		const reply = await askModel(lane, model, request, onText, retry, name);
		usage = sum(usage, reply.usage);
		// What another model has read says nothing of this one.
		if (known === undefined || known.name === model.id) window.read(request, reply.usage);
		await options.onReply?.(reply, round, known?.place);
		const { text, toolCalls, echo } = reply;
		const end = { reply, rounds: round + 1, usage };
		const told = echo === undefined ? {} : { echo: { model: model.id, parts: echo } };
		messages.push({ role: "assistant", text, toolCalls, ...told });
		if (toolCalls.length === 0) {
			const lacks = options.mend?.(reply);
			if (lacks === undefined) return end;
			messages.push({ role: "user", text: lacks });
			continue;
		}
		const callOf = (at: number): string => `${name}.${at}`;
		const isPast = (rounds.placeOf(round + 1) ?? 0) > since;
		const isRecorded = ({ name, args = {} }: ToolCall, at: number): boolean =>
			lane.recorded({ kind: "tool", name, args, round: callOf(at) }) !== undefined;
		/**
		 * Was there a tool for this call when it was asked for? A call without a record, with recorded ones after it, had none. It must
		 * not be made now either: the recorded answers were given without its result.
		 */
		const wasThere = (call: ToolCall, at: number): boolean => {
			const tool = tools.find(({ name }) => name === call.name);
			if (!tool || !leavesOutcome(tool.purity) || isRecorded(call, at)) return true;
			return !isPast && !toolCalls.some((each, i) => i > at && isRecorded(each, i));
		};
		const ending: HandedOver[] = [];
		for (const [at, call] of toolCalls.entries()) {
			const { id: callId, name } = call;
			options.onCall?.(call);
			const result = await callTool(lane, wasThere(call, at) ? tools : [], call, callOf(at));
			await options.onResult?.(call, result);
			const { text, files } = result;
			messages.push({ role: "tool", callId, name, text, ...(files && { files }) });
			if (!result.goesOn && tools.find((tool) => tool.name === name)?.endsTurn) ending.push({ name, ...result });
		}
		if (!handsOver || ending.length === 0) continue;
		const handedOver = endOf(ending, mended++ < handsOver.mendings);
		// The recorded run went on after this call, so a replay does too.
		if (handedOver && !isPast) return { ...end, handedOver };
	}
}

/** Larger than any seq. */
const NEVER = Number.MAX_SAFE_INTEGER;

/** Which call of a round ends the loop: one that worked, else one that failed without an answer, else the last error when none may be mended. */
function endOf(calls: readonly HandedOver[], mayMend: boolean): HandedOver | undefined {
	const taken = calls.find(({ error }) => error === undefined);
	return taken ?? calls.find(({ failed }) => failed) ?? (mayMend ? undefined : calls.at(-1));
}

function sum(a: Usage, b: Usage): Usage {
	const cached = (a.cachedInputTokens ?? 0) + (b.cachedInputTokens ?? 0);
	return {
		inputTokens: a.inputTokens + b.inputTokens,
		outputTokens: a.outputTokens + b.outputTokens,
		...(cached > 0 ? { cachedInputTokens: cached } : {}),
		...(a.uncounted || b.uncounted ? { uncounted: true } : {}),
	};
}

const stillAsking = (maxTurns: number): Error =>
	new JournalError(
		"AGENT_TURNS",
		`the agent still asked for tools after ${maxTurns} turns; raise maxTurns or ask for less`,
		{ maxTurns },
	);
