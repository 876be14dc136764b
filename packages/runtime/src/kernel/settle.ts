/** Settlement: decides what becomes of the work of a session after a rewind. Pure. */
import type { View } from "@reyn/snapshot";
import type { Coverage, Moved } from "@reyn/timetravel";
import type { Draft } from "@reyn/wal";
import type { Feature, Piece, Settled } from "./feature.ts";
import { isCovered } from "./work.ts";

/** A piece in the state after the move, and what becomes of it. */
export interface Settlement extends Pick<Settled, "becomes"> {
	readonly piece: Piece;
	/** The records that say so, in order. */
	readonly drafts: readonly Draft[];
}

/** What stands in a move besides that ends all work in flight: why. */
export const ENDS_WORK = "ends_work";

/** What is in flight, and so would end. */
export const isInFlight = ({ status }: Piece): boolean =>
	status === "running" || status === "paused" || status === "waiting";

/**
 * @param before the state just before the reset
 * @param now the state that the reset made current
 * @param reset the coverage of the reset: pieces outside of it have not moved, and are not settled
 * @param along what the reset says besides
 * @param isRedo does it make a move of a person again that was taken back?
 */
export function settlement(
	features: readonly Feature[],
	before: View,
	now: View,
	reset: Coverage,
	along?: Moved["along"],
	isRedo = false,
): readonly Settlement[] {
	const reason = along?.[ENDS_WORK];
	if (typeof reason === "string") return ended(features, now, reason);
	// What a person has done to one run is done again exactly: it ran on when that was taken back, and whoever does it again says so.
	const runsAgain = isRedo && reset.scope.run !== undefined;
	return features.flatMap((feature) => {
		const then = feature.pieces?.(before) ?? [];
		const running = feature.pieces?.(now).filter(({ status }) => status === "running") ?? [];
		return running
			.filter(({ work }) => isCovered(work, reset))
			.flatMap((piece) => {
				const settled = feature.settle?.(
					piece,
					then.find(
						(each) => isSame(each, piece) && (each.status === "running" || runsAgain || isTakenBack(each, piece)),
					),
					along,
				);
				if (!settled) return [];
				const { becomes, draft } = settled;
				return [{ piece, becomes, drafts: draft ? [draft] : [] }];
			});
	});
}

/** A move that a crash has cut finds some of it over already. */
const ended = (features: readonly Feature[], now: View, reason: string): readonly Settlement[] =>
	features.flatMap((feature) =>
		(feature.pieces?.(now) ?? []).filter(isInFlight).flatMap((piece) => {
			const drafts = feature.end?.(piece, reason);
			return drafts ? [{ piece, becomes: "over" as const, drafts }] : [];
		}),
	);

/**
 * Does a move take back that a person has paused a piece, and no work of it? One that leads further back takes work back, too: to do
 * that again is asked for by name, as with what was over.
 */
const isTakenBack = (before: Piece, { since }: Piece): boolean => before.pausedBy === "person" && since >= before.since;

export const isSame = (a: Pick<Piece, "kind" | "id">, b: Pick<Piece, "kind" | "id">): boolean =>
	a.kind === b.kind && a.id === b.id;
