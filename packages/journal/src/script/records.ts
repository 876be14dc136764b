/** What a script run adds to the log, beside its steps. */
import { defineRecord } from "@reyn/wal";
import { z } from "zod";
import { callKeySchema } from "../records.ts";

const run = z.string();
/** SHA-256 of the script's text, and of its canonical arguments. */
const version = { script: z.string(), args: z.string() };

export const scriptStarted = defineRecord("script_started", z.object({ run, name: z.string(), ...version }));

/**
 * Goes on, perhaps with another script or other arguments: then a new revision begins, and what was recorded before it is found by
 * what it rests on, or as `reuse` says.
 */
export const scriptResumed = defineRecord(
	"script_resumed",
	z.object({ run, ...version, reuse: z.enum(["prefix", "content"]) }),
);

/** Tokens of what this life of the run was given from the log: a recall leaves no record of its own. Absent: not known. */
const recalled = z.int().nonnegative().optional();

/** The result lies beside the log, under its hash; none when the script gave nothing. */
export const scriptCompleted = defineRecord(
	"script_completed",
	z.object({ run, result: z.string().optional(), recalled }),
);

export const scriptFailed = defineRecord(
	"script_failed",
	z.object({
		run,
		reason: z.object({ message: z.string(), code: z.string().optional(), detail: z.unknown().optional() }),
		/** The call whose failure it let through: it is called again when the run goes on. */
		by: callKeySchema.optional(),
		recalled,
	}),
);

export const scriptRecords = [scriptStarted, scriptResumed, scriptCompleted, scriptFailed] as const;
