/** What a person has done to the history, in words: who, what, when, and how much. */

import { planAborted } from "@reyn/plan";
import { rewindNote } from "@reyn/rewind-modes";
import type { Move, Runtime } from "@reyn/runtime";
import { skillRunDiscarded } from "@reyn/skill-resume";
import { label, reset } from "@reyn/timetravel";
import type { WalRecord } from "@reyn/wal";
import { z } from "zod";
import { seq } from "./shapes.ts";

export const toldMove = z.object({
	/** The seq of its record: what `undo` and `redo` are bound to. */
	seq,
	what: z.string(),
	/** Milliseconds since 1970. Absent: its record has been taken away by a collection. */
	ts: z.number().exactOptional(),
});
export type ToldMove = z.infer<typeof toldMove>;

/** The moves that can be taken back, or made again, newest first. */
export async function toldMoves(
	runtime: Runtime,
	which: "past" | "future",
	newest = Number.POSITIVE_INFINITY,
): Promise<readonly ToldMove[]> {
	const moves = (await runtime.timeline.moves())[which];
	return Promise.all(
		moves
			.toReversed()
			.slice(0, newest)
			.map((move) => told(runtime, move)),
	);
}

async function told({ timeline }: Runtime, { seq, inverse }: Move): Promise<ToldMove> {
	const record = await timeline.record(seq).catch(() => undefined);
	const name = inverse.kind === "label" ? `the label "${inverse.name}"` : "what was done there";
	return record ? { seq, what: whatOf(record) ?? name, ts: record.ts } : { seq, what: name };
}

function whatOf(record: WalRecord): string | undefined {
	if (reset.is(record)) {
		const { target, mode, actor, counts, undoes, redoes } = record.data;
		if (undoes !== undefined) return `the undo of #${undoes} by ${actor}`;
		if (redoes !== undefined) return `the redo of #${redoes} by ${actor}`;
		// A rewind counts what was confirmed; a checkout does not.
		if (!counts) return `the checkout of #${target} by ${actor}`;
		return `the rewind to #${target} (${mode}) by ${actor}, ${counts.dropped ?? counts.all} records`;
	}
	if (label.is(record)) {
		const { name, target, gone, actor } = record.data;
		return `${gone ? "the end of " : ""}the label "${name}" at #${target} by ${actor}`;
	}
	if (rewindNote.is(record)) return `the note on #${record.data.target} by ${record.data.actor}`;
	if (planAborted.is(record)) return `the discard of plan ${record.data.plan}`;
	if (skillRunDiscarded.is(record)) return `the discard of skill run ${record.data.run}`;
	return undefined;
}
