/** The lines of skill runs in the audit trail. */
import {
	phaseCompleted,
	phaseEntered,
	skillRunCompleted,
	skillRunDiscarded,
	skillRunFailed,
	skillRunPaused,
	skillRunResumed,
	skillRunStarted,
	skillRunStopped,
	skillRunWentOn,
} from "@reyn/skill-resume";
import type { WalRecord } from "@reyn/wal";
import { type Audited, brief } from "../../kernel/audit.ts";

export function auditSkill(record: WalRecord): Audited | undefined {
	if (skillRunStarted.is(record)) {
		const { run, skill } = record.data;
		return { kind: "skill", what: "started", run, name: skill };
	}
	if (phaseEntered.is(record)) return { kind: "skill", what: "phase started", ...record.data };
	if (phaseCompleted.is(record)) {
		const { run, phase, visit, next } = record.data;
		return { kind: "skill", what: "phase ended", run, phase, visit, next };
	}
	if (skillRunFailed.is(record)) {
		const { run, phase, visit, reason } = record.data;
		return { kind: "skill", what: "failed", run, phase, visit, why: brief(reason) };
	}
	if (skillRunWentOn.is(record)) return { kind: "skill", what: "went on", ...record.data };
	if (skillRunStopped.is(record)) return { kind: "skill", what: "stopped", ...record.data };
	if (skillRunPaused.is(record)) {
		const { run, reason } = record.data;
		return { kind: "skill", what: "paused", run, ...(reason !== undefined && { why: brief(reason) }) };
	}
	if (skillRunResumed.is(record)) return { kind: "skill", what: "resumed", ...record.data };
	if (skillRunCompleted.is(record)) return { kind: "skill", what: "ended", ...record.data };
	if (!skillRunDiscarded.is(record)) return undefined;
	const { run, reason, by } = record.data;
	return { kind: "skill", what: "discarded", run, by, why: brief(reason) };
}
