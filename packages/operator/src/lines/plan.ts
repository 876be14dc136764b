/** Plans and their steps, a line each. */
import { costInWords } from "@reyn/journal";
import type { z } from "zod";
import type { planShape, planStepShape } from "../shapes.ts";
import { oneLine } from "../text.ts";

type Plan = z.infer<typeof planShape>;
type Step = z.infer<typeof planStepShape>;

/** @param more what is said behind the counts */
export const planLines = (all: readonly Plan[], more = ""): readonly string[] =>
	all.map((plan) => {
		const { finished, failed, size, cost, goal } = plan;
		const counts = `${finished}/${size}${failed > 0 ? `, ${failed} failed` : ""}${more}${costText(cost)}`;
		return `${plan.plan}  ${outcomeText(plan)}  ${counts}  ${oneLine(goal, 70)}`;
	});

/** How it is, and why it is paused or was given up. */
export function outcomeText({ status, why }: { readonly status: string; readonly why?: string | undefined }): string {
	if (status === "aborted") return why === undefined ? "discarded" : `discarded (${oneLine(why, 80)})`;
	if (status === "rewound" && why !== undefined) return `rewound (${oneLine(why, 80)})`;
	if (status !== "paused") return status;
	// A person and a limit say why; what a rewind leaves does not.
	return `paused (${oneLine(why ?? "a rewind went back into it", 80)})`;
}

/** Of what costs nothing, nothing. */
const costText = (cost: Plan["cost"]): string =>
	cost.usd === "0" && cost.unknown === 0 ? "" : `, ${cost.usd === "0" ? "price unknown" : costInWords(cost)}`;

/** A step, and below it its children. */
export const stepLines = (step: Step): readonly string[] => [
	stepLine(step),
	...(step.children ?? []).map(({ run, skill, status, attempt, tokens }) => {
		const of = attempt === step.attempt ? "" : `, of try ${attempt + 1}`;
		const isLeft = step.status === "interrupted_with_child" && status === "running";
		return `    ${run}  skill ${oneLine(skill, 60)}  ${isLeft ? "open" : status}${of}  ${tokensText(tokens)}`;
	}),
];

function stepLine(step: Step): string {
	const { id, description, needs, again, status, attempt, reason, beginning, againTokens, took } = step;
	const isBegun = status !== "pending" || attempt > 0;
	const found = reason ?? beginning;
	return [
		`${id}  ${status}${attempt > 0 ? `, try ${attempt + 1}` : ""}`,
		...(needs.length > 0 ? [`after ${needs.join(", ")}`] : []),
		...ownTexts(step),
		...(step.tokens === undefined && !isBegun ? [] : [spentText(step)]),
		...(took === undefined ? [] : [`ended ${tookText(took)}`]),
		...(isBegun
			? [
					`again${again.length > 1 ? ` with ${again.filter((each) => each !== id).join(", ")}` : ""}: ${tokensText(againTokens)}`,
				]
			: []),
		oneLine(found === undefined ? description : `${oneLine(description, 60)}: ${oneLine(found, 90)}`, 160),
	].join("  ");
}

/** What a step says of its model and its tokens, which differs from its plan. */
export const ownTexts = ({ model, max_tokens: most }: OwnTexts): readonly string[] => [
	...(model === undefined ? [] : [`by ${oneLine(model, 40)}`]),
	...(most === undefined ? [] : [`${tokensText(most)} at most`]),
];

interface OwnTexts {
	readonly model?: string | undefined;
	readonly max_tokens?: number | undefined;
}

/** What a step is shown, by part. */
export function contextLine({ context }: Step): string {
	if (!context) return "is shown: unknown, until what it needs is over and its tools are here";
	const parts = Object.entries(context.parts).flatMap(([part, { tokens }]) =>
		tokens > 0 ? [`${part} ${tokens}`] : [],
	);
	const all = Object.values(context.parts).reduce((sum, { tokens }) => sum + tokens, 0);
	const cut = context.cut.length > 0 ? `; of ${context.cut.join(", ")} the beginning, and a tool to read on` : "";
	return `is shown about ${tokensText(all)}: ${parts.join(", ")}${cut}`;
}

export const tokensText = (tokens: number | undefined): string =>
	tokens === undefined ? "unknown" : `${tokens.toLocaleString("en")} tokens`;

/** Of a step that is not over, what is recorded of it is the least. */
const spentText = ({ tokens, atLeast }: Step): string =>
	tokens === undefined && atLeast !== undefined ? `at least ${tokensText(atLeast)}` : tokensText(tokens);

/** How long ago a step had begun when it ended, whatever it waited for. */
export const tookText = (milliseconds: number): string => `after ${timeText(milliseconds)}`;

/** In the unit that fits: `0.4 s`, `12 s`, `3 min 5 s`. */
function timeText(milliseconds: number): string {
	const seconds = milliseconds / 1000;
	if (seconds < 10) return `${seconds.toFixed(1)} s`;
	const whole = Math.round(seconds);
	return whole < 120 ? `${whole} s` : `${Math.floor(whole / 60)} min ${whole % 60} s`;
}
