/** The checkpoints of a log, by column: a long log has many, and the garbage collector would visit each object of them. */
import type { Scope, Seq } from "@reyn/wal";
import type { CheckpointData } from "./records.ts";

export interface Mark {
	readonly seq: Seq;
	readonly ts: number;
	readonly scope: Scope;
	readonly kind: CheckpointData["kind"];
	readonly title: string;
}

/** The n-th of each column is of the n-th checkpoint; scopes and kinds are numbers of what stands in the lists of all of them. */
export interface Columns {
	readonly seqs: readonly Seq[];
	readonly times: readonly number[];
	readonly titles: readonly string[];
	readonly scopes: readonly number[];
	readonly kinds: readonly number[];
	readonly allScopes: readonly Scope[];
	readonly allKinds: readonly Mark["kind"][];
}

/** Checkpoints in the order of their seqs. Columns are kept as they are given, without a copy. */
export class Marks implements Iterable<Mark> {
	readonly #pieces: (Columns | Mark[])[] = [];
	/** How many come before each piece. */
	readonly #starts: number[] = [];
	#length = 0;

	get length(): number {
		return this.#length;
	}

	/** The seq of the newest one, or 0. */
	get newest(): Seq {
		return this.#length === 0 ? 0 : this.#seqAt(this.#length - 1);
	}

	/** @param place from 0 on; there has to be one */
	at(place: number): Mark {
		const [piece, i] = this.#find(place);
		if (Array.isArray(piece)) return piece[i] as Mark;
		return {
			seq: piece.seqs[i] as Seq,
			ts: piece.times[i] as number,
			scope: piece.allScopes[piece.scopes[i] as number] as Scope,
			kind: piece.allKinds[piece.kinds[i] as number] as Mark["kind"],
			title: piece.titles[i] as string,
		};
	}

	*[Symbol.iterator](): Generator<Mark> {
		for (let place = 0; place < this.#length; place++) yield this.at(place);
	}

	/** How many of them come before a seq. */
	countBelow(seq: Seq): number {
		return firstWith(this.#length, (place) => this.#seqAt(place) >= seq);
	}

	/** Adds one that comes behind all others. */
	push(mark: Mark): void {
		const last = this.#pieces.at(-1);
		if (Array.isArray(last)) last.push(mark);
		else this.#add([mark]);
		this.#length++;
	}

	/** Adds those that come behind all others. */
	append(marks: Marks): void {
		for (const piece of marks.#pieces) {
			this.#add(Array.isArray(piece) ? [...piece] : piece);
			this.#length += lengthOf(piece);
		}
	}

	static of(columns: Columns): Marks {
		const marks = new Marks();
		if (columns.seqs.length === 0) return marks;
		marks.#add(columns);
		marks.#length = columns.seqs.length;
		return marks;
	}

	#add(piece: Columns | Mark[]): void {
		this.#pieces.push(piece);
		this.#starts.push(this.#length);
	}

	#seqAt(place: number): Seq {
		const [piece, i] = this.#find(place);
		return Array.isArray(piece) ? (piece[i] as Mark).seq : (piece.seqs[i] as Seq);
	}

	#find(place: number): [piece: Columns | Mark[], i: number] {
		const at = firstWith(this.#starts.length, (each) => (this.#starts[each] as number) > place) - 1;
		return [this.#pieces[at] as Columns | Mark[], place - (this.#starts[at] as number)];
	}
}

const lengthOf = (piece: Columns | readonly Mark[]): number => ("seqs" in piece ? piece.seqs.length : piece.length);

/** The first of so many for which something holds, as it then does for all behind it; their number, if it holds for none. */
function firstWith(count: number, holds: (at: number) => boolean): number {
	let [low, high] = [0, count];
	while (low < high) {
		const middle = (low + high) >>> 1;
		if (holds(middle)) high = middle;
		else low = middle + 1;
	}
	return low;
}
