/** Counts at how many starts a run has failed, and where, or its process died: what does so in the same place at three is paused. Pure. */
import { endedBy, isBeneath, reasonOf } from "@reyn/journal/internal";
import { type Draft, isReynError } from "@reyn/wal";
import { endsRun } from "./errors.ts";
import { skillRunFailed, skillRunPaused } from "./records.ts";
import { analyze, type ResumePoint } from "./resume-point.ts";
import { isLive, type SkillRun } from "./skill-runs.ts";

/** At how many starts a run may fail, or its process may die, in the same place until it is paused. */
const MOST_STARTS = 3;

/** A reason with more characters than this is cut. */
const MAX_REASON = 1_000;

/**
 * The records of a start that ended with an error. None: it was cancelled, waits, or the log has failed; the run is over; or it is a
 * child, whose call has failed instead.
 *
 * @param start the phase that the skill begins with
 */
export function failureIn(
	id: string,
	run: SkillRun | undefined,
	start: string,
	error: unknown,
	signal: AbortSignal,
): readonly Draft[] {
	// The log itself has failed, or the run waits. But what it refuses of a run it refuses at each start, as a spent budget does.
	const isLeft = isBeneath(error) && !isReynError(error, ...failures);
	if (!run || !isLive(run) || run.parent !== undefined || signal.aborted || isLeft || endsRun(error)) return [];
	const at = analyze(run, start);
	const where = whereOf(at);
	const { phase, visit } = at.kind === "phase" ? at : {};
	const reason = cut(reasonOf(error).message);
	const [call] = (endedBy(error).by ?? []).map(({ lane, fp, occ }) => `${lane} ${fp.slice(0, 16)}:${occ}`).sort();
	const place = `${phase ?? "end"}/${visit ?? 1} ${call ?? reason}`;
	const failed = skillRunFailed({ run: id, ...(phase !== undefined && { phase, visit }), place, reason });
	const times = 1 + (run.failures?.find((each) => each.place === place)?.times ?? 0);
	if (times < MOST_STARTS) return [failed];
	return [failed, skillRunPaused({ run: id, reason: `it has failed at ${times} starts ${where}: ${reason}` })];
}

/**
 * The record that pauses a run before it goes on again; undefined: it may. A process that was killed, ran out of memory or ended itself
 * leaves no record of that: it has begun, and nothing has followed.
 *
 * @param start the phase that the skill begins with
 */
export function deathsIn(id: string, run: SkillRun, start: string): Draft | undefined {
	const { begun = 0, asleep, status } = run;
	if (begun < MOST_STARTS || asleep || status !== "running") return undefined;
	const where = whereOf(analyze(run, start));
	const reason = `its process died at ${begun} starts ${where}, before anything new was recorded; it may have run out of memory, or a call has ended it`;
	return skillRunPaused({ run: id, reason });
}

/** What stops a run as if it failed, though no call of its own has. */
const failures = ["CALL_HELD", "REPLAY_DIVERGENCE", "WAL_INVALID_RECORD", "WAL_TOO_LARGE"] as const;

const whereOf = (at: ResumePoint): string =>
	at.kind === "end" ? "when its output was to be delivered" : `in phase "${at.phase}", visit ${at.visit}`;

const cut = (text: string): string =>
	(text.length <= MAX_REASON ? text : `${text.slice(0, MAX_REASON)}…`).toWellFormed();
