/** What a person has done to the history, in words: who, what, when, and how much. */

import { planAborted, planAmended, planPaused, planResumed, planStepsReset } from "@reyn/plan";
import { rewindNote } from "@reyn/rewind-modes";
import { conversationCompacted, type Move, type Runtime } from "@reyn/runtime";
import { skillRunDiscarded } from "@reyn/skill-resume";
import { label, reset } from "@reyn/timetravel";
import type { Seq, WalRecord } from "@reyn/wal";
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
	const recordOf = (at: Seq) => timeline.record(at).catch(() => undefined);
	const record = await recordOf(seq);
	const name = inverse.kind === "label" ? `the label "${inverse.name}"` : "what was done there";
	if (!record) return { seq, what: name };
	const { ts } = record;
	if (!reset.is(record)) return { seq, what: whatOf(record) ?? name, ts };
	const { undoes, redoes, actor } = record.data;
	if (undoes === undefined && redoes === undefined) return { seq, what: whatOf(record) ?? name, ts };
	// What was undone and made again, perhaps many times, is one move in the end.
	let first: WalRecord | undefined = record;
	for (let at = undoes ?? redoes; at !== undefined; ) {
		first = await recordOf(at);
		at = first && reset.is(first) ? (first.data.undoes ?? first.data.redoes) : undefined;
	}
	const of = (first && whatOf(first)) ?? `#${undoes ?? redoes}`;
	return { seq, what: undoes === undefined ? `${of}, made again by ${actor}` : `the undo by ${actor} of ${of}`, ts };
}

function whatOf(record: WalRecord): string | undefined {
	if (reset.is(record)) {
		const { target, mode, actor, counts } = record.data;
		// A rewind counts what was confirmed; a checkout does not.
		if (!counts) return `the checkout of #${target} by ${actor}`;
		return `the rewind to #${target} (${mode}) by ${actor}, ${counts.dropped ?? counts.all ?? "an unknown number of"} records`;
	}
	if (label.is(record)) {
		const { name, target, gone, actor } = record.data;
		return `${gone ? "the end of " : ""}the label "${name}" at #${target} by ${actor}`;
	}
	if (rewindNote.is(record)) return `the note on #${record.data.target} by ${record.data.actor}`;
	if (conversationCompacted.is(record)) return `the compaction of what was said before #${record.data.upTo}`;
	if (planAborted.is(record)) return `the discard of plan ${record.data.plan}`;
	if (planPaused.is(record)) return `the pause of plan ${record.data.plan}`;
	if (planResumed.is(record)) return `the resume of plan ${record.data.plan}`;
	if (planStepsReset.is(record)) return `the new run of ${record.data.steps.join(", ")} of plan ${record.data.plan}`;
	if (planAmended.is(record)) return `the change of the steps of plan ${record.data.plan}`;
	if (skillRunDiscarded.is(record)) return `the discard of skill run ${record.data.run}`;
	return undefined;
}
