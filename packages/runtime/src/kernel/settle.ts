/** After a rewind: what becomes of the work of a session in the state that it went back to. Pure: it says what to do. */
import type { View } from "@reyn/snapshot";
import type { Coverage } from "@reyn/timetravel";
import type { Feature, Piece, Settled } from "./feature.ts";
import { isCovered } from "./work.ts";

/** A piece as it is after the move, and what becomes of it. */
export interface Settlement extends Settled {
	readonly piece: Piece;
}

/**
 * @param before the state just before the reset
 * @param now the state that the reset made current
 * @param reset what it covered: of the rest nothing is settled, since nothing of it has moved
 */
export function settlement(
	features: readonly Feature[],
	before: View,
	now: View,
	reset: Coverage,
): readonly Settlement[] {
	return features.flatMap((feature) => {
		const ran = runningIn(feature, before);
		return runningIn(feature, now)
			.filter(({ work }) => isCovered(work, reset))
			.flatMap((piece) => {
				const settled = feature.settle?.(
					piece,
					ran.find((each) => isSame(each, piece)),
				);
				return settled ? [{ piece, ...settled }] : [];
			});
	});
}

const runningIn = (feature: Feature, view: View): readonly Piece[] =>
	feature.pieces?.(view).filter(({ status }) => status === "running") ?? [];

export const isSame = (a: Pick<Piece, "kind" | "id">, b: Pick<Piece, "kind" | "id">): boolean =>
	a.kind === b.kind && a.id === b.id;
