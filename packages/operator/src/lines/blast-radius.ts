/** What a rewind or a checkout would touch, for people: a line for each thing that there is to say. */
import { costInWords } from "@reyn/journal";
import { counted } from "@reyn/rewind-modes/internal";
import type { BlastRadius, Extent, PaidFor, TasksAlong, Unfinished, WorkAgain } from "@reyn/runtime";
import { tasksAlongLines } from "../tasks-along.ts";
import { oneLine } from "../text.ts";

/** @param along tasks that go back with it; absent: they stay */
export function radiusLines(
	{ leaves, returns, stays, cancels, interrupts, relaunches, pauses, withdraws, config, grants, tasks }: BlastRadius,
	target: number,
	along?: TasksAlong,
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
			: [`starts again from #${target}: ${again}; ${paidText(relaunches.paid)} are paid again${freeText(relaunches)}`]),
		...(waiting === ""
			? []
			: [
					`leaves unfinished and paused: ${waiting}; who resumes it pays ${paidText(pauses.paid)} again${freeText(pauses)}`,
				]),
		...withdrawn("question", withdraws.questions),
		...withdrawn("message that was not shown yet", withdraws.messages),
		...(config.length > 0 ? [`takes the configuration along: ${config.map(stepText).join(", ")}`] : []),
		...keepsText(leaves.paid, grants, along ? [] : tasks),
		...tasksAlongLines(along, target),
	];
}

/** `2 model calls, 24 tokens ($0.0012)`. Unknown is not nothing. */
export function paidText(paid: PaidFor | undefined): string {
	if (!paid) return "an unknown number of tokens";
	const { calls, tokens, cost, uncounted = 0 } = paid;
	const price = costInWords(cost);
	const more = uncounted > 0 ? `, and ${counted(uncounted, "call")} that nobody counted` : "";
	return `${counted(calls, "model call")}, ${counted(tokens, "token")}${price === "unknown" ? "" : ` (${price})`}${more}`;
}

const freeText = ({ free }: WorkAgain): string =>
	free && free.calls > 0
		? `; ${counted(free.calls, "call")} of finished steps, ${counted(free.tokens, "token")}, are recalled for nothing`
		: "";

const withdrawn = (what: string, waiting: BlastRadius["withdraws"]["questions"]): readonly string[] =>
	waiting.length > MOST
		? [`withdraws ${counted(waiting.length, what)}`]
		: waiting.map(({ seq, text }) => `withdraws the ${what} #${seq}: ${oneLine(text, 70)}`);

const MOST = 5;

const changes = { made: "made again", changed: "changed back", removed: "removed" } as const;
const stepText = ({ path, change }: BlastRadius["config"][number]): string => `${oneLine(path, 80)} ${changes[change]}`;

/** What no move takes back. */
function keepsText(paid: PaidFor | undefined, grants: number, tasks: readonly string[] = []): readonly string[] {
	const spent = paid && paid.calls + (paid.uncounted ?? 0) > 0 ? [`${paidText(paid)} stay paid`] : [];
	const granted = grants > 0 ? [`${counted(grants, "permission")} given since ${grants === 1 ? "stays" : "stay"}`] : [];
	const bound = tasks.length > MOST ? counted(tasks.length, "task") : tasks.map((id) => oneLine(id, 40)).join(", ");
	const kept = tasks.length > 0 ? [`tasks (${bound}), which stay as they are now, whoever has them then`] : [];
	const all = [...spent, ...granted, ...kept];
	return all.length > 0 ? [`does not take back: ${all.join("; ")}`] : [];
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
