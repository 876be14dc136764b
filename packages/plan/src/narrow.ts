/** Keeps what a step is shown small: of a long result its beginning, with a tool to read the rest. Says how much each part takes. */
import { defineTool, type ModelRequest, type Tool } from "@reyn/journal";
import { TOKEN_BYTES } from "@reyn/journal/internal";
import { z } from "zod";
import type { Decomposition, PlanStep } from "./decomposition.ts";
import { goalLine, stepLine, stepRequest } from "./step-prompt.ts";

/** So many characters of one result are shown, and of all that a step depends on together. */
export const EACH = 8 * 1024;
export const ALL = 24 * 1024;

const READ_RESULT = "read_result";

/** How much of a step's question one part takes. Tokens are estimated. */
export interface PartSize {
	readonly characters: number;
	readonly tokens: number;
}

/** What a step is shown at its beginning, by part. */
export interface StepContext {
	readonly plan: string;
	readonly step: string;
	readonly attempt: number;
	readonly parts: Readonly<Record<"instructions" | "goal" | "line" | "results" | "tools", PartSize>>;
	/** The steps whose results are shown in part. */
	readonly cut: readonly string[];
}

/** What a step is asked, with which tools. */
export interface Shown extends Pick<StepContext, "parts" | "cut"> {
	readonly request: ModelRequest;
	readonly tools: readonly Tool[];
}

/**
 * What a step is shown of the results that it depends on, by their ids.
 *
 * @param own the tools that it may use
 * @param how `whole`: as older versions did, of which no result is cut
 */
export function shownTo(
	decomposition: Decomposition,
	step: PlanStep,
	results: ReadonlyMap<string, string>,
	own: readonly Tool[],
	how: "narrow" | "whole" = "narrow",
): Shown {
	const { shown, cut } = how === "narrow" ? narrowed(results) : { shown: results, cut: [] };
	const tools = cut.length > 0 ? [...own.filter(({ name }) => name !== READ_RESULT), readResult(results, cut)] : own;
	const request = stepRequest(decomposition, step, shown, tools);
	return { request, tools, parts: partsOf(request, { goal: goalLine(decomposition), line: stepLine(step) }), cut };
}

/** The results as a step is shown them, by id. Short ones leave their share of {@link ALL} to long ones. */
export function narrowed(results: ReadonlyMap<string, string>): {
	readonly shown: ReadonlyMap<string, string>;
	readonly cut: readonly string[];
} {
	const bySize = [...results].sort(([, a], [, b]) => a.length - b.length);
	const shown = new Map<string, string>();
	let left = ALL;
	for (const [at, [id, text]] of bySize.entries()) {
		const share = Math.min(EACH, Math.floor(left / (bySize.length - at)));
		left -= Math.min(share, text.length);
		shown.set(id, text.length <= share ? text : beginning(id, text, share));
	}
	return { shown, cut: [...results.keys()].filter((id) => shown.get(id) !== results.get(id)) };
}

/** The tool that reads on in results that are shown in part. They never change while a step that needs them works, so it is pure. */
export function readResult(results: ReadonlyMap<string, string>, cut: readonly string[]): Tool {
	return defineTool({
		name: READ_RESULT,
		description: `Reads more of the result of a step before: ${EACH} characters from a place on.`,
		input: z.strictObject({
			step: z.enum(cut as [string, ...string[]]),
			/** In characters. */
			from: z.int().min(0).default(0),
		}),
		purity: "pure",
		wants: async () => [],
		async call({ step, from }) {
			const text = results.get(step) ?? "";
			const end = placeIn(text, Math.min(from + EACH, text.length));
			const rest = end < text.length ? readOn(step, end, text.length) : "[this is its end]";
			return `${text.slice(placeIn(text, from), end)}\n${rest}`;
		},
	});
}

/** The sizes of the parts of a request. */
function partsOf(
	{ system, messages, tools }: ModelRequest,
	{ goal, line }: { readonly goal: string; readonly line: string },
): StepContext["parts"] {
	const [asked] = messages;
	return {
		instructions: sizeOf(system),
		goal: sizeOf(goal),
		line: sizeOf(line),
		results: sizeOf(asked?.text.slice(goal.length + line.length + 2) ?? ""),
		tools: sizeOf(tools.length > 0 ? JSON.stringify(tools) : ""),
	};
}

const beginning = (id: string, text: string, most: number): string => {
	const end = placeIn(text, most);
	return `${text.slice(0, end)}\n${readOn(id, end, text.length)}`;
};

const readOn = (step: string, from: number, size: number): string =>
	`[${from} of ${size} characters; ${READ_RESULT} ${JSON.stringify({ step, from })} reads on]`;

/** A place that is not within a character. */
const placeIn = (text: string, at: number): number => (/[\udc00-\udfff]/.test(text[at] ?? "") && at > 0 ? at - 1 : at);

const sizeOf = (text: string): PartSize => ({
	characters: text.length,
	tokens: Math.ceil(Buffer.byteLength(text) / TOKEN_BYTES),
});
