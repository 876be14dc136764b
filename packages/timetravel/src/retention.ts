/** The retention policy: which checkpoints have to stay, and which live work needs older records. Pure. */
import type { View } from "@reyn/snapshot";
import type { Scope, Seq } from "@reyn/wal";

export interface RetentionPolicy {
	/** The checkpoints of the last `keepDays` days stay. Default: 30. */
	readonly keepDays?: number;
	/** The newest `keepCheckpoints` checkpoints stay. Default: 200. */
	readonly keepCheckpoints?: number;
	/** From this seq on everything stays, whatever else is said: what was shown to a person, and no more. Default: no such limit. */
	readonly before?: Seq;
	/** The present time, in milliseconds since 1970. */
	readonly now: number;
}

const DAY = 24 * 60 * 60 * 1000;

/**
 * The first checkpoint that has to stay: by number or by age, whichever reaches further back. Undefined: all of them stay.
 *
 * @param checkpoints in log order
 */
export function firstToKeep(
	checkpoints: readonly { readonly seq: Seq; readonly ts: number }[],
	{ keepDays = 30, keepCheckpoints = 200, before = Number.POSITIVE_INFINITY, now }: RetentionPolicy,
): Seq | undefined {
	// The first in log order, not the oldest by time: a clock may have been set back.
	const recent = checkpoints.findIndex(({ ts }) => ts > now - keepDays * DAY);
	const byAge = recent === -1 ? checkpoints.length - 1 : recent;
	const shown = checkpoints.findLastIndex(({ seq }) => seq < before);
	const kept = Math.min(byAge, checkpoints.length - Math.max(keepCheckpoints, 1), shown);
	return kept > 0 ? checkpoints[kept]?.seq : undefined;
}

/** Work that is not over, and still needs a record. */
export interface Floor {
	readonly seq: Seq;
	/** The name of the projection whose state needs it. */
	readonly projection: string;
	readonly scope: Scope;
	/**
	 * The label at which the work is not over; absent: it is not over now. Whoever goes back there goes on with it, and has to find what
	 * was recorded of it, and what came of it later.
	 */
	readonly label?: string;
}

/** A record of an unknown kind: nobody here can fold it into a state that would stand for it. */
export interface Unknown {
	readonly seq: Seq;
	readonly kind: string;
	readonly scope: Scope;
}

/** A kept state of an unknown projection: nobody here can fold it further, to a later cut. */
export interface Unfolded {
	/** The seq of the kept state. */
	readonly seq: Seq;
	readonly unknown: string;
	readonly scope: Scope;
}

/** The oldest record that a state still needs. */
export function floorOf(view: View): Floor | undefined {
	let lowest: Floor | undefined;
	for (const projection of view.projections) {
		const seq = projection.floor(view.get(projection));
		if (seq !== undefined && seq < (lowest?.seq ?? Number.POSITIVE_INFINITY))
			lowest = { seq, projection: projection.name, scope: view.scope };
	}
	return lowest;
}
