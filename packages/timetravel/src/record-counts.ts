/** Counts records by what they are. A stretch of the log is looked through once, and after that counted in memory: 4 bytes a record. */
import { type Scope, type Seq, scopeKey, type Wal, within } from "@reyn/wal";
import type { Line } from "./line.ts";
import type { LinePath } from "./lineage.ts";

/** How many records there are of a kind in exactly this scope. */
export interface RecordCount {
	readonly kind: string;
	readonly scope: Scope;
	readonly count: number;
}

/** So many records are looked through at a time. */
const BLOCK = 1024;

interface Block {
	/** For each record the number of what it is, from 1 on; 0: there is none, or it was not looked at yet. */
	readonly numbers: Uint32Array;
	/** The last record that was looked at. */
	through: Seq;
}

/** Goes along the seqs of a line, ascending. */
interface Walk {
	readonly edges: readonly Seq[];
	at: number;
}

export class RecordCounts {
	readonly #wal: Wal;
	readonly #blocks = new Map<number, Block>();
	/** What records are; the first stands for none. */
	readonly #classes: Omit<RecordCount, "count">[] = [{ kind: "", scope: {} }];
	readonly #numbers = new Map<string, number>();
	/** A cache of the same by scope object: a log gives equal scopes as one object. */
	readonly #ofScope = new WeakMap<Scope, Map<string, number>>();

	constructor(wal: Wal) {
		this.#wal = wal;
	}

	/**
	 * Counts the records of a path after a seq in a scope, each kind and scope in the order of its first record.
	 *
	 * @param gone the last seq whose record was taken away, or 0; no greater than `after`
	 */
	async count(path: LinePath, after: Seq, scope: Scope, gone: Seq): Promise<readonly RecordCount[]> {
		const counts: number[] = [];
		const walks = new Map<Line, Walk>();
		/** By number; null: outside of the scope. */
		const walkOf: (Walk | null | undefined)[] = [];
		const walking = (number: number): Walk | null => {
			const each = this.#classes[number] as Omit<RecordCount, "count">;
			if (!within(each.scope, scope)) return null;
			const line = path.lineOf(each);
			const walk = walks.get(line) ?? { edges: line.edges(after), at: 0 };
			walks.set(line, walk);
			return walk;
		};
		const found: number[] = [];
		for (let at = Math.floor(after / BLOCK); at * BLOCK < path.tip; at++) {
			const start = at * BLOCK;
			const { numbers } = await this.#block(at, path.tip, gone);
			const end = Math.min(path.tip - start, BLOCK);
			for (let i = Math.max(after - start, 0); i < end; i++) {
				const number = numbers[i] as number;
				if (number === 0) continue;
				const known = walkOf[number];
				const walk = known === undefined ? walking(number) : known;
				walkOf[number] = walk;
				if (walk === null || !holds(walk, start + i + 1)) continue;
				if (counts[number] === undefined) found.push(number);
				counts[number] = (counts[number] ?? 0) + 1;
			}
		}
		return found.map((number) => ({ ...(this.#classes[number] as RecordCount), count: counts[number] as number }));
	}

	/** The records from a multiple of the size of a block on, up to a seq at least. */
	async #block(at: number, through: Seq, gone: Seq): Promise<Block> {
		const start = at * BLOCK;
		const known = this.#blocks.get(at) ?? { numbers: new Uint32Array(BLOCK), through: start };
		this.#blocks.set(at, known);
		const last = Math.min(through, start + BLOCK);
		if (known.through >= last) return known;
		const after = Math.max(known.through, gone);
		for await (const { seq, kind, scope } of this.#wal.read({ after, through: last, dataOf: [] })) {
			known.numbers[seq - start - 1] = this.#numberOf(kind, scope);
			known.through = Math.max(known.through, seq);
		}
		return known;
	}

	#numberOf(kind: string, scope: Scope): number {
		const ofScope = this.#ofScope.get(scope) ?? new Map<string, number>();
		this.#ofScope.set(scope, ofScope);
		let number = ofScope.get(kind);
		if (number === undefined) {
			const key = `${scopeKey(scope)} ${kind}`;
			number = this.#numbers.get(key) ?? this.#classes.push({ kind, scope }) - 1;
			this.#numbers.set(key, number);
			ofScope.set(kind, number);
		}
		return number;
	}
}

/** Is a seq on the line? It is no smaller than the one asked for before. */
function holds(walk: Walk, seq: Seq): boolean {
	const { edges } = walk;
	while (walk.at < edges.length && (edges[walk.at + 1] as Seq) < seq) walk.at += 2;
	return walk.at < edges.length && (edges[walk.at] as Seq) < seq;
}
