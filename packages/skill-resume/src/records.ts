import { defineRecord } from "@reyn/wal";
import { z } from "zod";

const run = z.string();

export const skillRunStarted = defineRecord(
	"skill_run_started",
	z.object({ run, skill: z.string(), input: z.unknown() }),
);
export const phaseEntered = defineRecord("skill_phase_entered", z.object({ run, phase: z.string(), visit: z.int() }));
/** `next` is the phase that follows; absent: the run is over. */
export const phaseCompleted = defineRecord(
	"skill_phase_completed",
	z.object({ run, phase: z.string(), visit: z.int(), output: z.unknown(), next: z.string().optional() }),
);
export const skillRunCompleted = defineRecord("skill_run_completed", z.object({ run }));
export const skillRunDiscarded = defineRecord("skill_run_discarded", z.object({ run, reason: z.string() }));

/** A rewind went back into the run while it was not running: it waits for a person. */
export const skillRunPaused = defineRecord("skill_run_paused", z.object({ run }));

export const skillRecords = [
	skillRunStarted,
	phaseEntered,
	phaseCompleted,
	skillRunCompleted,
	skillRunDiscarded,
	skillRunPaused,
] as const;
