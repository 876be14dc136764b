/** Derives events from the records of skill runs. */
import {
	childrenBelow,
	isLive,
	runLane,
	type SkillRun,
	skillRunCompleted,
	skillRunDiscarded,
	skillRunIn,
	skillRunPaused,
	skillRuns,
} from "@reyn/skill-resume";
import type { WalRecord } from "@reyn/wal";
import type { TellContext } from "../../kernel/pump.ts";
import { sessionOf } from "../../kernel/sessions.ts";
import type { SkillEnd } from "./events.ts";
import { parentStep } from "./pieces.ts";

export async function tellSkill(record: WalRecord, context: TellContext): Promise<readonly SkillEnd[]> {
	if (skillRunPaused.is(record)) {
		const { run, reason } = record.data;
		// A rewind, which says so itself, gives no reason.
		if (reason === undefined) return [];
		return [{ type: "skill_end", scope: sessionOf(record.scope), run, outcome: "paused", reason }];
	}
	const isDiscarded = skillRunDiscarded.is(record);
	if (!isDiscarded && !skillRunCompleted.is(record)) return [];
	const { run } = record.data;
	const runs = (await context.before()).get(skillRuns);
	const known = skillRunIn(runs, run);
	const endOf = (id: string, { parent }: Partial<SkillRun> = {}) =>
		({
			type: "skill_end",
			scope: sessionOf(record.scope),
			run: id,
			...(parent !== undefined && { parent: parentStep(parent) }),
		}) as const;
	if (!isDiscarded) return [{ ...endOf(run, known), outcome: "completed" }];
	// Its children end with it.
	const below = childrenBelow(runs, runLane(run, known?.parent)).filter(([, child]) => isLive(child));
	return [...below, [run, known] as const].map(([id, each]) => ({
		...endOf(id, each),
		outcome: "discarded" as const,
		reason: record.data.reason,
	}));
}
