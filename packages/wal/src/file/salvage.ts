/** Pure: which records of a damaged log can be kept, and which are lost. */
import type { Seq } from "../record.ts";

/** Records that follow one another, in the log and in the file. */
export interface Piece {
	readonly path: string;
	/** Which bytes they are. */
	readonly offset: number;
	readonly end: number;
	readonly first: Seq;
	readonly last: Seq;
	/** What the first one follows, and what the next one after has to. */
	readonly prev: string;
	readonly crc: string;
	/** Where its second record is, and what that one follows. */
	readonly second?: { readonly offset: number; readonly prev: string };
}

export interface Salvage {
	/** They go on from the sound part unbroken, and stay as they are. */
	readonly before: readonly Piece[];
	/** The one stretch that is given up; undefined when every record is there. */
	readonly lost: { readonly from: Seq; readonly to: Seq } | undefined;
	/** What comes after the loss: these keep their seqs. */
	readonly after: readonly Piece[];
	/** The last seq of all that. */
	readonly last: Seq;
}

/**
 * Puts the pieces together from `start` on. A loss is one stretch: with two holes, what stands between them is lost too.
 * What was never acknowledged is not missed.
 */
export function salvage(
	start: { readonly first: Seq; readonly prev: string },
	pieces: readonly Piece[],
	acknowledged: Seq,
): Salvage {
	let end = { seq: start.first - 1, crc: start.prev };
	const chain = (): Piece[] => {
		const kept: Piece[] = [];
		for (;;) {
			const next = pieces.find(({ first, prev }) => first === end.seq + 1 && prev === end.crc);
			if (!next) return kept;
			kept.push(next);
			end = { seq: next.last, crc: next.crc };
		}
	};

	const before = chain();
	const from = end.seq + 1;
	let to: Seq | undefined;
	let after: Piece[] = [];
	while (end.seq < acknowledged) {
		const next = pieces
			.flatMap((piece) => fromSeq(piece, end.seq + 2))
			.filter(({ first }) => first <= acknowledged)
			.sort((a, b) => a.first - b.first || b.last - a.last)[0];
		if (!next) {
			to = acknowledged;
			after = [];
			end = { seq: acknowledged, crc: "" };
			break;
		}
		to = next.first - 1;
		end = { seq: next.last, crc: next.crc };
		after = [next, ...chain()];
	}
	return { before, lost: to === undefined ? undefined : { from, to }, after, last: end.seq };
}

/** A piece from a seq on, which is its first or its second: a record that has the next seq and does not follow is lost itself. */
function fromSeq(piece: Piece, seq: Seq): readonly Piece[] {
	const { second, ...rest } = piece;
	if (piece.first >= seq) return [piece];
	return second && piece.first + 1 === seq ? [{ ...rest, ...second, first: seq }] : [];
}
