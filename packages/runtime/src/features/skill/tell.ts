/** Derives events from the records of skill runs. */
import { skillRunCompleted, skillRunDiscarded } from "@reyn/skill-resume";
import type { WalRecord } from "@reyn/wal";
import { sessionOf } from "../../kernel/sessions.ts";
import type { SkillEvent } from "./events.ts";

export function tellSkill(record: WalRecord): readonly SkillEvent[] {
	const scope = sessionOf(record.scope);
	if (skillRunCompleted.is(record)) return [{ type: "skill_end", scope, run: record.data.run, outcome: "completed" }];
	if (!skillRunDiscarded.is(record)) return [];
	const { run, reason } = record.data;
	return [{ type: "skill_end", scope, run, outcome: "discarded", reason }];
}
