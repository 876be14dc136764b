/** The state of a session at one moment, as lines for people. */
import type { StateReport } from "../state-report.ts";
import { oneLine } from "../text.ts";

/** The moment, the hash of the state, its newest 12 messages, and its plans and skill runs. */
export function stateLines(state: StateReport): string[] {
	const { seq, kind, branch, active, hash, messages, more, plans, skills } = state;
	const recent = messages.slice(-12);
	return [
		`#${seq} ${kind} on ${branch}${active ? "" : " (abandoned)"}`,
		`state ${hash}`,
		`messages ${messages.length}${more ? ", and earlier ones" : ""}${messages.length > recent.length ? `, the last ${recent.length}:` : messages.length > 0 ? ":" : ""}`,
		...recent.map((message) => `  #${message.seq} ${message.who}: ${oneLine(message.text, 100)}`),
		...plans.map(({ plan, status, goal }) => `plan ${plan} ${status}: ${oneLine(goal, 80)}`),
		...skills.map(({ run, status, skill }) => `skill ${skill} ${run} ${status}`),
	];
}
