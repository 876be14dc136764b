/** Begins work wherever that can be done: in the process that has the log, else here. */
import { setTimeout as pause } from "node:timers/promises";
import { isReynError, ReynError } from "@reyn/wal";
import { givenFor, type WorkVerb } from "../verb.ts";
import { lost, PAUSE_MS, type Places, TRIES } from "./act.ts";
import { callHolder } from "./call.ts";

type Raw = Readonly<Record<string, unknown>>;

/** Work that was begun. */
export interface Begun {
	/** What the verb gives. */
	readonly begun: object;
	/** The process that works on it. */
	readonly pid: number;
}

/** Work that was begun in this process or another one. */
export interface BegunAnywhere extends Begun {
	/** Where it was begun here: resolves when all is idle and the log is let go; rejects where that fails. Elsewhere: undefined. */
	readonly over?: Promise<void>;
}

/**
 * Begins work in the process that has the log.
 *
 * @returns what was begun, and where; undefined: nobody listens
 * @throws what `begin` throws there; OperatorError `OPERATOR_HOLDER`, `OPERATOR_LOST`
 */
export async function beginThere(
	verb: WorkVerb,
	raw: Raw,
	actor: string,
	{ directory, reading }: Pick<Places, "directory" | "reading">,
): Promise<Begun | undefined> {
	const called = await callHolder(directory, await reading(async ({ wal }) => wal.id), {
		verb: verb.name,
		actor,
		of: raw,
	});
	switch (called.kind) {
		case "done":
			return { begun: verb.begun.parse(called.done), pid: called.pid };
		case "refused":
			throw new ReynError(called.error.code, called.error.message, called.error.detail);
		case "nobody":
			return undefined;
		case "lost":
			throw lost(verb);
	}
}

/**
 * Begins work in the process that has the log; where nobody has it, here, until all is idle. What else is unfinished goes on too then,
 * but for a verb that is done alone, and where the places say that it stays.
 *
 * @throws what `begin` throws; OperatorError `OPERATOR_ARGS`, `OPERATOR_HOLDER`, `OPERATOR_LOST`; WalError `WAL_LOCKED` where its holder hears nobody
 */
export async function beginAnywhere(verb: WorkVerb, raw: Raw, actor: string, places: Places): Promise<BegunAnywhere> {
	const given = givenFor(verb, raw);
	for (let left = TRIES; ; left--) {
		try {
			// Whoever has the log is asked first: to open it takes longer.
			return (await beginThere(verb, raw, actor, places)) ?? (await beginHere(verb, given, places));
		} catch (error) {
			// It was closed just before, or opened.
			if (!isReynError(error, "WAL_LOCKED", "RUNTIME_CLOSED") || left === 0) throw error;
		}
		await pause(PAUSE_MS);
	}
}

async function beginHere(verb: WorkVerb, given: Raw, { working, restore = true }: Places): Promise<BegunAnywhere> {
	const { promise, resolve, reject } = Promise.withResolvers<object>();
	const over = working(async (runtime) => {
		if (restore && !verb.isAlone) runtime.resume();
		// Parsed, since what is begun may have more that is nothing to tell.
		resolve(verb.begun.parse(await verb.begin(runtime, given as never)) as object);
		await runtime.idle();
	});
	// Before it has begun, that is the answer; afterwards it is told by `over`.
	over.catch(reject);
	return { begun: await promise, pid: process.pid, over };
}
