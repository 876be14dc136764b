import type { Scope, Seq, WalRecord } from "@reyn/wal";

/** The records in `(after, through]`. */
export interface SeqRange {
	readonly after: Seq;
	readonly through: Seq;
}

/** One line of history: which records a state is the fold of. */
export interface Path {
	/** The seq whose state this is. */
	readonly tip: Seq;
	readonly scope: Scope;
	/** Ascending, disjoint; every record of the path lies in one of them, or is at hand. */
	readonly ranges: readonly SeqRange[];
	/**
	 * Records of the path that need not be read: those after a seq, in order, also where the log has them no more. They may lie in
	 * the ranges too, and be of other scopes or kinds. Absent: none are.
	 */
	atHand?(after: Seq): Iterable<WalRecord>;
	/** Is the record on the path of its own class? */
	has(record: { readonly seq: Seq; readonly scope: Scope; readonly kind: string }): boolean;
	/** Is the state at `seq`, of records of these kinds in `scope`, a beginning of this path's? */
	isBase(seq: Seq, kinds: readonly string[]): boolean;
}

/** The path of a log that was never rewound: every record in the scope up to `tip`. */
export function straightPath(tip: Seq, scope: Scope): Path {
	if (!Number.isSafeInteger(tip) || tip < 0) throw new RangeError(`expected a seq, 0 or more; found ${tip}`);
	return {
		tip,
		scope,
		ranges: tip > 0 ? [{ after: 0, through: tip }] : [],
		has: ({ seq }) => seq <= tip,
		isBase: (seq) => seq <= tip,
	};
}
