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

/** The n-th of each column is of the n-th checkpoint. */
export interface Columns {
	readonly seqs: readonly Seq[];
	readonly times: readonly number[];
	readonly scopes: readonly Scope[];
	readonly kinds: readonly Mark["kind"][];
	readonly titles: readonly string[];
}

/** Checkpoints in the order of their seqs. */
export class Marks implements Iterable<Mark> {
	readonly #seqs: Seq[] = [];
	readonly #times: number[] = [];
	readonly #scopes: Scope[] = [];
	readonly #kinds: Mark["kind"][] = [];
	readonly #titles: string[] = [];

	get length(): number {
		return this.#seqs.length;
	}

	get columns(): Columns {
		return {
			seqs: this.#seqs,
			times: this.#times,
			scopes: this.#scopes,
			kinds: this.#kinds,
			titles: this.#titles,
		};
	}

	/** The seq of the newest one, or 0. */
	get newest(): Seq {
		return this.#seqs.at(-1) ?? 0;
	}

	/** @param place from 0 on; there has to be one */
	at(place: number): Mark {
		return {
			seq: this.#seqs[place] as Seq,
			ts: this.#times[place] as number,
			scope: this.#scopes[place] as Scope,
			kind: this.#kinds[place] as Mark["kind"],
			title: this.#titles[place] as string,
		};
	}

	*[Symbol.iterator](): Generator<Mark> {
		for (let place = 0; place < this.length; place++) yield this.at(place);
	}

	/** How many of them come before a seq. */
	countBelow(seq: Seq): number {
		let [low, high] = [0, this.length];
		while (low < high) {
			const middle = (low + high) >>> 1;
			if ((this.#seqs[middle] as Seq) < seq) low = middle + 1;
			else high = middle;
		}
		return low;
	}

	/** Adds one that comes behind all others. */
	push({ seq, ts, scope, kind, title }: Mark): void {
		this.#seqs.push(seq);
		this.#times.push(ts);
		this.#scopes.push(scope);
		this.#kinds.push(kind);
		this.#titles.push(title);
	}

	/** Adds those that come behind all others. */
	append({ seqs, times, scopes, kinds, titles }: Columns): void {
		for (let place = 0; place < seqs.length; place++) {
			this.#seqs.push(seqs[place] as Seq);
			this.#times.push(times[place] as number);
			this.#scopes.push(scopes[place] as Scope);
			this.#kinds.push(kinds[place] as Mark["kind"]);
			this.#titles.push(titles[place] as string);
		}
	}
}
