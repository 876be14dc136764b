/** The skill runs of a session as pieces of work, for the kernel. */
import { journalRecords } from "@reyn/journal";
import { type SkillRun, skillRecords, skillRuns } from "@reyn/skill-resume";
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
	Object.entries(view.get(skillRuns))
		.sort(([, a], [, b]) => a.started - b.started)
		.map(([id, run]) => ({
			kind: SKILL,
			id,
			work: skillWork(view.scope, id),
			status: statusOf(run),
			title: run.skill,
			since: run.since,
			...unsaidOf(run),
		}));

function statusOf({ status, ended }: SkillRun): Piece["status"] {
	if (status === "running" || status === "paused") return status;
	return ended ? "ending" : "over";
}

function unsaidOf({ ended }: SkillRun): Pick<Piece, "unsaid"> {
	return ended?.tell === undefined ? {} : { unsaid: { seq: ended.seq, text: ended.tell } };
}
