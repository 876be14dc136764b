/** The tree of branches that resets make of a log. */
import type { Scope, Seq } from "@reyn/wal";
import type { Reset } from "./lineage.ts";

/** The records from one reset to the next, and where they fork off. Never changes but for `last` and `active`. */
export interface Branch {
	/** The seq of the reset that began it; 0 for the first one. */
	readonly id: Seq;
	/** `main`, or `b` and the id. */
	readonly name: string;
	/** The id of the branch that holds `forkedAt`; the first one has none. */
	readonly parent: Seq | undefined;
	/** The reset's target; 0 for the first one. */
	readonly forkedAt: Seq;
	readonly first: Seq;
	/** `first - 1` while it holds no record. */
	readonly last: Seq;
	/** Does it hold the tip? Of all branches one does. */
	readonly active: boolean;
	/** What the reset moved; records outside it go on as if there was no fork. */
	readonly scope: Scope;
}

/** All branches in log order, `main` first. The resets ascend by seq, and none lies beyond the tip. */
export function branchTree(resets: readonly Pick<Reset, "seq" | "target" | "scope">[], tip: Seq): readonly Branch[] {
	const lastOf = (index: number) => (resets[index]?.seq ?? tip + 1) - 1;
	const main: Branch = {
		id: 0,
		name: "main",
		parent: undefined,
		forkedAt: 0,
		first: 1,
		last: lastOf(0),
		active: resets.length === 0,
		scope: {},
	};
	const forks = resets.map(
		({ seq, target, scope }, i): Branch => ({
			id: seq,
			name: `b${seq}`,
			parent: branchThatHolds(target, resets),
			forkedAt: target,
			first: seq,
			last: lastOf(i + 1),
			active: i === resets.length - 1,
			scope,
		}),
	);
	return [main, ...forks];
}

/** The id of the newest branch that begins at or before `seq`. */
function branchThatHolds(seq: Seq, resets: readonly Pick<Reset, "seq">[]): Seq {
	let low = 0;
	let high = resets.length;
	while (low < high) {
		const middle = (low + high) >> 1;
		if ((resets[middle]?.seq ?? 0) <= seq) low = middle + 1;
		else high = middle;
	}
	return resets[low - 1]?.seq ?? 0;
}
