import { defineRecord } from "@reyn/wal";
import { z } from "zod";

const run = z.string();
/** Any JSON, or nothing: what is `undefined` leaves no key in the log. */
const value = z.unknown().optional();

export const skillRunStarted = defineRecord("skill_run_started", z.object({ run, skill: z.string(), input: value }));
export const phaseEntered = defineRecord("skill_phase_entered", z.object({ run, phase: z.string(), visit: z.int() }));
/** `next` is the phase that follows; absent: the run is over. */
export const phaseCompleted = defineRecord(
	"skill_phase_completed",
	z.object({ run, phase: z.string(), visit: z.int(), output: value, next: z.string().optional() }),
);
export const skillRunCompleted = defineRecord("skill_run_completed", z.object({ run }));
/**
 * It is over without an output. `by` says that a person did it, who may take that back; `tell` is what is to be said of it now
 * that this is recorded. The close of the run's lane says that it was.
 */
export const skillRunDiscarded = defineRecord(
	"skill_run_discarded",
	z.object({ run, reason: z.string(), by: z.literal("person").optional(), tell: z.string().optional() }),
);

/** A rewind went back into the run while it was not running: it waits for a person. */
export const skillRunPaused = defineRecord("skill_run_paused", z.object({ run }));

/** A person says that a paused run is to go on. */
export const skillRunResumed = defineRecord("skill_run_resumed", z.object({ run }));

export const skillRecords = [
	skillRunStarted,
	phaseEntered,
	phaseCompleted,
	skillRunCompleted,
	skillRunDiscarded,
	skillRunPaused,
	skillRunResumed,
] as const;
