/** The records that a script run adds to the log, besides its steps. */
import { defineRecord } from "@reyn/wal";
import { z } from "zod";
import { callKeySchema } from "../records.ts";

/** All steps of a run are in lanes below this one. */
export const scriptLane = (run: string): string => `script/${run}`;

const run = z.string();
/** The id of the model that an attempt is made with. Absent in older logs: unknown. */
const model = z.string().optional();
/** SHA-256 of the script's text, of the text as it was parsed, and of its canonical arguments. */
const version = { script: z.string(), program: z.string().optional(), args: z.string() };

export interface Version {
	readonly script: string;
	readonly program?: string | undefined;
	readonly args: string;
}

/** Would both do the same? A text with another comment is no other script. */
export const isSameVersion = (a: Version, b: Version): boolean =>
	a.args === b.args && (a.script === b.script || (a.program !== undefined && a.program === b.program));

export const scriptStarted = defineRecord("script_started", z.object({ run, name: z.string(), ...version, model }));

/**
 * A resume of a run. With another script or other arguments (see {@link isSameVersion}) a new revision begins: calls of earlier
 * revisions are then found by their chains, or as `reuse` says.
 */
export const scriptResumed = defineRecord(
	"script_resumed",
	z.object({ run, ...version, reuse: z.enum(["prefix", "content"]), model }),
);

/** The tokens of the answers that this attempt recalled, since a recall leaves no record of its own. Absent: not known. */
const recalled = z.int().nonnegative().optional();

/** The end of a run with a result, which lies beside the log under its hash; absent if the script returned nothing. */
export const scriptCompleted = defineRecord(
	"script_completed",
	z.object({ run, result: z.string().optional(), recalled }),
);

export const scriptFailed = defineRecord(
	"script_failed",
	z.object({
		run,
		reason: z.object({ message: z.string(), code: z.string().optional(), detail: z.unknown().optional() }),
		/** The calls whose failures the script let through: they are called again when the run goes on. */
		by: z.array(callKeySchema).optional(),
		recalled,
	}),
);

export const scriptRecords = [scriptStarted, scriptResumed, scriptCompleted, scriptFailed] as const;
