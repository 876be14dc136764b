/** Carries a verb out: look, show, ask, and then do exactly what was shown. Written once, for every face. */
import type { Runtime } from "@reyn/runtime";
import { sidesLines } from "./lines/sides.ts";
import type { Say } from "./say.ts";
import {
	type ClosedVerb,
	type FilesVerb,
	givenFor,
	type HolderOf,
	type Moment,
	type ReadVerb,
	type WriteVerb,
} from "./verb.ts";

/** What a face gives for it. */
export interface Desk {
	/**
	 * Looks at the state without holding its log.
	 *
	 * @param at default: what is durable
	 * @param orNone where there is no history, is it looked at as an empty one? Default: that is refused
	 */
	reading<T>(use: (runtime: Runtime) => Promise<T>, at?: Moment, orNone?: boolean): Promise<T>;
	/** Looks at the files of the log. @param use gets their directory */
	examining<T>(use: (log: string) => Promise<T>): Promise<T>;
	/** Does what was seen, in the process that has the log, and gives what was done: `act` does so. */
	acting(verb: WriteVerb, seen: object): Promise<object>;
	/** Shows what would happen, and asks. @param seen the same, as JSON @returns false: nothing is to be changed */
	confirm(question: string, shown: readonly string[], seen: object): Promise<boolean>;
	/** Absent: who has the log is not said. */
	readonly holder?: HolderOf;
	readonly say: Say;
	/** The cells of a row. Default: 80. */
	readonly columns?: number;
}

export interface Told {
	/** The same for machines; it fits the schema of the verb's document. */
	readonly document: unknown;
	/** For people. */
	readonly lines: readonly string[];
	readonly outcome: "read" | "previewed" | "nothing" | "declined" | "done";
	/** The code of the error that what was found, or done, amounts to; absent: it is as it should be. */
	readonly fault?: string;
}

export async function carryOut(
	verb: ReadVerb | FilesVerb | WriteVerb,
	raw: Readonly<Record<string, unknown>>,
	desk: Desk,
	{ dryRun = false }: { readonly dryRun?: boolean } = {},
): Promise<Told> {
	const given = givenFor(verb, raw);
	const { say } = desk;
	if (verb.access !== "write") {
		const result = await (verb.access === "files"
			? desk.examining((log) => verb.examine(log, given))
			: desk.reading((runtime) => verb.read(runtime, given, desk.holder), verb.at, verb.isWithoutHistory));
		const fault = verb.fault?.(result);
		const lines = verb.lines(result, say, given);
		return { document: result, lines, outcome: "read", ...(fault !== undefined && { fault }) };
	}
	const seen = await desk.reading((runtime) => verb.look(runtime, given, dryRun));
	const preview = { ...seen, applied: false };
	const nothing = verb.nothing?.(seen, say);
	const shown = () => [...sidesLines(verb.sides?.(seen) ?? [], desk.columns ?? 80), ...verb.shown(seen, say)];
	if (dryRun) return { document: preview, lines: nothing ?? shown(), outcome: "previewed" };
	if (nothing) return { document: { ...preview, ...verb.undone?.(seen) }, lines: nothing, outcome: "nothing" };
	if (verb.question && !(await desk.confirm(verb.question(seen), shown(), seen)))
		return { document: preview, lines: ["nothing was changed"], outcome: "declined" };
	const done = await desk.acting(verb, seen);
	const fault = isRecorded(done) ? undefined : verb.fault?.(done, seen);
	const lines = doneLines(verb, done, seen, say);
	return {
		document: { ...seen, applied: true, ...done },
		lines,
		outcome: "done",
		...(fault !== undefined && { fault }),
	};
}

/** What a face gives that changes the files of a log. */
export interface ClosedDesk extends Pick<Desk, "examining" | "say"> {
	/** Changes them, where no process has the log. @param use gets their directory */
	changing<T>(use: (log: string) => Promise<T>): Promise<T>;
}

/** Looks, and does exactly that where it is accepted. @throws as `isAccepted` and `act` do */
export async function carryOutClosed(
	verb: ClosedVerb,
	raw: Readonly<Record<string, unknown>>,
	{ examining, changing, say }: ClosedDesk,
): Promise<Told> {
	const given = givenFor(verb, raw);
	const seen = await examining((log) => verb.look(log));
	if (!verb.isAccepted(seen, given))
		return { document: { ...seen, applied: false }, lines: verb.shown(seen, say), outcome: "previewed" };
	const done = await changing((log) => verb.act(log, seen));
	return { document: { ...seen, applied: true, ...done }, lines: verb.lines(done, say, seen), outcome: "done" };
}

/** What was done, for people. @param done as `act` gives it */
export const doneLines = (verb: WriteVerb, done: object, seen: object, say: Say): readonly string[] =>
	isRecorded(done)
		? [`done, as #${done.recorded} says; the answer of the process that did it was lost`]
		: verb.lines(done, say, seen);

/** Is all that is known of it that a record says so? */
const isRecorded = (done: object): done is { readonly recorded: number } => "recorded" in done;
