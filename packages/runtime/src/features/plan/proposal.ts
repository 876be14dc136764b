/** What becomes of a plan that a model proposes: whether it may, and what a person says to it before it starts. */
import type { Model, ToolAnswer } from "@reyn/journal";
import type { Decomposition, PlanStep } from "@reyn/plan";
import type { Answer, Asking } from "../../kernel/services.ts";

export interface ProposalOptions {
	/** `auto`: turns may propose plans. `never`: the tool is not offered. Default: `auto`. */
	readonly offer?: "auto" | "never" | undefined;
	/**
	 * `ask`: a person sees the steps first, and says yes, no, or what to change. Where nobody is to be asked (`unanswered: "deny"`), that
	 * is a no. Default: `never`, which starts them at once.
	 */
	readonly confirm?: "never" | "ask" | undefined;
	/** How often a model may mend a plan that cannot be run, in one turn. Default: 1. */
	readonly invalidRetries?: number | undefined;
	/** Models that a step may be given to, by the name of their class: a plan may name one where there is more than one. Default: none. */
	readonly models?: Readonly<Record<string, Model>> | undefined;
}

/** What a person is asked before a plan starts. Each line is as short as all faces show it whole. */
export const startQuestion = ({
	goal,
	steps,
}: Decomposition): Pick<Asking, "question" | "lines" | "choices" | "explained"> => ({
	question: `Start a plan of ${steps.length} steps?`,
	lines: [`goal: ${goal}`, ...steps.map(lineOf)].flatMap(wrapped),
	choices: ["yes", "edit", "no"],
	explained: ["edit", "no"],
});

function lineOf({ id, description, tools, depends_on: needs, model, max_tokens: most }: PlanStep): string {
	const said = [
		...(needs.length > 0 ? [`needs ${needs.join(", ")}`] : []),
		...(tools.length > 0 ? [`uses ${tools.join(", ")}`] : []),
		...(model === undefined ? [] : [`by ${model}`]),
		...(most === undefined ? [] : [`${most} tokens at most`]),
	].join("; ");
	return `${id}: ${description}${said && ` (${said})`}`;
}

/** @returns undefined: it may start; else what the model is told */
export function refusalBy(answer: Exclude<Answer, { kind: "later" }>): ToolAnswer | undefined {
	if (answer.kind === "nobody")
		return { text: "denied: nobody is here who could allow this plan, and plan.confirm says ask", isError: true };
	const [, choice, words] = /^(\w+)(?:: (.*))?$/s.exec(answer.text) ?? [];
	if (choice === "yes") return undefined;
	const why = words === undefined ? "" : `: ${words}`;
	const text =
		choice === "edit"
			? `not started: ${answer.by} wants it changed${why}. Propose it again, so changed`
			: `denied: ${answer.by} says no${why}`;
	return { text, isError: true, goesOn: true };
}

const WIDTH = 160;

/** Cut where the words are, so that no part of it is left out. */
function wrapped(text: string): string[] {
	const lines: string[] = [];
	for (let rest = text.replace(/\s*\n\s*/g, " "); rest !== ""; ) {
		const space = rest.length > WIDTH ? rest.lastIndexOf(" ", WIDTH) : rest.length;
		const end = space > WIDTH / 2 || rest.length <= WIDTH ? space : WIDTH;
		lines.push(rest.slice(0, end).toWellFormed());
		rest = rest.slice(end).trimStart();
		if (rest !== "") rest = `    ${rest}`;
	}
	return lines;
}
