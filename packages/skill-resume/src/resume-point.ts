/** Finds where a skill run goes on after a crash. Pure. */
import { entryAt } from "@reyn/snapshot";
import type { SkillRun } from "./skill-runs.ts";

/** Inside a phase that was entered, at the next phase, or at the end, where only the close is missing. */
export type ResumePoint =
	| { readonly kind: "phase"; readonly phase: string; readonly visit: number; readonly entered: boolean }
	| { readonly kind: "end" };

/** All steps of a run are in lanes below this one. @param parent the lane of the call that a child runs in */
export const runLane = (run: string, parent?: string): string =>
	`${parent === undefined ? "" : `${parent}/`}skill/${run}`;

export function laneOf(run: string, phase: string, visit: number, parent?: string): string {
	return `${runLane(run, parent)}/${phase}/${visit}`;
}

/** @param start the phase that the skill begins with */
export function analyze({ phase, visits, last }: SkillRun, start: string): ResumePoint {
	if (phase !== undefined) return { kind: "phase", phase, visit: entryAt(visits, phase) ?? 1, entered: true };
	if (last && last.next === undefined) return { kind: "end" };
	const next = last?.next ?? start;
	return { kind: "phase", phase: next, visit: (entryAt(visits, next) ?? 0) + 1, entered: false };
}
