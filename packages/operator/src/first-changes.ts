/** The first changes of each part of a state, so that what differs much is told in little. */
import type { Change, StateDiff } from "@reyn/runtime";

interface First {
	readonly projections: StateDiff["projections"];
	/** How many were left out, by part. */
	readonly more: Readonly<Record<string, number>>;
}

/** @param most each item of a list that came or went is a change */
export function firstChanges({ projections }: StateDiff, most: number): First {
	const first: Record<string, readonly Change[]> = {};
	const more: Record<string, number> = {};
	for (const [name, changes] of Object.entries(projections)) {
		let left = most;
		let all = 0;
		first[name] = changes.flatMap((change) => {
			all += sizeOf(change);
			if (left === 0) return [];
			const part = cut(change, left);
			left -= sizeOf(part);
			return [part];
		});
		if (all > most) more[name] = all - most;
	}
	return { projections: first, more };
}

const sizeOf = (change: Change): number => (change.kind === "spliced" ? change.before.length + change.after.length : 1);

function cut(change: Change, most: number): Change {
	if (change.kind !== "spliced") return change;
	const before = change.before.slice(0, most);
	return { ...change, before, after: change.after.slice(0, most - before.length) };
}
