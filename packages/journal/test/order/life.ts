/** One life of a program, in whichever form: what it did, what it was told, and the log that it left. */
import type { Made } from "./far-side.ts";
import type { Program } from "./program.ts";

export interface Life {
	/** From 1. */
	readonly number: number;
	readonly status: "completed" | "failed" | "waiting" | "stuck" | "refused";
	/** Of `refused` and `failed`: the code, or the message. */
	readonly why: string;
	readonly result: string | undefined;
	/** How long the log was when it said that the program had failed. */
	readonly failed?: number | undefined;
	readonly notes: readonly Note[];
	/** All that was made so far, by the lives before too. */
	readonly made: readonly Made[];
	/** How long the log was when it began, and at the end. */
	readonly from: number;
	readonly tip: number;
	/** When it ended, in milliseconds. */
	readonly now: number;
	/** The answers whose outcome is among the first so many records. @param inside those of steps inside a call too; default: true */
	tokens(through: number, inside?: boolean): Promise<ReadonlySet<string>>;
	/** Where else than a run that is over the program goes; undefined where the form has no such question. */
	verify?(program: Program): Promise<readonly unknown[]>;
}

/** What a program said that it asked, and that it was told. */
export interface Note {
	readonly line: string;
	readonly tip: number;
}

export interface Setting {
	/** Of this life. */
	readonly delays: readonly number[];
	/** Of a step in doubt. */
	readonly policy: "retry" | "skip";
	/** Is there nobody to be asked? */
	readonly absent?: boolean;
	readonly reuse?: "prefix" | "content";
	/** What the text of a script has got that changes nothing of what it does, such as a comment. Default: nothing. */
	readonly addition?: string;
	/** Of the life, from 1. */
	readonly number: number;
}

/** A way to run programs. */
export interface Form<State> {
	readonly name: string;
	/** Before the first life. */
	fresh(): State;
	/** After a life that was cut behind so many records. */
	cut(state: State, after: number): Promise<State>;
	/** One life: it changes the state. */
	live(state: State, program: Program, setting: Setting, made: readonly Made[], now: number): Promise<Life>;
	/** When a told failure may be forgotten: by a run that ended as failed, or by any life. */
	readonly forgets: "after a failure" | "always";
}
