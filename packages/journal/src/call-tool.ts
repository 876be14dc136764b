/** One call of a tool, as a step: the only place that calls one. Permitted, performed, and what a model is told of it. */
import { JournalError, reasonOf } from "./errors.ts";
import { isFailureOfCall } from "./failure.ts";
import type { Lane } from "./lane.ts";
import { waitingFor } from "./permit.ts";
import type { Json, Tool, ToolAnswer, ToolCall } from "./ports.ts";
import type { Reconciled, Step } from "./step.ts";

/** What came of a call that a model asked for. */
export interface ToolResult {
	/** What the model is shown: the tool's text, or `ERROR: ` and why the call came to nothing: it may know another way. */
	readonly text: string;
	/** Why it came to nothing, where it did. */
	readonly error?: string;
	/** It has no answer: the tool threw, the call was denied, or there is no such tool. */
	readonly failed: boolean;
}

/**
 * Calls a tool that a model asked for, as a step of the tool's purity.
 *
 * @param round see {@link Step}
 * @throws the signal's reason when it is cancelled, JournalError `CALL_WAITING`, and whatever fails beneath the tool, the log above all
 */
export async function callTool(
	lane: Lane,
	tools: readonly Tool[],
	{ name, args = {} }: ToolCall,
	round?: string,
): Promise<ToolResult> {
	const tool = tools.find((each) => each.name === name) ?? recordedTool(lane, name, args, round);
	if (!tool) {
		const known = tools.map((each) => each.name).join(", ");
		return failure(`there is no tool "${name}" here${known && `; there are ${known}`}`);
	}
	try {
		const { text, isError } = answerOf(await lane.perform({ ...toolStep(tool, args), round }), tool);
		return { text: shown(text, isError), ...(isError ? { error: text } : {}), failed: false };
	} catch (error) {
		lane.signal.throwIfAborted();
		if (!isFailureOfCall(error)) throw error;
		return failure(lane.redact(reasonOf(error).message));
	}
}

/**
 * A tool that is not there, of which a call is recorded: what came of that counts.
 *
 * @throws JournalError `CALL_WAITING` where nobody knows what came of it: that is for the tool to say
 */
function recordedTool(lane: Lane, name: string, args: unknown, round?: string): Tool | undefined {
	const step = { kind: "tool", name, args, round };
	const known = lane.recorded(step);
	const recall = lane.recall(step);
	if (!known || !recall) return undefined;
	const { purity = "side_effect" } = known;
	const isGone = `the tool ${name}, which is not here now`;
	const isOver = recall.kind === "ghost" || recall.kind === "world" || (recall.kind === "failed" && !recall.again);
	if (!isOver) throw lane.stopped(waitingFor(isGone, { name, lane: lane.path, key: known.fp }));
	// What the world has said stands where it cannot be asked again.
	const call = () => Promise.reject(Object.assign(new Error(isGone), { retryable: false }));
	return { name, description: "", parameters: {}, purity, call };
}

/** A call of a tool. Its result is what the tool answered, as it is recorded. */
function toolStep(tool: Tool, args: unknown): Step<string | ToolAnswer> {
	const { name, purity, retry, timeoutMs, inDoubt, empty = SKIPPED } = tool;
	const { prepare, reconcile } = tool;
	return {
		kind: "tool",
		name,
		args,
		purity,
		retry,
		timeoutMs,
		inDoubt,
		empty,
		call: async (context) => recordedAs(await tool.call(args, context as typeof context & { prepared?: Json })),
		...(prepare && { prepare: (context) => prepare.call(tool, args, context) }),
		...(reconcile && {
			reconcile: async (key, prepared) => reconciled(await reconcile.call(tool, key, prepared as Json | undefined)),
		}),
	};
}

/** The same where a program hears of it as it does of its other calls: what came to nothing is thrown. */
export function toolStepThatThrows(tool: Tool, args: unknown): Step<string> {
	const { reconcile, ...step } = toolStep(tool, args);
	const read = (result: string | ToolAnswer): Reconciled<string> & { kind: "done" | "failed" } => {
		const { text, isError } = answerOf(result);
		if (!isError) return { kind: "done", result: text };
		// It is what the tool has to say, so no other try says more.
		const error = new JournalError("TOOL_ERROR", text, { tool: tool.name });
		return { kind: "failed", error: Object.assign(error, { retryable: false }) };
	};
	return {
		...step,
		empty: tool.empty ?? "",
		async call(context) {
			const answer = read(await step.call(context));
			if (answer.kind === "failed") throw answer.error;
			return answer.result;
		},
		...(reconcile && {
			async reconcile(key, prepared) {
				const found = await reconcile(key, prepared);
				return found.kind === "done" ? read(found.result) : found;
			},
		}),
	};
}

/** What a model is shown of the recorded result of a tool's step. */
export function shownOf(result: unknown): string {
	const { text, isError } = answerOf(result);
	return shown(text, isError);
}

const shown = (text: string, isError: boolean | undefined): string => (isError ? `ERROR: ${text}` : text);

const failure = (error: string): ToolResult => ({ text: shown(error, true), error, failed: true });

const SKIPPED = "(skipped: nobody knows whether this call happened before the process ended)";

/** A text is recorded as such: nothing says more of it. */
function recordedAs(answer: string | ToolAnswer): string | ToolAnswer {
	if (!isAnswer(answer)) return answer;
	return answer.isError ? { text: answer.text, isError: true } : answer.text;
}

const reconciled = (found: Reconciled<string | ToolAnswer>): Reconciled<string | ToolAnswer> =>
	found.kind === "done" ? { ...found, result: recordedAs(found.result) } : found;

/** @param tool where it is known: what ends a turn was recorded otherwise before a result could be an error */
function answerOf(result: unknown, tool?: Tool): ToolAnswer {
	if (isAnswer(result)) return result;
	const text = result as string;
	const [said, refused] = (tool?.endsTurn && /^ERROR: (.*)$/s.exec(String(result))) || [];
	return said === undefined || refused === undefined ? { text } : { text: refused, isError: true };
}

const isAnswer = (result: unknown): result is ToolAnswer =>
	typeof (result as ToolAnswer | null | undefined)?.text === "string";
