/** What a path is: the records of one line of history, which a state is the fold of. */
import type { Scope, Seq, WalRecord } from "@reyn/wal";

/** The records in `(after, through]`. */
export interface SeqRange {
	readonly after: Seq;
	readonly through: Seq;
}

/** One line of history: which records a state is the fold of. */
export interface Path {
	/** The last seq of the path: its state is the one at this seq. */
	readonly tip: Seq;
	readonly scope: Scope;
	/** The ranges after a seq to read, ascending and disjoint. Every later record of the path lies in one of them, or is at hand. */
	rangesAfter(seq: Seq): readonly SeqRange[];
	/**
	 * The records of the path after a seq that are in memory, in order, even if the log has them no more. They may also lie in the ranges,
	 * and be of other scopes or kinds. Absent: there are none.
	 */
	atHand?(after: Seq): Iterable<WalRecord>;
	/** Is the record on the path? That is decided for each class of records by itself. */
	has(record: { readonly seq: Seq; readonly scope: Scope; readonly kind: string }): boolean;
	/** May the state at `seq`, folded from these kinds in `scope`, be folded on along this path? True if the path has the same records up to it. */
	isBase(seq: Seq, kinds: readonly string[]): boolean;
}

/** The path of a log that was never rewound: every record in the scope up to `tip`. */
export function straightPath(tip: Seq, scope: Scope): Path {
	if (!Number.isSafeInteger(tip) || tip < 0) throw new RangeError(`expected a seq, 0 or more; found ${tip}`);
	return {
		tip,
		scope,
		rangesAfter: (seq) => (seq < tip ? [{ after: seq, through: tip }] : []),
		has: ({ seq }) => seq <= tip,
		isBase: (seq) => seq <= tip,
	};
}
