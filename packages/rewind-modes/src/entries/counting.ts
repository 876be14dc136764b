/** Counts the entries of a process: those that count, and what differs between two moments of its history. Reads only. */
import type { Reset, Timeline } from "@reyn/timetravel";
import { isMeta } from "@reyn/timetravel/internal";
import { type Scope, type Seq, type Wal, type WalRecord, within } from "@reyn/wal";
import { facetOf } from "../facets.ts";
import { type Counts, total } from "../preview-rewind.ts";
import { scopeOf } from "./entry.ts";
import type { Types } from "./types.ts";

export interface Counted {
	readonly counts: Counts;
	/** The types among them that are neither conversation nor code. */
	readonly unclassified: readonly string[];
	readonly byType: Readonly<Record<string, number>>;
	/** When the first and the last of them was appended, in milliseconds since 1970; undefined: there is none. */
	readonly span: readonly [first: number, last: number] | undefined;
}

export class Counting {
	readonly #wal: Wal;
	readonly #timeline: Timeline;
	readonly #types: Types;
	/** The totals that are known, by process. */
	readonly #totals = new Map<string, { readonly seq: Seq; readonly count: number }>();

	constructor(wal: Wal, timeline: Timeline, types: Types) {
		this.#wal = wal;
		this.#timeline = timeline;
		this.#types = types;
	}

	/** Takes note of how many entries count behind a rewind. */
	rewound(processId: string, seq: Seq, count: number): void {
		this.#totals.set(processId, { seq, count });
	}

	/** How many entries count now: the first time all are read, then what came since. */
	async total(processId: string): Promise<number> {
		const scope = scopeOf(processId);
		const { tip } = this.#wal;
		const known = this.#totals.get(processId) ?? { seq: 0, count: 0 };
		const { seq, count } = this.#resetsOf(scope).some((reset) => reset.seq > known.seq) ? { seq: 0, count: 0 } : known;
		const now = count + (await this.#count(this.#timeline.history(seq, scope, tip))).counts.all;
		this.#totals.set(processId, { seq: tip, count: now });
		return now;
	}

	/** The entries after a seq that count now. */
	after(seq: Seq, scope: Scope): Promise<Counted> {
		return this.#count(this.#timeline.history(seq, scope));
	}

	/** The entries up to a seq that count now and did not at that seq (`left`), and those that did and do not now (`back`). */
	async across(seq: Seq, scope: Scope): Promise<{ readonly left: Counts; readonly back: Counts }> {
		const { lineage } = this.#timeline;
		const [now, then] = [lineage.path(lineage.tip, {}), lineage.path(seq, {})];
		const [left, back] = [new Tally(this.#types), new Tally(this.#types)];
		const after = parting(this.#resetsOf(scope), seq);
		for await (const record of this.#wal.read({ after, through: seq, scope })) {
			const countsNow = now.has(record);
			if (countsNow !== then.has(record)) (countsNow ? left : back).add(record);
		}
		return { left: left.counted.counts, back: back.counted.counts };
	}

	async #count(records: AsyncIterable<WalRecord>): Promise<Counted> {
		const tally = new Tally(this.#types);
		for await (const record of records) tally.add(record);
		return tally.counted;
	}

	#resetsOf(scope: Scope): readonly Reset[] {
		return this.#timeline.lineage.resets.filter((reset) => within(reset.scope, scope));
	}
}

/** A seq up to which the line that ends at `seq` and the present one are the same. */
function parting(resets: readonly Reset[], seq: Seq): Seq {
	// Each reset after it leads to its target, and so to the resets after that.
	let low = seq;
	for (const reset of resets.toReversed()) if (reset.seq > low) low = Math.min(low, reset.target);
	return low;
}

class Tally {
	readonly #types: Types;
	readonly #byType = new Map<string, number>();
	#span: [first: number, last: number] | undefined;

	constructor(types: Types) {
		this.#types = types;
	}

	add({ kind, ts }: WalRecord): void {
		if (isMeta(kind)) return;
		this.#byType.set(kind, (this.#byType.get(kind) ?? 0) + 1);
		this.#span = [this.#span?.[0] ?? ts, ts];
	}

	get counted(): Counted {
		const counts = { conversation: 0, code: 0, other: 0 };
		const unclassified: string[] = [];
		for (const [kind, count] of this.#byType) {
			const facet = facetOf(kind, this.#types.facets);
			counts[facet] += count;
			if (facet === "other") unclassified.push(kind);
		}
		return { counts: total(counts), unclassified, byType: Object.fromEntries(this.#byType), span: this.#span };
	}
}
