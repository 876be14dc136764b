/** The records that skill runs add to the log, and their schemas. */
import { defineRecord } from "@reyn/wal";
import { z } from "zod";

const run = z.string();
/** Any JSON value, or no key at all for `undefined`. */
const value = z.unknown().optional();

export const skillRunStarted = defineRecord(
	"skill_run_started",
	z.object({
		run,
		skill: z.string(),
		input: value,
		/** The id of the model that it is begun with. Absent in older logs: unknown. */
		model: z.string().optional(),
		/** The hash of the skill's text. Absent: it lies in no file. */
		hash: z.string().optional(),
		/** The lane of the call that it runs in: it is a child, whose own lane lies below, and ends with the work around it. */
		parent: z.string().optional(),
	}),
);
export const phaseEntered = defineRecord("skill_phase_entered", z.object({ run, phase: z.string(), visit: z.int() }));
/** `next` is the phase that follows; absent: the run is over. */
export const phaseCompleted = defineRecord(
	"skill_phase_completed",
	z.object({ run, phase: z.string(), visit: z.int(), output: value, next: z.string().optional() }),
);
export const skillRunCompleted = defineRecord("skill_run_completed", z.object({ run }));
/**
 * The end of a run without an output. `by`: a person discarded it, and may undo that; or the work that it is a child of has ended it, and
 * runs it anew where that goes on. `tell`: the notice for the conversation, to be delivered after this record. The close of the run's
 * lane says that it was delivered.
 */
export const skillRunDiscarded = defineRecord(
	"skill_run_discarded",
	z.object({ run, reason: z.string(), by: z.enum(["person", "parent"]).optional(), tell: z.string().optional() }),
);

/**
 * The run has ended with an error, and is kept: neither cancelled nor killed. `place` names the call that it failed by, or else what it
 * said; absent `phase`: the phases are over, and its output was to be delivered.
 */
export const skillRunFailed = defineRecord(
	"skill_run_failed",
	z.object({ run, phase: z.string().optional(), visit: z.int().optional(), place: z.string(), reason: z.string() }),
);

/** A start goes on with a run in a phase that was entered before, or at its end. Durable before anything of it is called. */
export const skillRunWentOn = defineRecord("skill_run_went_on", z.object({ run }));

/** A start has stopped in order before anything was recorded of it: it was cancelled, or waits. So it is none that its process died in. */
export const skillRunStopped = defineRecord("skill_run_stopped", z.object({ run }));

/** It waits for a person: a rewind went back into the run while it was not running, or it has failed, or its process died, too often, and has that as `reason`. */
export const skillRunPaused = defineRecord("skill_run_paused", z.object({ run, reason: z.string().optional() }));

/** A person says that a paused run is to go on. */
export const skillRunResumed = defineRecord("skill_run_resumed", z.object({ run }));

export const skillRecords = [
	skillRunStarted,
	phaseEntered,
	phaseCompleted,
	skillRunCompleted,
	skillRunDiscarded,
	skillRunFailed,
	skillRunWentOn,
	skillRunStopped,
	skillRunPaused,
	skillRunResumed,
] as const;
