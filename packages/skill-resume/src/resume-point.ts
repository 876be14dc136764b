/** Finds where a skill run goes on after a crash, and which of its steps are in doubt. Pure. */
import type { JournalState } from "@reyn/journal";
import { entriesOf } from "@reyn/journal/internal";
import { entryAt } from "@reyn/snapshot";
import type { SkillRun } from "./skill-runs.ts";

export interface ResumePoint {
	readonly skill: string;
	/** Where to go on: inside a phase that was entered, at the next phase, or at the end, where only the close is missing. */
	readonly at:
		| { readonly kind: "phase"; readonly phase: string; readonly visit: number; readonly entered: boolean }
		| { readonly kind: "end" };
	/** Steps that were started and whose outcome is unknown, by name. */
	readonly inDoubt: readonly string[];
}

/** All steps of a run are in lanes below this one. @param parent the lane of the call that a child runs in */
export const runLane = (run: string, parent?: string): string =>
	`${parent === undefined ? "" : `${parent}/`}skill/${run}`;

export function laneOf(run: string, phase: string, visit: number, parent?: string): string {
	return `${runLane(run, parent)}/${phase}/${visit}`;
}

export function analyze(id: string, run: SkillRun, start: string, journal: JournalState): ResumePoint {
	if (run.phase !== undefined) {
		const visit = entryAt(run.visits, run.phase) ?? 1;
		const steps = entriesOf(journal, laneOf(id, run.phase, visit, run.parent));
		const inDoubt = steps.filter(({ started, outcome }) => started !== undefined && !outcome).map(({ name }) => name);
		return { skill: run.skill, at: { kind: "phase", phase: run.phase, visit, entered: true }, inDoubt };
	}
	if (run.last && run.last.next === undefined) return { skill: run.skill, at: { kind: "end" }, inDoubt: [] };
	const phase = run.last?.next ?? start;
	return {
		skill: run.skill,
		at: { kind: "phase", phase, visit: (entryAt(run.visits, phase) ?? 0) + 1, entered: false },
		inDoubt: [],
	};
}
