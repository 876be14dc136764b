/** The loop of an agent: a model is asked, its tools are called, and it is shown what they say, until it has nothing more to ask. */
import { callTool, type ToolResult } from "./call-tool.ts";
import { JournalError } from "./errors.ts";
import type { Lane } from "./lane.ts";
import { askedWith, askModel, type ModelReply } from "./model-step.ts";
import type { Message, Model, ModelRequest, Tool, ToolCall, Usage } from "./ports.ts";
import { leavesOutcome } from "./purity.ts";
import type { RetryPolicy } from "./retry.ts";

export interface LoopOptions {
	/** So often the model is asked. */
	readonly maxRounds: number;
	/** What is thrown when it still asks for tools then. Default: a JournalError `AGENT_TURNS`. */
	tooMany?(maxRounds: number): Error;
	/** What is other than by the lane's policy where the model is asked. */
	readonly retry?: Partial<RetryPolicy>;
	/** Told of each piece of text; of a recorded answer in one piece. */
	onText?(delta: string): void;
	/** Told of each answer, before its tools are called. @param round from 0 */
	onReply?(reply: ModelReply, round: number): Promise<void>;
	onCall?(call: ToolCall): void;
	/** Told what came of a call, before the next one. */
	onResult?(call: ToolCall, result: ToolResult): Promise<void>;
	/** What an answer without calls lacks, as the model is told: it answers again. Default: nothing. */
	mend?(reply: ModelReply): string | undefined;
	/**
	 * Ends the loop by tools with `endsTurn`; without this they are tools like others. So often, and once more, the model may be told
	 * of an error in place of that; one that has no answer ends it at once.
	 */
	readonly handsOver?: { readonly mendings: number } | undefined;
}

export interface LoopEnd {
	/** The last answer of the model. */
	readonly reply: ModelReply;
	/** How often it was asked. */
	readonly rounds: number;
	/** What that cost, paid now or recalled. */
	readonly usage: Usage;
	/** The call that has ended the loop, of a tool with `endsTurn`; absent: the model had nothing more to ask. */
	readonly handedOver?: HandedOver;
}

export interface HandedOver extends ToolResult {
	/** Of the tool. */
	readonly name: string;
}

/**
 * Runs it in a lane: what is recorded there is not asked for again, also if tools, instructions or the model have changed since. What is
 * asked from then on is asked with those of now.
 *
 * @throws what `askModel` and `callTool` throw, and what `tooMany` says
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
	const rounds = lane.rounds(given);
	/** Where the round before is recorded. */
	let since = 0;
	for (let round = 0; round < maxRounds; round++) {
		const name = rounds.nameOf(round);
		const request = { system, messages: [...messages], tools };
		const known = lane.recorded({ kind: "model", name: model.id, args: askedWith(request), round: name });
		// A round counts where those before it do, and is recorded behind them: else it is of another conversation.
		const place = known && (known.place ?? NEVER);
		if (place !== undefined && place >= since) since = place;
		else if (since < NEVER) {
			rounds.leave(round);
			since = NEVER;
		}
		const reply = await askModel(lane, model, request, onText, retry, name);
		usage = sum(usage, reply.usage);
		await options.onReply?.(reply, round);
		const { text, toolCalls } = reply;
		const end = { reply, rounds: round + 1, usage };
		messages.push({ role: "assistant", text, toolCalls });
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
		/** A call without a record before what is recorded had no tool then: made now, nothing of that would know of it. */
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
			messages.push({ role: "tool", callId, name, text: result.text });
			if (tools.find((tool) => tool.name === name)?.endsTurn) ending.push({ name, ...result });
		}
		if (!handsOver || ending.length === 0) continue;
		const handedOver = endOf(ending, mended++ < handsOver.mendings);
		// What ended no turn then ends none now.
		if (handedOver && !isPast) return { ...end, handedOver };
	}
	throw tooMany(maxRounds);
}

/** No record lies there. */
const NEVER = Number.MAX_SAFE_INTEGER;

/** Which of the calls of a round ends the loop: one that has worked, or one that came to nothing and is not to be mended. */
function endOf(calls: readonly HandedOver[], mayMend: boolean): HandedOver | undefined {
	const taken = calls.find(({ error }) => error === undefined);
	return taken ?? calls.find(({ failed }) => failed) ?? (mayMend ? undefined : calls.at(-1));
}

const sum = (a: Usage, b: Usage): Usage => ({
	inputTokens: a.inputTokens + b.inputTokens,
	outputTokens: a.outputTokens + b.outputTokens,
});

const stillAsking = (maxTurns: number): Error =>
	new JournalError(
		"AGENT_TURNS",
		`the agent still asked for tools after ${maxTurns} turns; raise maxTurns or ask for less`,
		{ maxTurns },
	);
