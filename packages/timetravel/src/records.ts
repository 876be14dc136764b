import { defineRecord } from "@reyn/wal";
import { z } from "zod";

export const checkpointKinds = ["turn", "plan_step", "phase"] as const;

/** The end of a unit of work: the last record of its boundary. Its seq addresses the snapshot that is cut there. */
export const checkpoint = defineRecord("checkpoint", z.object({ kind: z.enum(checkpointKinds), title: z.string() }));

/**
 * Makes the state as of `target` the current one, for the classes that it covers: those in the record's own scope whose
 * kind is in `drop` (absent: all). Nothing is erased; what lies between is abandoned, and can be checked out again.
 */
export const reset = defineRecord(
	"reset",
	z.object({
		target: z.int().nonnegative(),
		drop: z.array(z.string()).optional(),
		/** What a person called it; `drop` decides. */
		mode: z.string(),
		actor: z.string(),
		counts: z.record(z.string(), z.int().nonnegative()).optional(),
	}),
);

/** What was in memory has been brought in line with this reset. A reset without it was cut short by a crash. */
export const resetSettled = defineRecord("reset_settled", z.object({ reset: z.int().positive() }));

export const timetravelRecords = [checkpoint, reset, resetSettled] as const;

const ownMeta: ReadonlySet<string> = new Set(timetravelRecords.map(({ kind }) => kind));

/** Is this a kind that no reset covers and no state folds? The log's own and this package's are. */
export const isMeta = (kind: string): boolean => ownMeta.has(kind) || kind.startsWith("wal_");
