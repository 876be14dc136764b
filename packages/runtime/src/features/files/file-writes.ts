/** Which files the steps of a log have changed, and what each held before: on whatever line of history, since files have none. */
import { type FileChange, fileChangeSchema, stepCompleted, stepFailed, stepStarted } from "@reyn/journal";
import { fileChangeOf, imageNameOf } from "@reyn/journal/internal";
import { defineProjection, List } from "@reyn/snapshot";
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
	/** `open`: the index of each write that is open, by the seq of its first start. */
	schema: z.object({ open: z.record(z.string(), z.int().nonnegative()) }),
	lists: { writes: fileWrite, uncovered },
	init: () => ({ open: {}, writes: List.of<FileWrite>(), uncovered: List.of<z.infer<typeof uncovered>>() }),
	follows: "log",
	mayBeginLate: true,
	handle: (on) => [
		on(stepStarted, (state, { started, adopts, kind, name, lane }, record) => {
			if (adopts !== undefined) return state;
			const { seq, scope } = record;
			const change = fileChangeOf(record);
			if (change) return begun(state, started ?? seq, { ...change, seq, scope, lane, outcome: "open" });
			if (kind !== "tool" || started !== undefined) return state;
			return { ...state, uncovered: state.uncovered.append({ seq, name }) };
		}),
		on(stepCompleted, (state, { started }) => ended(state, started, "done")),
		on(stepFailed, (state, { started, reason }) =>
			// One that took too long may go on.
			reason.code === "STEP_TIMEOUT" ? state : ended(state, started, "failed"),
		),
	],
});

interface Writes {
	readonly open: Readonly<Record<string, number>>;
	readonly writes: List<FileWrite>;
}

/** Where one that is in doubt is tried again, it was not done: its far side, the file, was asked. One that has failed is prepared anew. */
function begun<S extends Writes>(before: S, first: Seq, write: FileWrite): S {
	const state = ended(before, first, "failed");
	const one = before.open[first] === undefined ? write : { ...write, again: true as const };
	return { ...state, open: { ...state.open, [first]: state.writes.length }, writes: state.writes.append(one) };
}

function ended<S extends Writes>(state: S, started: Seq | undefined, outcome: "done" | "failed"): S {
	const at = started === undefined ? undefined : state.open[started];
	const write = at === undefined ? undefined : state.writes.at(at);
	if (at === undefined || !write) return state;
	const { [`${started}`]: _, ...open } = state.open;
	return { ...state, open, writes: state.writes.with(at, { ...write, outcome }) };
}

/**
 * The writes that say what their file held when they were started, oldest first. Between the look of a write (`prepare`) and its start
 * another one may have changed the file, so not all do: one that failed says so where it found what was left there, one that was done
 * unless the other one had done just that. Another try of one in doubt says so if it did not fail.
 */
export function observations(writes: Iterable<FileWrite>): readonly FileWrite[] {
	const left = new Map<string, readonly Version[]>();
	const found: FileWrite[] = [];
	for (const write of writes) {
		const { path, before, after, outcome, again } = write;
		const may = left.get(path);
		const isLeft = may?.includes(before) ?? true;
		if (outcome === "failed" ? isLeft && !again : isLeft || !may?.includes(after)) found.push(write);
		left.set(path, leftBy(write, may));
	}
	return found;
}

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

/** When somebody else has changed a file too. */
export interface Others {
	/** Between two writes. */
	readonly between: boolean;
	/** Since the last one. */
	readonly since: boolean | "unknown";
}

/**
 * Has somebody else changed a file?
 *
 * @param writes of one path, oldest first
 * @param present the version of the file; undefined: unknown
 */
export function othersIn(writes: readonly FileWrite[], present: Version | undefined): Others {
	let between = false;
	let may: readonly Version[] | undefined;
	for (const write of writes) {
		// One that failed, or was done already, may have been prepared beside another one: what it found says nothing of that.
		const isLeft = may === undefined || may.includes(write.before) || may.includes(write.after);
		if (write.outcome !== "failed") between ||= !isLeft;
		may = leftBy(write, may);
	}
	return { between, since: present === undefined ? "unknown" : may !== undefined && !may.includes(present) };
}

/**
 * What a file may hold after a write if nobody else has changed it. One that failed may have been done all the same, where only its
 * flush failed.
 *
 * @param may what it may have held before
 */
function leftBy({ outcome, before, after }: FileWrite, may: readonly Version[] = [before]): readonly Version[] {
	switch (outcome) {
		case "done":
			return [after];
		case "open":
			return [before, after];
		case "failed":
			return [...may, after];
	}
}

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
