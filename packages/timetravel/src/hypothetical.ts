/** The history as a reset would leave it, for previews: nothing is written. */
import type { Path, View } from "@reyn/snapshot";
import type { Scope, Seq, WalRecord } from "@reyn/wal";
import type { Lineage } from "./lineage.ts";
import type { Coverage } from "./undo.ts";

export interface HypotheticalHistory {
	/** Would this record count? */
	isActive(record: Pick<WalRecord, "seq" | "scope" | "kind">): boolean;
	/** What the state of a scope would be. */
	at(scope: Scope): Promise<View>;
}

/**
 * @param target 0 … the tip of the lineage
 * @param stateOf makes the state at the end of a path
 */
export function hypothetical(
	lineage: Lineage,
	target: Seq,
	coverage: Coverage,
	stateOf: (path: Path) => Promise<View>,
): HypotheticalHistory {
	const { tip } = lineage;
	const after = lineage.with({ seq: tip + 1, target, ...coverage });
	return {
		isActive: (record) => after.isActive(record),
		at: (scope) => stateOf(endingAt(tip, after.path(tip + 1, scope))),
	};
}

/** The same records: the reset itself, which no state folds, is not there to be read. */
function endingAt(tip: Seq, path: Path): Path {
	return {
		tip,
		scope: path.scope,
		ranges: path.ranges
			.map(({ after, through }) => ({ after, through: Math.min(through, tip) }))
			.filter(({ after, through }) => after < through),
		has: (record) => path.has(record),
		isBase: (seq, kinds) => path.isBase(seq, kinds),
	};
}
