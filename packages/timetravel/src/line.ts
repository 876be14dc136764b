/** Lines of history: which seqs are ancestors of one, in a class or in several. All is found without going through all resets. */
import type { Seq } from "@reyn/wal";

/** A set of seqs as its edges: (e0, e1] and (e2, e3] and …, all ascending. */
export type Edges = readonly Seq[];

export interface Line {
	/** Is it on the line? Genesis is on none. */
	holds(seq: Seq): boolean;
	/** The seqs on the line after one. */
	edges(after: Seq): Edges;
	/** The last seq on the line up to one; genesis, 0, if there is none. */
	upTo(seq: Seq): Seq;
	/** The first seq on the line from one on; undefined: there is none. */
	from(seq: Seq): Seq | undefined;
}

/**
 * The parts of a log between the resets that cover a class, each with what it goes on from. It only grows, so that all moments of a
 * log share it. Each part also knows one far back (a jump), so that a search visits few of them however many there are.
 */
export class Ancestry {
	/** The n-th of each list is of the n-th part. The first part begins at genesis. */
	readonly #firsts: Seq[] = [1];
	/** The seq that it goes on from, and the part that holds that. */
	readonly #targets: Seq[] = [0];
	readonly #parents: number[] = [0];
	readonly #jumps: number[] = [0];
	readonly #depths: number[] = [0];

	/** Adds the part that a reset begins, which is newer than all. */
	add({ seq, target }: { readonly seq: Seq; readonly target: Seq }): void {
		const leavesNothing = target === seq - 1;
		if (leavesNothing) return;
		const parent = this.#partAt(target);
		const jump = this.#jumps[parent] as number;
		// Two jumps of one length make one of twice that, and a step more: so a part is reached in about as many as its depth has digits.
		const isEven = this.#lengthOf(parent) === this.#lengthOf(jump);
		this.#firsts.push(seq);
		this.#targets.push(target);
		this.#parents.push(parent);
		this.#jumps.push(isEven ? (this.#jumps[jump] as number) : parent);
		this.#depths.push((this.#depths[parent] as number) + 1);
	}

	#lengthOf(part: number): number {
		return (this.#depths[part] as number) - (this.#depths[this.#jumps[part] as number] as number);
	}

	/** The newest part that begins at a seq or before it. */
	#partAt(seq: Seq): number {
		let [low, high] = [1, this.#firsts.length];
		while (low < high) {
			const middle = (low + high) >>> 1;
			if ((this.#firsts[middle] as Seq) <= seq) low = middle + 1;
			else high = middle;
		}
		return low - 1;
	}

	/** The line that ends at a seq. @param newest no reset after it counts */
	line(to: Seq, newest: Seq): Line {
		const last = this.#partAt(Math.min(to, newest));
		return {
			holds: (seq) => seq > 0 && seq <= to && this.#isIn(seq, last),
			edges: (after) => this.#edges(last, to, after),
			upTo: (seq) => (seq >= to ? to : seq > 0 ? this.#around(seq, last, to)[0] : 0),
			from: (seq) => (seq > to ? undefined : this.#around(Math.max(seq, 1), last, to)[1]),
		};
	}

	#isIn(seq: Seq, last: number): boolean {
		const firsts = this.#firsts;
		const jumps = this.#jumps;
		if ((firsts[last] as Seq) <= seq) return true;
		for (let part = last; ; ) {
			const jump = jumps[part] as number;
			if ((firsts[jump] as Seq) > seq) part = jump;
			else {
				const parent = this.#parents[part] as number;
				if ((firsts[parent] as Seq) <= seq) return seq <= (this.#targets[part] as Seq);
				part = parent;
			}
		}
	}

	/** The seqs of a line that are nearest to one of 1 … `to`: the last up to it, and the first from it on. */
	#around(seq: Seq, last: number, to: Seq): readonly [Seq, Seq | undefined] {
		let part = last;
		let end = to;
		let next: Seq | undefined;
		while ((this.#firsts[part] as Seq) > seq) {
			const jump = this.#jumps[part] as number;
			if ((this.#firsts[jump] as Seq) > seq) part = jump;
			else {
				next = this.#firsts[part] as Seq;
				end = this.#targets[part] as Seq;
				part = this.#parents[part] as number;
			}
		}
		return seq <= end ? [seq, seq] : [end, next];
	}

	#edges(last: number, to: Seq, after: Seq): Edges {
		const edges: Seq[] = [];
		let part = last;
		let end = to;
		while (end > after) {
			const before = (this.#firsts[part] as Seq) - 1;
			edges.push(end, Math.max(before, after));
			end = this.#targets[part] as Seq;
			part = this.#parents[part] as number;
		}
		return edges.reverse();
	}
}

/** The line of all records, as if there were no resets. */
export const straightLine = (to: Seq): Line => new Ancestry().line(to, 0);

/** The seqs on all of these lines. There is at least one. */
export function onEvery(lines: readonly Line[]): Line {
	const [only] = lines;
	if (only && lines.length === 1) return only;
	return {
		holds: (seq) => lines.every((line) => line.holds(seq)),
		edges: (after) => overlay(lines, after, lines.length),
		upTo: (seq) => {
			let at = seq;
			for (let was = -1; at !== was; ) {
				was = at;
				for (const line of lines) at = line.upTo(at);
			}
			return at;
		},
		from: (seq) => {
			let at: Seq | undefined = seq;
			for (let was = -1; at !== undefined && at !== was; ) {
				was = at;
				for (const line of lines) at = at === undefined ? undefined : line.from(at);
			}
			return at;
		},
	};
}

/** The seqs on any of these lines. */
export function onAny(lines: readonly Line[]): Pick<Line, "holds" | "edges"> {
	const [only] = lines;
	if (only && lines.length === 1) return only;
	return {
		holds: (seq) => lines.some((line) => line.holds(seq)),
		edges: (after) => overlay(lines, after, 1),
	};
}

/** The seqs after one that are in at least so many of the sets. */
function overlay(lines: readonly Line[], after: Seq, atLeast: number): Edges {
	const sets = lines.map((line) => line.edges(after));
	const starts = Float64Array.from(sets.flatMap((edges) => edges.filter((_, i) => i % 2 === 0))).sort();
	const ends = Float64Array.from(sets.flatMap((edges) => edges.filter((_, i) => i % 2 === 1))).sort();
	const edges: Seq[] = [];
	let started = 0;
	let ended = 0;
	while (ended < ends.length) {
		const wasIn = started - ended >= atLeast;
		const at = Math.min(starts[started] ?? Number.POSITIVE_INFINITY, ends[ended] as number);
		while (starts[started] === at) started++;
		while (ends[ended] === at) ended++;
		if (started - ended >= atLeast !== wasIn) edges.push(at);
	}
	return edges;
}
