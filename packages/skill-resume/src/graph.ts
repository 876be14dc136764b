/** Checks where the phases of a skill lead, before any is run. A function may lead anywhere; a model phase says where. */
import { entryAt } from "@reyn/snapshot";
import type { Phase, Skill } from "./define-skill.ts";
import { SkillError } from "./errors.ts";

/** What stands for the end, in the place of a phase. */
export const END = "done";

/** Where a model phase may go. */
export const waysOf = ({ next = END }: { readonly next?: string | readonly string[] }): readonly string[] =>
	typeof next === "string" ? [next] : next;

type Graph = Pick<Skill<never>, "name" | "start"> & { readonly phases: Readonly<Record<string, Phase<never>>> };

/** @throws SkillError `SKILL_GRAPH`, naming the phase */
export function assertGraph({ name, start, phases }: Graph): void {
	const names = Object.keys(phases);
	const wrong = (what: string, phase: string): SkillError =>
		new SkillError("SKILL_GRAPH", `${name} ${what}; its phases are ${names.join(", ") || "none"}`, {
			skill: name,
			phase,
		});
	if (!entryAt(phases, start)) throw wrong(`begins with phase "${start}", which it lacks`, start);
	if (entryAt(phases, END)) throw wrong(`calls a phase "${END}", which is the name of the end`, END);
	for (const [phase, body] of Object.entries(phases)) {
		if (typeof body === "function") continue;
		const ways = waysOf(body);
		if (ways.length === 0) throw wrong(`has no way out of phase "${phase}"`, phase);
		const missing = ways.find((way) => way !== END && !entryAt(phases, way));
		if (missing !== undefined) throw wrong(`goes from phase "${phase}" to "${missing}", which it lacks`, phase);
	}
	const waysFrom = (phase: string): readonly string[] => {
		const body = entryAt(phases, phase) as Phase<never>;
		return typeof body === "function" ? [...names, END] : waysOf(body);
	};
	const reached = beyond([start], waysFrom);
	const idle = names.find((phase) => !reached.has(phase));
	if (idle !== undefined) throw wrong(`never comes to phase "${idle}"`, idle);
	const lost = names.find((phase) => !beyond([phase], waysFrom).has(END));
	if (lost !== undefined) throw wrong(`has no way to the end from phase "${lost}"`, lost);
}

/** All that can be come to from these, themselves included. */
function beyond(from: readonly string[], waysFrom: (phase: string) => readonly string[]): ReadonlySet<string> {
	const met = new Set(from);
	for (const phase of met) for (const way of phase === END ? [] : waysFrom(phase)) met.add(way);
	return met;
}
