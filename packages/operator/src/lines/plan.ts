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
		return `    ${run}  skill ${oneLine(skill, 60)}  ${status}${of}  ${tokensText(tokens)}`;
	}),
];

function stepLine(step: Step): string {
	const { id, description, needs, again, status, attempt, reason, beginning, tokens, againTokens, took } = step;
	const isBegun = status !== "pending" || attempt > 0;
	const found = reason ?? beginning;
	return [
		`${id}  ${status}${attempt > 0 ? `, try ${attempt + 1}` : ""}`,
		...(needs.length > 0 ? [`after ${needs.join(", ")}`] : []),
		...(tokens === undefined && !isBegun ? [] : [tokensText(tokens)]),
		...(took === undefined ? [] : [timeText(took)]),
		...(isBegun
			? [
					`again${again.length > 1 ? ` with ${again.filter((each) => each !== id).join(", ")}` : ""}: ${tokensText(againTokens)}`,
				]
			: []),
		oneLine(found === undefined ? description : `${oneLine(description, 60)}: ${oneLine(found, 90)}`, 160),
	].join("  ");
}

export const tokensText = (tokens: number | undefined): string =>
	tokens === undefined ? "unknown" : `${tokens.toLocaleString("en")} tokens`;

/** In the unit that fits: `0.4 s`, `12 s`, `3 min 5 s`. */
export function timeText(milliseconds: number): string {
	const seconds = milliseconds / 1000;
	if (seconds < 10) return `${seconds.toFixed(1)} s`;
	const whole = Math.round(seconds);
	return whole < 120 ? `${whole} s` : `${Math.floor(whole / 60)} min ${whole % 60} s`;
}
