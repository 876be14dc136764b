/** Remembers where in the log the records of each session lie, so that reading one session skips the others. */
import type { SeqRange } from "@reyn/snapshot";
import { type Scope, type Seq, scopeKey } from "@reyn/wal";

/** A gap of fewer records than this is read through: that is faster than finding the next record of the session. */
const NEAR = 64;

/** The spans of sessions, each as a flat list: after, through, after, through …, ascending. None is empty. */
export type Spans = Iterable<readonly [session: string, edges: readonly Seq[]]>;

export class SessionRanges {
	/** The last record that was taken note of. */
	seen: Seq;
	/** The sessions of the records up to here are not known. */
	readonly #from: Seq;
	/** The spans of each session as a flat list: after, through, after, through …, ascending. */
	readonly #edges = new Map<string, Seq[]>();
	/** A cache of the same lists by scope object: a reader mostly gives the same object for the same scope. */
	readonly #ofScope = new WeakMap<Scope, Seq[]>();

	constructor(seen: Seq) {
		this.seen = seen;
		this.#from = seen;
	}

	/** Takes note of the next record. */
	add(seq: Seq, scope: Scope): void {
		this.seen = seq;
		if (scope.session === undefined) return;
		const edges = this.#ofScope.get(scope) ?? this.#edgesOf(scope);
		const last = edges.length - 1;
		if (last > 0 && seq - (edges[last] as Seq) <= NEAR) edges[last] = seq;
		else edges.push(seq - 1, seq);
	}

	#edgesOf(scope: Scope): Seq[] {
		const edges = this.#edgesAt(keyOf(scope));
		this.#ofScope.set(scope, edges);
		return edges;
	}

	#edgesAt(key: string): Seq[] {
		const edges = this.#edges.get(key) ?? [];
		this.#edges.set(key, edges);
		return edges;
	}

	/** The spans that were noted, by session. */
	get spans(): Spans {
		return this.#edges;
	}

	/** Takes note of the records up to a seq, whose spans are known: the same as adding each. */
	addAll(through: Seq, spans: Spans): void {
		this.seen = through;
		for (const [key, more] of spans) {
			const edges = this.#edgesAt(key);
			const last = edges.length - 1;
			const isNear = last > 0 && (more[0] as Seq) + 1 - (edges[last] as Seq) <= NEAR;
			if (isNear) edges.pop();
			for (let i = isNear ? 1 : 0; i < more.length; i++) edges.push(more[i] as Seq);
		}
	}

	/** The parts of the ranges that may hold records of the scope; all of them if it is wider than a session. */
	within(scope: Scope, ranges: readonly SeqRange[]): readonly SeqRange[] {
		if (scope.session === undefined) return ranges;
		const edges = this.#edges.get(keyOf(scope)) ?? [];
		const parts: SeqRange[] = [];
		for (const { after, through } of ranges) {
			if (after < this.#from) parts.push({ after, through: Math.min(through, this.#from) });
			for (let i = firstEnding(edges, after); i < edges.length && (edges[i] as Seq) < through; i += 2)
				parts.push({ after: Math.max(after, edges[i] as Seq), through: Math.min(through, edges[i + 1] as Seq) });
			// Newer records may belong to any session.
			if (through > this.seen) parts.push({ after: Math.max(after, this.seen), through });
		}
		return parts;
	}
}

/** The key of the session: the runs of a session count as part of it. */
const keyOf = ({ run, ...session }: Scope): string => scopeKey(session);

/** The index of the first span that ends after a seq. */
function firstEnding(edges: readonly Seq[], after: Seq): number {
	let low = 0;
	let high = edges.length / 2;
	while (low < high) {
		const middle = (low + high) >> 1;
		if ((edges[2 * middle + 1] as Seq) <= after) low = middle + 1;
		else high = middle;
	}
	return 2 * low;
}
