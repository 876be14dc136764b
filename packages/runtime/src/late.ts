/** Outcomes that lie beyond a cut, or come after it: what is known to have happened is not done again. */
import { isAwaited, type JournalState, stepCompleted, stepFailed } from "@reyn/journal";
import { type Lineage, stepLate } from "@reyn/timetravel";
import type { Draft, Scope, Seq, Wal, WalRecord } from "@reyn/wal";

/** How a step ended, as a line of history that is not the current one knows it. */
export interface Outcome {
	readonly scope: Scope;
	/** The record that makes it known here; it names the one that it repeats. */
	readonly draft: Draft;
}

const outcomeKinds = [stepCompleted.kind, stepFailed.kind];

/**
 * What is known elsewhere of the steps with these starts: of each, the newest outcome after the target. The log is read from
 * there on, and only if there are any starts.
 */
export async function outcomesBeyond(
	target: Seq,
	starts: ReadonlySet<Seq>,
	{ wal, lineage }: { readonly wal: Wal; readonly lineage: Lineage },
): Promise<readonly Outcome[]> {
	const found = new Map<Seq, Outcome>();
	if (starts.size === 0) return [];
	const after = Math.max(target, wal.first - 1);
	for await (const record of wal.read({ after, kinds: { only: [...outcomeKinds, stepLate.kind] } })) {
		// What counts here is in the state already, and was not the last word where the step is open all the same.
		if (outcomeKinds.includes(record.kind) && lineage.isActive(record)) continue;
		const { kind, data } = stepLate.is(record) ? record.data : (record as WalRecord<Record<string, unknown>>);
		const { started, adopts = record.seq } = data as { started?: Seq; adopts?: Seq };
		if (started !== undefined && starts.has(started))
			found.set(started, { scope: record.scope, draft: { kind, data: { ...data, adopts } } });
	}
	return [...found.values()];
}

/**
 * What is kept of a record that a rewind has refused: an outcome that this state waits for as it is, any other aside. Of what is
 * no outcome, nothing.
 *
 * @param state the journal as the rewind has left it; absent: not known yet
 */
export function keptOf(draft: Draft, reset: Seq, state: JournalState | undefined): Draft | undefined {
	const { kind, data } = draft;
	if (!outcomeKinds.includes(kind)) return undefined;
	if (state && isAwaited(state, draft)) return draft;
	return stepLate({ reset, kind, data: data as Record<string, unknown> });
}
