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

/** The items after a seq, newest first. */
export function* newestAfter<Item extends { readonly seq: Seq }>(items: List<Item>, seq: Seq): Generator<Item> {
	for (let at = items.length - 1; at >= 0; at--) {
		const item = items.at(at) as Item;
		if (item.seq <= seq) return;
		yield item;
	}
}

/**
 * The writes after a seq, newest first, as far as they say what their file held when they were started: another try of one in doubt that
 * failed does not, since somebody else may have changed the file after the first.
 */
export function* writesAfter(writes: List<FileWrite>, seq: Seq): Generator<FileWrite> {
	for (const write of newestAfter(writes, seq)) if (!write.again || write.outcome !== "failed") yield write;
}

/** The names of the images that say what each file held as of these moments. */
export function imagesAt(writes: List<FileWrite>, moments: readonly Seq[]): readonly string[] {
	const names = new Set<string>();
	/** The first write of each path after the moment that is looked at. */
	const first = new Map<string, FileWrite>();
	const older = moments.toSorted((a, b) => a - b);
	const take = (): void => {
		for (const write of first.values()) for (const name of imageNameOf(write)) names.add(name);
		older.pop();
	};
	for (const write of writesAfter(writes, 0)) {
		while (older.length > 0 && (older.at(-1) ?? 0) >= write.seq) take();
		first.set(write.path, write);
	}
	while (older.length > 0) take();
	return [...names];
}

/** What a file may hold once a write is over; one that is not known to be done may have been, or not. */
export const leftBy = ({ outcome, before, after }: Pick<FileWrite, "outcome" | "before" | "after">) =>
	outcome === "done" ? [after] : [before, after];

/** Was it done? What the file held next tells of one that is open. */
export function isDone({ outcome, before, after }: FileWrite, next: FileChange["before"]): boolean | "in doubt" {
	if (outcome !== "open") return outcome === "done";
	if (next === after) return before !== after;
	return next === before ? false : "in doubt";
}
