/** Settlement: decides what becomes of the work of a session after a rewind. Pure. */
import type { View } from "@reyn/snapshot";
import type { Coverage, Moved } from "@reyn/timetravel";
import type { Feature, Piece, Settled } from "./feature.ts";
import { isCovered } from "./work.ts";

/** A piece in the state after the move, and what becomes of it. */
export interface Settlement extends Settled {
	readonly piece: Piece;
}

/**
 * @param before the state just before the reset
 * @param now the state that the reset made current
 * @param reset the coverage of the reset: pieces outside of it have not moved, and are not settled
 * @param along what the reset says besides
 */
export function settlement(
	features: readonly Feature[],
	before: View,
	now: View,
	reset: Coverage,
	along?: Moved["along"],
): readonly Settlement[] {
	return features.flatMap((feature) => {
		const ran = runningIn(feature, before);
		return runningIn(feature, now)
			.filter(({ work }) => isCovered(work, reset))
			.flatMap((piece) => {
				const settled = feature.settle?.(
					piece,
					ran.find((each) => isSame(each, piece)),
					along,
				);
				return settled ? [{ piece, ...settled }] : [];
			});
	});
}

const runningIn = (feature: Feature, view: View): readonly Piece[] =>
	feature.pieces?.(view).filter(({ status }) => status === "running") ?? [];

export const isSame = (a: Pick<Piece, "kind" | "id">, b: Pick<Piece, "kind" | "id">): boolean =>
	a.kind === b.kind && a.id === b.id;
