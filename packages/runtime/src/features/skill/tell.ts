/** Derives events from the records of skill runs. */
import { skillRunCompleted, skillRunDiscarded, skillRuns } from "@reyn/skill-resume";
import { entryAt } from "@reyn/snapshot";
import type { WalRecord } from "@reyn/wal";
import type { TellContext } from "../../kernel/pump.ts";
import { sessionOf } from "../../kernel/sessions.ts";
import type { SkillEnd } from "./events.ts";
import { parentStep } from "./pieces.ts";

export async function tellSkill(record: WalRecord, context: TellContext): Promise<readonly SkillEnd[]> {
	const scope = sessionOf(record.scope);
	const isDiscarded = skillRunDiscarded.is(record);
	if (!isDiscarded && !skillRunCompleted.is(record)) return [];
	const { run } = record.data;
	const { parent } = entryAt((await context.before()).get(skillRuns), run) ?? {};
	const end = { type: "skill_end", scope, run, ...(parent !== undefined && { parent: parentStep(parent) }) } as const;
	return [
		isDiscarded ? { ...end, outcome: "discarded", reason: record.data.reason } : { ...end, outcome: "completed" },
	];
}
