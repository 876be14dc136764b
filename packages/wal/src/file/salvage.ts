/** Pure: which records of a damaged log can be kept, and which are lost. */
import type { Seq } from "../record/record.ts";
import type { WalRepaired } from "../record/wal-records.ts";

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
	/** The seqs that are given up. */
	readonly lost: WalRepaired["lost"];
	/** What comes after the first loss: these keep their seqs. */
	readonly after: readonly Piece[];
	/** The last seq of all that. */
	readonly last: Seq;
}

/** Puts the pieces together from `start` on. What was never acknowledged is not missed. */
export function salvage(
	start: { readonly first: Seq; readonly prev: string },
	pieces: readonly Piece[],
	acknowledged: Seq,
): Salvage {
	const byFirst = Map.groupBy(pieces, ({ first }) => first);
	const firsts = [...byFirst.keys()].sort((a, b) => a - b);
	const at = (seq: Seq): readonly Piece[] => byFirst.get(seq) ?? [];
	let end = { seq: start.first - 1, crc: start.prev };
	const chain = (): Piece[] => {
		const kept: Piece[] = [];
		for (;;) {
			const next = longest(at(end.seq + 1).filter(({ prev }) => prev === end.crc));
			if (!next) return kept;
			kept.push(next);
			end = { seq: next.last, crc: next.crc };
		}
	};

	/** Is a piece contradicted by what stands behind it, and is that more than `size`? Then it is not of this log. */
	const isRefuted = ({ last, crc }: Piece, size: number): boolean => {
		const behind = last < acknowledged ? at(last + 1) : [];
		return !behind.some(({ prev }) => prev === crc) && behind.some((each) => sizeOf(each) > size);
	};
	let i = 0;
	/** Where the log goes on when at least one record is lost. */
	const resume = (): Piece | undefined => {
		const from = end.seq + 2;
		const whole = (seq: Seq): Piece[] => at(seq).filter((piece) => !isRefuted(piece, sizeOf(piece)));
		// A record that has the next seq and does not follow is lost itself. Those behind it stay, unless they fit nothing else.
		const cut = at(from - 1).flatMap((piece) => (isRefuted(piece, 0) ? [] : withoutFirst(piece)));
		const next = from <= acknowledged ? longest([...whole(from), ...cut]) : undefined;
		if (next) return next;
		for (; i < firsts.length; i++) {
			const first = firsts[i] as Seq;
			if (first > acknowledged) return undefined;
			const later = first > from ? longest(whole(first)) : undefined;
			if (later) return later;
		}
		return undefined;
	};

	const before = chain();
	const lost: [Seq, Seq][] = [];
	const after: Piece[] = [];
	while (end.seq < acknowledged) {
		const next = resume();
		lost.push([end.seq + 1, next ? next.first - 1 : acknowledged]);
		end = next ? { seq: next.last, crc: next.crc } : { seq: acknowledged, crc: "" };
		if (next) after.push(next, ...chain());
	}
	return { before, lost, after, last: end.seq };
}

const sizeOf = ({ first, last }: Piece): number => last - first + 1;

const longest = (pieces: readonly Piece[]): Piece | undefined => [...pieces].sort((a, b) => b.last - a.last)[0];

function withoutFirst({ second, ...piece }: Piece): readonly Piece[] {
	return second ? [{ ...piece, ...second, first: piece.first + 1 }] : [];
}
