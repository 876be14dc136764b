/** Calls a tool as a step: the only place that does so. Turns what came of it into the text that a model is shown. */
import { type AttachedFile, filesOf, labelled } from "./attached-file.ts";
import { JournalError, reasonOf } from "./errors.ts";
import { isFailureOfCall } from "./failure.ts";
import type { Lane } from "./lane.ts";
import { waitingFor } from "./permit.ts";
import type { Json, Tool, ToolAnswer, ToolCall } from "./ports.ts";
import type { Reconciled, Step } from "./step.ts";

/** What came of a call that a model asked for. */
export interface ToolResult {
	/** What the model is shown: the tool's text, or `ERROR: ` and why the call failed, since the model may know another way. */
	readonly text: string;
	/** Why the call failed; absent: it worked. */
	readonly error?: string;
	/** Is there no answer of the tool? It threw, the call was denied, or there is no such tool. */
	readonly failed: boolean;
	/** Does the turn go on, whatever the tool? */
	readonly goesOn?: true;
	/** What the model is shown beside the text. */
	readonly files?: readonly AttachedFile[];
}

/**
 * Calls a tool that a model asked for, as a step of the tool's purity.
 *
 * @param round see {@link Step}
 * @throws the signal's reason when it is cancelled; JournalError `CALL_WAITING`; errors of what the tool stands on, such as the log
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
		const result = await lane.perform({ ...toolStep(tool, args), round });
		const { text, isError, goesOn, files } = answerOf(result, tool);
		const more = { ...(isError ? { error: text } : {}), ...(goesOn ? { goesOn } : {}), ...(files ? { files } : {}) };
		return { text: shown({ text, isError, files }), failed: false, ...more };
	} catch (error) {
		lane.signal.throwIfAborted();
		if (!isFailureOfCall(error)) throw error;
		return failure(lane.redact(reasonOf(error).message));
	}
}

/**
 * Stands in for a tool that is not there any more, when this call of it is recorded: the recorded outcome counts.
 *
 * @throws JournalError `CALL_WAITING` when no outcome is recorded: only the tool itself could say what became of the call
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
	// The stand-in always fails, so a world step keeps its recorded answer.
	const call = () => Promise.reject(Object.assign(new Error(isGone), { retryable: false }));
	return { name, description: "", parameters: {}, purity, call };
}

/** The step of a tool call. Its result is the tool's answer in its recorded form. */
function toolStep(tool: Tool, args: unknown): Step<string | ToolAnswer> {
	const { name, purity, retry, timeoutMs, inDoubt, empty = SKIPPED } = tool;
	const { wants, prepare, reconcile } = tool;
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
		...(wants && { wants: (context) => wants.call(tool, args, context) }),
		...(prepare && { prepare: (context) => prepare.call(tool, args, context) }),
		...(reconcile && {
			reconcile: async (key, prepared, context) =>
				reconciled(await reconcile.call(tool, key, prepared as Json | undefined, context)),
		}),
	};
}

/** The step of a tool call for programs, which expect a failure to be thrown: an error answer becomes a `TOOL_ERROR`. */
export function toolStepThatThrows(tool: Tool, args: unknown): Step<string> {
	const { reconcile, ...step } = toolStep(tool, args);
	const read = (result: string | ToolAnswer): Reconciled<string> & { kind: "done" | "failed" } => {
		const { text, isError, files = [] } = answerOf(result);
		// A program gets texts alone.
		if (!isError) return { kind: "done", result: labelled(text, files) };
		// The tool has answered, so another try would not help.
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
			async reconcile(key, prepared, context) {
				const found = await reconcile(key, prepared, context);
				return found.kind === "done" ? read(found.result) : found;
			},
		}),
	};
}

/** What a model is shown of the recorded result of a tool's step, as text. */
export const shownOf = (result: unknown): string => shown(answerOf(result));

const shown = ({ text, isError, files = [] }: ToolAnswer): string => labelled(isError ? `ERROR: ${text}` : text, files);

const failure = (error: string): ToolResult => ({ text: shown({ text: error, isError: true }), error, failed: true });

const SKIPPED = "(skipped: nobody knows whether this call happened before the process ended)";

/** The recorded form of an answer: a plain text stays a string. */
function recordedAs(answer: string | ToolAnswer): string | ToolAnswer {
	if (!isAnswer(answer)) return answer;
	const recorded = recordedAnswer(answer);
	return Object.keys(recorded).length === 1 ? recorded.text : recorded;
}

const recordedAnswer = ({ text, isError, goesOn, files = [] }: ToolAnswer): ToolAnswer => ({
	text,
	...(isError ? { isError } : {}),
	...(goesOn ? { goesOn } : {}),
	...(files.length > 0 ? { files } : {}),
});

const reconciled = (found: Reconciled<string | ToolAnswer>): Reconciled<string | ToolAnswer> =>
	found.kind === "done" ? { ...found, result: recordedAs(found.result) } : found;

/** @param tool where it is known: older versions recorded the answers of tools with `endsTurn` in another form */
function answerOf(result: unknown, tool?: Tool): ToolAnswer {
	if (isAnswer(result)) {
		return recordedAnswer({ ...result, files: filesOf(result) });
	}
	const text = result as string;
	const [said, refused] = (tool?.endsTurn && /^ERROR: (.*)$/s.exec(String(result))) || [];
	return said === undefined || refused === undefined ? { text } : { text: refused, isError: true };
}

const isAnswer = (result: unknown): result is ToolAnswer =>
	typeof (result as ToolAnswer | null | undefined)?.text === "string";
