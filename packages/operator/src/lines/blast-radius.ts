/** What a rewind or a checkout would touch, for people: a line for each thing that there is to say. */
import type { BlastRadius, Extent, Unfinished } from "@reyn/runtime";

export function radiusLines(
	{ leaves, returns, stays, cancels, interrupts, relaunches, pauses }: BlastRadius,
	target: number,
): string[] {
	const ended = workText(cancels);
	const again = workText(relaunches);
	const waiting = workText(pauses);
	return [
		`leaves behind ${extentText(leaves)}`,
		...(returns.records > 0 ? [`brings back ${extentText(returns)}`] : []),
		...(stays.records > 0 ? [`keeps, of what came after #${target}, ${extentText(stays)}`] : []),
		...(ended === "" ? [] : [`ends unfinished work that is not there at #${target}: ${ended}`]),
		...(interrupts.length > 0 ? [`closes without an answer: ${workText({ turns: interrupts })}`] : []),
		...(again === ""
			? []
			: [
					`starts again from #${target}: ${again}; ${relaunches.calls} model calls, ${relaunches.tokens} tokens are paid again`,
				]),
		...(waiting === "" ? [] : [`leaves unfinished and paused: ${waiting}`]),
	];
}

function extentText({ records, turns, sessions, ...begun }: Extent): string {
	const whose = sessions.length > 0 ? ` in ${sessions.join(", ")}` : "";
	const work = workText(begun);
	return `${counted(records, "record")}, ${counted(turns, "turn")}${whose}${work === "" ? "" : `: ${work}`}`;
}

function workText({ turns = [], plans = [], runs = [], scripts = [], others = [] }: Partial<Unfinished>): string {
	return [
		...turns.map((turn) => `turn #${turn}`),
		...plans.map((plan) => `plan ${plan}`),
		...runs.map((run) => `skill run ${run}`),
		...scripts.map((run) => `script run ${run}`),
		...others,
	].join(", ");
}

export const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? "" : "s"}`;
