/** Which files the steps of a log have changed, and what each held before: on whatever line of history, since files have none. */
import { type FileChange, fileChangeSchema, laneClosed, stepCompleted, stepFailed, stepStarted } from "@reyn/journal";
import { fileChangeOf, imageNameOf } from "@reyn/journal/internal";
import { defineProjection, entryAt, List } from "@reyn/snapshot";
import type { Seq } from "@reyn/wal";
import { z } from "zod";

const seq = z.int().positive();

const fileWrite = fileChangeSchema.extend({
	/** Of the start, by which it counts. */
	seq,
	scope: z.object({
		agent: z.string().exactOptional(),
		session: z.string().exactOptional(),
		run: z.string().exactOptional(),
	}),
	lane: z.string(),
	/** `open`: it was started, and nobody knows whether it was done. `failed`: it was not done, as far as its step knows. */
	outcome: z.enum(["open", "done", "failed"]),
	/** Another try of one in doubt: what it was prepared with is from before the first. */
	again: z.literal(true).exactOptional(),
	/** Of its outcome. Absent: it has none, or is of an older version. */
	ended: seq.exactOptional(),
	/** It has looked at its file after this one: the answer of a model that asked for it. Absent: unknown. */
	asked: seq.exactOptional(),
});

/** A change of a file that was started. */
export type FileWrite = z.infer<typeof fileWrite>;

const uncovered = z.object({ seq, name: z.string() });

/**
 * All writes in the order of their starts, which is that of the disk: what a path held as of a seq is what it held before the first
 * write that was started later, done or not. `uncovered`: calls of tools that may have changed any file, and do not say which.
 */
export const fileWrites = defineProjection({
	name: "file_writes",
	version: 1,
	/** `open`: the index of each write that is open, by the seq of its first start. `asked`: the newest answer of a model in each open lane. */
	schema: z.object({
		open: z.record(z.string(), z.int().nonnegative()),
		asked: z.record(z.string(), seq).exactOptional(),
	}),
	lists: { writes: fileWrite, uncovered },
	init: () => ({ open: {}, writes: List.of<FileWrite>(), uncovered: List.of<z.infer<typeof uncovered>>() }),
	follows: "log",
	mayBeginLate: true,
	handle: (on) => [
		on(stepStarted, (state, { started, adopts, kind, name, lane }, record) => {
			if (adopts !== undefined) return state;
			const { seq, scope } = record;
			const change = fileChangeOf(record);
			if (change) {
				const asked = entryAt(state.asked ?? {}, lane);
				const write = { ...change, seq, scope, lane, outcome: "open" as const };
				return begun(state, started ?? seq, asked === undefined ? write : { ...write, asked });
			}
			if (kind !== "tool" || started !== undefined) return state;
			return { ...state, uncovered: state.uncovered.append({ seq, name }) };
		}),
		on(stepCompleted, (state, { started, kind, lane }, { seq }) =>
			kind === "model" ? { ...state, asked: { ...state.asked, [lane]: seq } } : ended(state, started, "done", seq),
		),
		on(stepFailed, (state, { started, reason }, { seq }) =>
			// One that took too long may go on.
			reason.code === "STEP_TIMEOUT" ? state : ended(state, started, "failed", seq),
		),
		on(laneClosed, ({ asked = {}, ...state }, { lane: closed }) => {
			const open = Object.entries(asked).filter(([lane]) => lane !== closed && !lane.startsWith(`${closed}/`));
			return open.length > 0 ? { ...state, asked: Object.fromEntries(open) } : state;
		}),
	],
});

interface Writes {
	readonly open: Readonly<Record<string, number>>;
	readonly writes: List<FileWrite>;
}

/**
 * Where one that is in doubt is tried again, it was not done: its far side, the file, was asked;
 * or that did not know, since it holds something else, and the new try is refused. One that has failed is prepared anew.
 */
function begun<S extends Writes>(before: S, first: Seq, write: FileWrite): S {
	const state = ended(before, first, "failed", write.seq);
	const one = before.open[first] === undefined ? write : { ...write, again: true as const };
	return { ...state, open: { ...state.open, [first]: state.writes.length }, writes: state.writes.append(one) };
}

function ended<S extends Writes>(state: S, started: Seq | undefined, outcome: "done" | "failed", seq: Seq): S {
	const at = started === undefined ? undefined : state.open[started];
	const write = at === undefined ? undefined : state.writes.at(at);
	if (at === undefined || !write) return state;
	const { [`${started}`]: _, ...open } = state.open;
	return { ...state, open, writes: state.writes.with(at, { ...write, outcome, ended: seq }) };
}

/**
 * The writes that say what their file held when they were started, oldest first. Those of a restore do: all else is quiet then. Between
 * the look of a tool's write (`prepare`) and its start another one may have changed the file, so not all do: one that failed says so
 * where it found what was left there, one that was done unless the other one had done just that, and was over when this one began, and
 * not when this one was asked for, and what this one found had been there before. One that is open says so until it turns out that what
 * was left before it is there still; where it is another try only if that was left, since what it was prepared with is from before the
 * first.
 */
export function observations(writes: Iterable<FileWrite>): readonly FileWrite[] {
	const found = [...Map.groupBy(writes, ({ path }) => path).values()].flatMap((all) => observationsOf(all));
	return found.sort((a, b) => a.seq - b.seq);
}

/**
 * The same of one path.
 *
 * @param writes from its first one on, or from one on that was made
 * @param earlier those before them, asked for only where what came later does not tell
 */
export function observationsOf(
	writes: readonly FileWrite[],
	earlier: () => readonly FileWrite[] = () => [],
): readonly FileWrite[] {
	const found = new Set<FileWrite>();
	let left: readonly Version[] | undefined;
	/** Those since one was done that found what was not left there, and what was. */
	let odd: readonly { readonly write: FileWrite; readonly may: readonly Version[] }[] = [];
	for (const [at, write] of writes.entries()) {
		const { before, after, outcome, again, asked = 0 } = write;
		const may = left;
		const isLeft = may?.includes(before) ?? true;
		const isFound = isLeft || odd.some((one) => one.write.before === before);
		const isTold = (): boolean => {
			const last = writes.slice(0, at).findLast(isMade);
			// That was made only later: it had been in doubt, or under way, all the while.
			if (last && last.before === before && (last.ended ?? 0) > write.seq) return true;
			const past = [...earlier(), ...writes.slice(0, at)];
			return !past.some((one) => one.before === before || one.after === before) || asked > overAfter(past);
		};
		const isSaid = {
			done: () => isFound || !may?.includes(after) || isRestore(write) || isTold(),
			open: () => isFound || !(again || may?.includes(after)),
			failed: () => isFound && !again,
		}[outcome]();
		if (isSaid) found.add(write);
		if (isMade(write)) {
			for (const one of odd) if (one.may.includes(before)) found.delete(one.write);
			odd = [];
		} else if (isSaid && may && !isLeft) odd = [...odd, { write, may }];
		left = leftBy(write, may);
	}
	return [...found];
}

/** When all of these writes were over. */
const overAfter = (writes: readonly FileWrite[]): Seq =>
	writes.reduce((latest, { ended = Number.POSITIVE_INFINITY }) => Math.max(latest, ended), 0);

/** The names of the images that say what each file held as of these moments. */
export function imagesAt(writes: Iterable<FileWrite>, moments: readonly Seq[]): readonly string[] {
	const names = new Set<string>();
	/** The first write of each path after the moment that is looked at. */
	const first = new Map<string, FileWrite>();
	const left = moments.toSorted((a, b) => a - b);
	const take = (): void => {
		for (const write of first.values()) for (const name of imageNameOf(write)) names.add(name);
		left.pop();
	};
	for (const write of observations(writes).toReversed()) {
		while (left.length > 0 && (left.at(-1) ?? 0) >= write.seq) take();
		first.set(write.path, write);
	}
	while (left.length > 0) take();
	return [...names];
}

type Version = FileChange["before"];

/** The lane of the restore that a move makes. */
export const restoreLane = (move: Seq | ""): string => `files/${move}`;

const isRestore = ({ lane }: FileWrite): boolean => lane.startsWith(restoreLane(""));

/** When somebody else has changed a file too. */
export interface Others {
	/** Between two writes. */
	readonly between: boolean;
	/** Since the last one. */
	readonly since: boolean | "unknown";
}

/**
 * Has somebody else changed a file? Where that cannot be told, nobody has. Only a write that was made tells it: any other may have been
 * prepared beside one that was started before it, so it need not have found what was there when it was started. What somebody else had
 * put there, and a restore has brought back, is theirs again.
 *
 * @param writes of one path, oldest first
 * @param present the version of the file; undefined: unknown
 * @param left what the file may have held after those before these (`leftIn`)
 */
export function othersIn(
	writes: readonly FileWrite[],
	present: Version | undefined,
	left: readonly Version[] = [],
): Others {
	let between = false;
	let isToldYet = false;
	let may: readonly Version[] | undefined;
	/** What others have put there, and nobody else. */
	const theirs = new Set<Version>();
	const ours = new Set([...left, ...writes.slice(0, 1).map(({ before }) => before)]);
	/** What the last one has left, if it is theirs. */
	let broughtBack: Version | undefined;
	const lasts = new Map(writes.map(({ after }, at) => [after, at]));
	for (const [at, write] of writes.entries()) {
		if (leavesContent(write)) continue;
		const { before, after } = write;
		const isOdd = may !== undefined && !may.includes(before) && !may.includes(after);
		// Where another one, perhaps one that was started later, has made the same of it, what this one found may be from before that.
		// Nothing else is under way while files are restored.
		const isAlone = isRestore(write);
		const isAlike = () =>
			!isAlone && (left.includes(after) || writes.some((other) => other !== write && other.after === after));
		if (isMade(write) && !(isOdd && isAlike())) {
			between ||= isOdd;
			isToldYet = true;
			if (isOdd && !ours.has(before)) theirs.add(before);
			if (!isAlone) {
				ours.add(after);
				theirs.delete(after);
			}
			broughtBack = isAlone && theirs.has(after) ? after : undefined;
			// One that was started later may have made the same before: then this one has found that, and others came between.
			may = isAlone || lasts.get(after) === at ? [after] : [before, after];
			continue;
		}
		// Before the first that tells, the file may hold what was left, or what somebody else had put there before them all.
		may = [...new Set([...(may ?? left), ...(isToldYet ? [] : [before]), after])];
	}
	// Where none of these has left anything, it is what was left before them.
	if (writes.length > 0 && left.length > 0) may ??= left;
	if (present === undefined) return { between, since: "unknown" };
	return { between, since: present === broughtBack || (may !== undefined && !may.includes(present)) };
}

/**
 * Has somebody else set the permissions that a file has? Tools leave them alone; a restore may have set them, where they are others
 * behind it than before.
 *
 * @param writes of one path, oldest first
 */
export function isModeOfOthers(writes: readonly FileWrite[], now: number): boolean {
	let isTheirs = false;
	let seen: { readonly mode: number; readonly isPut: boolean } | undefined;
	const see = (mode: number): void => {
		if (seen && mode !== seen.mode) isTheirs = !seen.isPut;
		seen = { mode, isPut: false };
	};
	for (const write of writes) {
		const { before, after, image, outcome } = write;
		if (image) see(image.mode);
		if (outcome === "failed") continue;
		if (before === null || after === null) {
			seen = undefined;
			isTheirs = false;
		} else if (isRestore(write) && seen) seen = { ...seen, isPut: true };
	}
	see(now);
	return isTheirs;
}

/** What a file may hold after the writes of its path if nobody else has changed it, oldest first; nothing is known where there are none. */
export function leftIn(writes: readonly FileWrite[]): readonly Version[] {
	let may: readonly Version[] | undefined;
	for (const write of writes) may = leftBy(write, may);
	return may ?? [];
}

/**
 * What a file may hold after a write if nobody else has changed it. One that failed may have been done all the same, where only its
 * flush failed.
 *
 * @param may what it may have held before
 */
function leftBy(write: FileWrite, may: readonly Version[] = [write.before]): readonly Version[] {
	if (leavesContent(write)) return may;
	return isMade(write) ? [write.after] : [...new Set([...may, write.after])];
}

/** A restore of permissions alone: what the file holds is of whoever has put it there. */
const leavesContent = (write: FileWrite): boolean => isRestore(write) && write.before === write.after;

/** Is it known to have changed the file? One that leaves it as it is may have looked before another one was made. */
export const isMade = ({ outcome, before, after }: FileWrite): boolean => outcome === "done" && before !== after;

/** The writes of one path that were done, or may have been: of one that is open, what the file held next tells it. */
export function doneIn(
	writes: readonly FileWrite[],
	present: Version | undefined,
): readonly (FileWrite & { readonly inDoubt?: true })[] {
	const begun = writes.filter(({ outcome }) => outcome !== "failed");
	return begun.flatMap((write, at) => {
		const { outcome, before, after } = write;
		if (outcome === "done") return [write];
		const next = at < begun.length - 1 ? begun[at + 1]?.before : present;
		if (next === after) return before === after ? [] : [write];
		return next === before ? [] : [{ ...write, inDoubt: true as const }];
	});
}
