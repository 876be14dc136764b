/** The skill runs of a session as pieces of work, for the kernel. A child is none: it goes on, and ends, with the call that it runs in. */
import { journalRecords } from "@reyn/journal";
import { childrenBelow, type SkillRun, skillRecords, skillRuns, skillRunsOf } from "@reyn/skill-resume";
import type { View } from "@reyn/snapshot";
import type { Scope } from "@reyn/wal";
import type { Piece } from "../../kernel/feature.ts";
import { kindsOf, type Work } from "../../kernel/work.ts";

export const SKILL = "skill";

const kindsOfSkill = kindsOf([...skillRecords, ...journalRecords]);

export const skillWork = (session: Scope, run: string): Work => ({
	name: `${SKILL} ${run}`,
	scope: { ...session, run },
	kinds: kindsOfSkill,
});

export const skillRunsIn = (view: View): readonly Piece[] =>
	skillRunsOf(view.get(skillRuns))
		.filter(([, { parent }]) => parent === undefined)
		.map(([id, run]) => ({
			kind: SKILL,
			id,
			work: skillWork(view.scope, id),
			status: statusOf(run),
			title: run.skill,
			since: run.since,
			...unsaidOf(run),
		}));

/** The work that a child runs in: a step of a plan and its attempt, from 0; or a phase of a skill run and its visit, from 1. */
export interface ParentStep {
	readonly kind: string;
	readonly id: string;
	readonly step: string;
	readonly attempt: number;
}

/** @param lane of the call that a child runs in */
export function parentStep(lane: string): ParentStep {
	const [kind = "", id = "", step = "", attempt] = lane.split("/");
	return { kind, id, step, attempt: Number(attempt) };
}

/** A skill run that a step of a plan has called. */
export interface ChildRun {
	readonly run: string;
	readonly skill: string;
	readonly status: SkillRun["status"];
	/** Of the step, from 0. */
	readonly attempt: number;
	/** What its model calls cost so far, in tokens. Absent: unknown, since none is recorded, and one may be open or cut. */
	readonly tokens?: number;
}

/** The children of calls below a lane, what is over included, oldest first. */
export const childrenOf = (view: View, lane: string): readonly ChildRun[] =>
	childrenBelow(view.get(skillRuns), lane).map(([run, { skill, status, parent = "", cost }]) => ({
		...{ run, skill, status, attempt: parentStep(parent).attempt },
		...(cost && { tokens: cost.inputTokens + cost.outputTokens }),
		...(!cost && status === "completed" && { tokens: 0 }),
	}));

/** The records of a child lie in the scope of the work around it, and move with it. */
export const childScope = (session: { readonly scope: Scope }, lane: string): Scope => ({
	...session.scope,
	run: parentStep(lane).id,
});

function statusOf({ status, ended }: SkillRun): Piece["status"] {
	if (status === "running" || status === "paused") return status;
	return ended ? "ending" : "over";
}

function unsaidOf({ ended }: SkillRun): Pick<Piece, "unsaid"> {
	return ended?.tell === undefined ? {} : { unsaid: { seq: ended.seq, text: ended.tell } };
}
