/** A projection of script runs: which there are in a session, what each one runs, and how it ended. */
import { defineProjection, entryAt } from "@reyn/snapshot";
import { z } from "zod";
import { stepCompleted } from "../records.ts";
import { isSameVersion, scriptCompleted, scriptFailed, scriptResumed, scriptStarted } from "./records.ts";

const scriptRun = z.object({
	name: z.string(),
	/** SHA-256 of the present text, of that as it was parsed, and of the present arguments. */
	script: z.string(),
	program: z.string().optional(),
	args: z.string(),
	/** The id of the model that has answered in the present revision, or is to be asked first; absent: unknown. */
	model: z.string().optional(),
	/** Has it answered? Then it is the one whose answers are found again. */
	answered: z.literal(true).optional(),
	/** How calls of earlier revisions are reused; absent: by default. */
	reuse: z.enum(["prefix", "content"]).optional(),
	/** The number of the present revision, from 1: it grows with each change of the text or the arguments. */
	revision: z.int(),
	/** The seq of `script_started`. */
	started: z.int(),
	/** When the run started, in milliseconds since 1970. */
	at: z.number(),
	/** `open`: under way, or cut off, or waiting for an answer. */
	status: z.enum(["open", "completed", "failed"]),
	result: z.string().optional(),
	reason: z.object({ message: z.string(), code: z.string().optional(), detail: z.unknown().optional() }).optional(),
});

const runs = z.record(z.string(), scriptRun);

export type ScriptRun = z.infer<typeof scriptRun>;
/** By run id. */
export type ScriptRuns = z.infer<typeof runs>;

/** Every script run of a session and how far it has come. */
export const scriptRuns = defineProjection<ScriptRuns>({
	name: "scripts",
	version: 2,
	schema: runs,
	init: () => ({}),
	handle: (on) => [
		on(scriptStarted, (state, { run, name, ...version }, { seq, ts }) => ({
			...state,
			[run]: { name, ...version, revision: 1, started: seq, at: ts, status: "open" },
		})),
		on(scriptResumed, (state, { run, reuse, ...version }) =>
			withRun(state, run, ({ result, reason, program, ...before }) => {
				const isSame = isSameVersion({ ...before, program }, version);
				const { answered, ...rest } = before;
				return {
					...rest,
					...version,
					...(isSame && answered && { model: before.model, answered }),
					reuse,
					revision: isSame ? before.revision : before.revision + 1,
					status: "open",
				};
			}),
		),
		on(stepCompleted, (state, { kind, name }, { scope: { run = "" } }) => {
			const before = kind === "agent" ? entryAt(state, run) : undefined;
			if (!before || (before.answered && before.model === name)) return state;
			return { ...state, [run]: { ...before, model: name, answered: true as const } };
		}),
		on(scriptCompleted, (state, { run, result }) =>
			withRun(state, run, (before) => ({
				...before,
				status: "completed",
				...(result === undefined ? {} : { result }),
			})),
		),
		on(scriptFailed, (state, { run, reason }) =>
			withRun(state, run, (before) => ({ ...before, status: "failed", reason })),
		),
	],
	// States of older versions are valid here: this version only added an optional field.
	migrate: (state) => state,
	floor: (state) => {
		const open = openRuns(state).map(([, { started }]) => started);
		return open.length > 0 ? Math.min(...open) : undefined;
	},
});

/** The runs that are not over: under way, cut off, or waiting for an answer. */
export const openRuns = (runs: ScriptRuns): readonly (readonly [id: string, run: ScriptRun])[] =>
	Object.entries(runs).filter(([, { status }]) => status === "open");

function withRun(state: ScriptRuns, run: string, change: (before: ScriptRun) => ScriptRun): ScriptRuns {
	const before = entryAt(state, run);
	return before ? { ...state, [run]: change(before) } : state;
}
