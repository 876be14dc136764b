/** The history as a reset would leave it, for previews. Nothing is written. */
import type { Path, View } from "@reyn/snapshot";
import type { Scope, Seq, WalRecord } from "@reyn/wal";
import { Lineage } from "./lineage.ts";
import { isMeta } from "./records.ts";
import type { Coverage } from "./undo.ts";

export interface HypotheticalHistory {
	/** Would this record count after the reset? */
	isActive(record: Pick<WalRecord, "seq" | "scope" | "kind">): boolean;
	/** Would a record at this seq count after the reset, in any class that lies in its scope? */
	isActiveInAny(seq: Seq, scope: Scope): boolean;
	/** The state that a scope would have after the reset. */
	at(scope: Scope): Promise<View>;
	/** Which records cannot be counted, since `gc` took some of them away: those that would leave, come back, or stay beyond the target. */
	readonly unknown: Readonly<Record<"leaves" | "returns" | "stays", boolean>>;
}

/**
 * @param target 0 … the tip of the lineage
 * @param gone the last seq whose record was taken away, or 0
 * @param stateOf makes the state at the end of a path
 */
export function hypothetical(
	lineage: Lineage,
	target: Seq,
	coverage: Coverage,
	gone: Seq,
	stateOf: (path: Path) => Promise<View>,
): HypotheticalHistory {
	const { tip } = lineage;
	// Anew, since the lineage itself goes on from its own end.
	const after = new Lineage([...lineage.resets, { seq: tip + 1, target, ...coverage }], tip + 1, { isMeta });
	return {
		isActive: (record) => after.isActive(record),
		isActiveInAny: (seq, scope) => after.isAncestorInAny(seq, scope),
		at: (scope) => stateOf(endingAt(tip, after.path(tip + 1, scope))),
		unknown: lineage.changes({ target, ...coverage }, gone),
	};
}

/** The path without the reset at its end, which is not written; no state folds a reset, so the state is the same. */
function endingAt(tip: Seq, path: Path): Path {
	return {
		tip,
		scope: path.scope,
		rangesAfter: (seq) =>
			path
				.rangesAfter(seq)
				.map(({ after, through }) => ({ after, through: Math.min(through, tip) }))
				.filter(({ after, through }) => after < through),
		has: (record) => path.has(record),
		isBase: (seq, kinds) => path.isBase(seq, kinds),
	};
}
