/** What a person has done to the history, in words: who, what, when, and how much. */

import { planAborted, planAmended, planPaused, planResumed, planStepsReset } from "@reyn/plan";
import { rewindNote } from "@reyn/rewind-modes";
import { counted } from "@reyn/rewind-modes/internal";
import {
	type Adoption,
	adoptedPath,
	conversationCompacted,
	endsWork,
	type Move,
	messageAdopted,
	type Runtime,
} from "@reyn/runtime";
import { skillRunDiscarded } from "@reyn/skill-resume";
import { label, reset } from "@reyn/timetravel";
import { type Seq, scopeKey, type WalRecord } from "@reyn/wal";
import { z } from "zod";
import { seq } from "./shapes.ts";
import { oneLine } from "./text.ts";

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
	const moves = (await runtime.timeline.moves({ limit: newest }))[which];
	return Promise.all(moves.toReversed().map((move) => told(runtime, move)));
}

async function told({ timeline }: Runtime, { seq, inverse }: Move): Promise<ToldMove> {
	const recordOf = (at: Seq) => timeline.record(at).catch(() => undefined);
	const record = await recordOf(seq);
	const name = inverse.kind === "label" ? `the label "${inverse.name}"` : "what was done there";
	if (!record) return { seq, what: name };
	const { ts } = record;
	const step = stepOf(record);
	if (step?.of === undefined) return { seq, what: whatOf(record) ?? name, ts };
	// What was undone and made again, perhaps many times, is one move in the end.
	let first: WalRecord | undefined = record;
	for (let at: Seq | undefined = step.of; at !== undefined; ) {
		first = await recordOf(at);
		at = first && stepOf(first)?.of;
	}
	const of = (first && whatOf(first)) ?? `#${step.of}`;
	return { seq, what: step.isUndo ? `the undo by ${step.actor} of ${of}` : `${of}, made again by ${step.actor}`, ts };
}

/** Of a reset or a label: the move that it takes back or makes again, if it does. */
function stepOf(record: WalRecord) {
	if (!reset.is(record) && !label.is(record)) return undefined;
	const { undoes, redoes, actor } = record.data;
	return { of: undoes ?? redoes, isUndo: undoes !== undefined, actor };
}

function whatOf(record: WalRecord): string | undefined {
	if (reset.is(record)) {
		const { target, mode, actor, counts } = record.data;
		const path = adoptedPath(record);
		if (path !== undefined) return `the adoption of ${oneLine(path)} as of #${target} by ${actor}`;
		if (endsWork(record)) return `the end of all work by ${actor}`;
		const whose = record.scope.agent === undefined ? "" : ` of ${scopeKey(record.scope)}`;
		// A rewind counts what was confirmed; a checkout does not.
		if (!counts) return `the checkout of #${target} by ${actor}, from #${record.seq - 1}${whose}`;
		const count = counts.dropped ?? counts.all;
		const much = count === undefined ? "an unknown number of records" : counted(count, "record");
		return `the rewind to #${target}${whose} (${mode}) by ${actor}, ${much}`;
	}
	if (label.is(record)) {
		const { name, target, gone, was, actor } = record.data;
		if (was !== undefined) return `the move of the label "${name}" from #${was} to #${target} by ${actor}`;
		return `${gone ? "the end of " : ""}the label "${name}" at #${target} by ${actor}`;
	}
	if (messageAdopted.is(record)) {
		const { from, source, actor } = record.data;
		return `the adoption of ${adoptedText(source)} as of #${from} by ${actor}`;
	}
	if (rewindNote.is(record)) return `the note on #${record.data.target} by ${record.data.actor}`;
	if (conversationCompacted.is(record)) {
		const { upTo, tokens } = record.data;
		const size = tokens ? `, about ${tokens.before} tokens in ${tokens.after}` : "";
		return `the compaction of what was said before #${upTo} by a person${size}`;
	}
	if (planAborted.is(record)) return `the discard of plan ${record.data.plan} by a person`;
	if (planPaused.is(record)) return `the pause of plan ${record.data.plan} by a person`;
	if (planResumed.is(record)) return `the resume of plan ${record.data.plan} by a person`;
	if (planStepsReset.is(record))
		return `the new run of ${record.data.steps.join(", ")} of plan ${record.data.plan} by a person`;
	if (planAmended.is(record))
		return `the change of the steps of plan ${record.data.plan} by a person, to ${record.data.steps} steps`;
	if (skillRunDiscarded.is(record)) return `the discard of skill run ${record.data.run} by a person`;
	return undefined;
}

/** Where a text comes from that was taken over. */
export const adoptedText = (source: Adoption["source"]): string =>
	"message" in source ? `the answer at #${source.message}` : `what step ${source.step} of plan ${source.plan} found`;
