/** The records that moves add to the log: checkpoints, resets, labels, and outcomes that came too late. */
import { defineRecord } from "@reyn/wal";
import { z } from "zod";

export interface CheckpointData {
	/** The kind of work that ended, named by who writes the checkpoint: 1 to 64 letters a to z, digits and `_`, the first a letter. */
	readonly kind: string;
	readonly title: string;
}

const checkpointKind = z
	.string()
	.regex(/^[a-z][a-z0-9_]{0,63}$/, "a kind of 1 to 64 letters a to z, digits and `_`, the first a letter");

/** The end of a unit of work: the last record of its boundary. Its seq addresses the snapshot that is cut there. */
export const checkpoint = defineRecord("checkpoint", z.object({ kind: checkpointKind, title: z.string() }));

/**
 * Makes the state as of `target` the current one, for the classes that it covers: those in the record's own scope whose
 * kind is in `drop` (absent: all). Nothing is erased; what lies between is abandoned, and can be checked out again.
 */
export const reset = defineRecord(
	"reset",
	z.object({
		target: z.int().nonnegative(),
		drop: z.array(z.string()).optional(),
		/** The name of the rewind mode, for people; only `drop` has an effect. */
		mode: z.string(),
		actor: z.string(),
		counts: z.record(z.string(), z.int().nonnegative()).optional(),
		/** The seq of the move that this reset takes back (`undoes`), or makes again (`redoes`). */
		undoes: z.int().positive().optional(),
		redoes: z.int().positive().optional(),
		/** What has to change with it outside the log, by the name of the part that does so; it is here so that it survives a crash. */
		along: z.record(z.string(), z.json()).optional(),
	}),
);

/** The names that a label may have: none that could be read as a seq, a branch or a count of checkpoints. */
export const labelName = z
	.string()
	.regex(
		/^(?!\d+$|b\d+$|main$)[\p{L}\p{N}][\p{L}\p{N}._-]{0,63}$/u,
		"1 to 64 letters, digits, `.`, `_` and `-`, a letter or a digit first, and not a seq (`142`) or a branch (`b7`, `main`)",
	);

/** Names a seq for people, or another one than until then; `gone` takes the name away. Labels are of the whole log, and no rewind covers them. */
export const label = defineRecord(
	"label",
	z.object({
		name: labelName,
		target: z.int().nonnegative(),
		gone: z.boolean().optional(),
		/** The seq that the name had until then. Absent: none, or where it is gone its target. */
		was: z.int().nonnegative().optional(),
		actor: z.string(),
		undoes: z.int().positive().optional(),
		redoes: z.int().positive().optional(),
	}),
);

/** Says that memory agrees with this reset again. A reset without this record was cut short by a crash, and is settled at the next start. */
export const resetSettled = defineRecord("reset_settled", z.object({ reset: z.int().positive() }));

/**
 * An outcome that came after the rewind `reset` had left its line of history: the record that work could not append any more. It is
 * kept for later, and no state folds it.
 */
export const stepLate = defineRecord(
	"step_late",
	z.object({ reset: z.int().positive(), kind: z.string(), data: z.record(z.string(), z.unknown()) }),
);

export const timetravelRecords = [checkpoint, reset, resetSettled, label, stepLate] as const;

const ownMeta: ReadonlySet<string> = new Set(timetravelRecords.map(({ kind }) => kind));

/** Is this a kind that no reset covers and no state folds? The log's own and this package's are. */
export const isMeta = (kind: string): boolean => ownMeta.has(kind) || kind.startsWith("wal_");

/**
 * Is this a kind of facts about the world, which no rewind takes back: an approval, say? They count on every line of history, and
 * outlive the log. The name alone says so: if it were known from code, a program without that code would change history.
 */
export const isOutside = (kind: string): boolean => kind.startsWith("fact_");
