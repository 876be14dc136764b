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
		const then = feature.pieces?.(before) ?? [];
		const running = feature.pieces?.(now).filter(({ status }) => status === "running") ?? [];
		return running
			.filter(({ work }) => isCovered(work, reset))
			.flatMap((piece) => {
				const settled = feature.settle?.(
					piece,
					then.find((each) => isSame(each, piece) && (each.status === "running" || isTakenBack(each, piece))),
					along,
				);
				return settled ? [{ piece, ...settled }] : [];
			});
	});
}

/**
 * Does a move take back that a person has paused a piece, and no work of it? One that leads further back takes work back, too: to do
 * that again is asked for by name, as with what was over.
 */
const isTakenBack = (before: Piece, { since }: Piece): boolean => before.pausedBy === "person" && since >= before.since;

export const isSame = (a: Pick<Piece, "kind" | "id">, b: Pick<Piece, "kind" | "id">): boolean =>
	a.kind === b.kind && a.id === b.id;
