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
		...(isThere(returns) ? [`brings back ${extentText(returns)}`] : []),
		...(isThere(stays) ? [`keeps, of what came after #${target}, ${extentText(stays)}`] : []),
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

/** What is unknown may be there. */
const isThere = ({ records }: Extent): boolean => records !== 0;

function extentText({ records, turns, messages = 0, sessions, ...begun }: Extent): string {
	const whose = sessions.length > 0 ? ` in ${sessions.join(", ")}` : "";
	const work = workText(begun);
	const much =
		records === undefined || turns === undefined
			? `${counted(messages, "message")}${whose}, and an unknown number of records, since gc took some of them away`
			: `${counted(records, "record")}, ${counted(turns, "turn")}${whose}`;
	return `${much}${work === "" ? "" : `: ${work}`}`;
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
