/** What a verb is: one thing that a person does, said once for every face. */
import type { Runtime } from "@reyn/runtime";
import type { WalRecord } from "@reyn/wal";
import type { z } from "zod";
import { OperatorError } from "./errors.ts";
import type { Side } from "./lines/sides.ts";
import type { Given, Params } from "./param.ts";
import type { Say } from "./say.ts";

interface Named<P extends Params> {
	/** One word, or two: `plan discard`. */
	readonly name: string;
	/** What it does, in a line. */
	readonly summary: string;
	readonly params: P;
	/** Words that one could type behind its name. */
	readonly example: string;
}

interface Looks<P extends Params, R> extends Named<P> {
	/** What it gives, as JSON. */
	readonly result: z.ZodType<R>;
	/** The code of the error that what was found amounts to, where it does: `WAL_CORRUPT`. */
	fault?(result: R): string | undefined;
	/** The result for people. */
	lines(result: R, say: Say, given: Given<P>): readonly string[];
}

/** Looks, and writes nothing: any process may do it. */
export interface ReadVerb<P extends Params = Params, R = unknown> extends Looks<P, R> {
	readonly access: "read";
	readonly at?: Moment;
	/** It answers where there is no history yet, too. */
	readonly isWithoutHistory?: true;
	/** @param holder who has the log; absent: that is not said */
	read(runtime: Runtime, given: Given<P>, holder?: HolderOf): Promise<R>;
}

/**
 * The process that has the log and hears others.
 *
 * @param log the id of the log
 * @returns undefined: none answers
 */
export type HolderOf = (log: string) => Promise<number | undefined>;

/** Looks at the files of a log, and writes nothing: the log may be damaged, and another process may have it. */
export interface FilesVerb<P extends Params = Params, R = unknown> extends Looks<P, R> {
	readonly access: "files";
	/** @param log the directory of the log */
	examine(log: string, given: Given<P>): Promise<R>;
}

/** Tells one thing after the other from the files of a log, and writes nothing: as many as there are, or until it is stopped. */
export interface StreamVerb<P extends Params = Params, R = unknown> extends Named<P> {
	readonly access: "stream";
	/** One of them, as JSON. */
	readonly each: z.ZodType<R>;
	/** @param log the directory of the log */
	tell(log: string, given: Given<P>, signal: AbortSignal): AsyncIterable<R>;
	/** One of them, for people. */
	lines(each: R, say: Say, given: Given<P>): readonly string[];
}

/** Changes the files of a log that no process has open, where a person accepts to the letter what that costs. */
export interface ClosedVerb<P extends Params = Params, S extends object = object, D extends object = object>
	extends Named<P> {
	readonly access: "closed";
	/** What would happen. */
	readonly seen: z.ZodType<S>;
	/** What was done. */
	readonly done: z.ZodType<D>;
	/** Writes nothing. */
	look(log: string): Promise<S>;
	/** The preview for people. */
	shown(seen: S, say: Say): readonly string[];
	/** Is it to be done? @throws where what was accepted is not what it costs; nothing is written then */
	isAccepted(seen: S, given: Given<P>): boolean;
	/** Does what was seen. @throws where it would cost something else by now; nothing is written then */
	act(log: string, seen: S): Promise<D>;
	lines(done: D, say: Say, seen: S): readonly string[];
}

/**
 * What is looked at: a process that went on now would find it so, which may be more than is known to be durable. Who looks so runs
 * scripts, as that process would: the state has to be trusted. Absent: what is durable.
 */
export type Moment = "as recovered";

/**
 * Changes something. What would happen is looked up first, shown and confirmed; then exactly that is done, or nothing. What was
 * seen is JSON: the process that has the log may be another one than that in which it was confirmed.
 */
export interface WriteVerb<P extends Params = Params, S extends object = object, D extends object = object>
	extends Named<P> {
	readonly access: "write";
	/** What would happen, bound to the tip of the log that it was seen at. */
	readonly seen: z.ZodType<S>;
	/** What was done. */
	readonly done: z.ZodType<D>;
	/** @param isPreview is that all? Else it may refuse what cannot be done */
	look(runtime: Runtime, given: Given<P>, isPreview: boolean): Promise<S>;
	/** The preview for people. */
	shown(seen: S, say: Say): readonly string[];
	/** What there is now and would be then, to be drawn above it. Absent: that is all in the preview. */
	sides?(seen: S): readonly Side[];
	/** Would nothing be written? Then nobody is asked, and these lines say why. */
	nothing?(seen: S, say: Say): readonly string[] | undefined;
	/** What is said of it as JSON where there is nothing to do. */
	undone?(seen: S): Partial<D>;
	/** Does no record name who did it? Then nobody has to say who they are. Default: one does. */
	readonly isUnsigned?: true;
	/** What a person is asked; without it nobody is asked. */
	question?(seen: S): string;
	/** Does what was seen. @throws where that is stale; nothing is written then */
	act(runtime: Runtime, seen: S, actor: string): Promise<D>;
	/** The code of the error that what was done amounts to, where that is less than was shown. Absent: it never is. */
	fault?(done: D, seen: S): string | undefined;
	/** The record that says that it was done: how one finds out whether it was when no answer came. */
	isDoneBy(record: WalRecord, seen: S, actor: string): boolean;
	lines(done: D, say: Say, seen: S): readonly string[];
}

/** Begins something that goes on by itself, and is told by events. */
export interface WorkVerb<P extends Params = Params, B extends object = object> extends Named<P> {
	readonly access: "work";
	readonly begun: z.ZodType<B>;
	/** Does all else that is unfinished stay as it is, in a process that does this alone? Default: it goes on too. */
	readonly isAlone?: true;
	/** Is it over once it has begun? Nothing comes of it that could be told. */
	readonly isAtOnce?: true;
	/** What `check` looks at. */
	readonly at?: Moment;
	/** Says what would begin, and begins nothing; the `tip` that it was seen at binds what is begun, as the param of that name. Absent: that is known by its name. */
	readonly preview?: ReadVerb;
	/** Refuses what cannot be begun, before anything is opened for work. Absent: that needs no look at a state, and there may be none. */
	check?(runtime: Runtime, given: Given<P>, say: Say): Promise<void>;
	/** What it gives beyond `begun`, such as the promise of an end, stays in this process. */
	begin(runtime: Runtime, given: Given<P>): Promise<B>;
	lines(begun: B, say: Say): readonly string[];
}

export type Verb = ReadVerb | FilesVerb | StreamVerb | WriteVerb | WorkVerb | ClosedVerb;

/** These keep the types of what is given and found inside a verb; who lists verbs needs none of them. */
export const readVerb = <P extends Params, R>(verb: Omit<ReadVerb<P, R>, "access">): ReadVerb =>
	({ ...verb, access: "read" }) as unknown as ReadVerb;

export const filesVerb = <P extends Params, R>(verb: Omit<FilesVerb<P, R>, "access">): FilesVerb =>
	({ ...verb, access: "files" }) as unknown as FilesVerb;

export const streamVerb = <P extends Params, R>(verb: Omit<StreamVerb<P, R>, "access">): StreamVerb =>
	({ ...verb, access: "stream" }) as unknown as StreamVerb;

export const closedVerb = <P extends Params, S extends object, D extends object>(
	verb: Omit<ClosedVerb<P, S, D>, "access">,
): ClosedVerb => ({ ...verb, access: "closed" }) as unknown as ClosedVerb;

export const writeVerb = <P extends Params, S extends object, D extends object>(
	verb: Omit<WriteVerb<P, S, D>, "access">,
): WriteVerb => ({ ...verb, access: "write" }) as unknown as WriteVerb;

export const workVerb = <P extends Params, B extends object>(verb: Omit<WorkVerb<P, B>, "access">): WorkVerb =>
	({ ...verb, access: "work" }) as unknown as WorkVerb;

/**
 * Parses what was given for a verb.
 *
 * @throws OperatorError `OPERATOR_ARGS`, naming each that is wrong
 */
export function givenFor({ name, params }: Verb, raw: Readonly<Record<string, unknown>>): Given<Params> {
	const wrong: string[] = [];
	const given = Object.fromEntries(
		Object.entries(params).map(([key, param]) => {
			const read = param.schema.safeParse(raw[key]);
			if (!read.success) wrong.push(`${key}: ${read.error.issues.map(({ message }) => message).join(", ")}`);
			return [key, read.data];
		}),
	);
	for (const key of Object.keys(raw))
		if (raw[key] !== undefined && !Object.hasOwn(params, key)) wrong.push(`${key}: it takes no such thing`);
	if (wrong.length === 0) return given;
	throw new OperatorError("OPERATOR_ARGS", `${name}: ${wrong.join("; ")}`, { verb: name, wrong });
}
