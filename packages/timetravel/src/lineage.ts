/** Lineage: which records count for a state, in a log whose resets have gone back and left parts behind (docs/adr/0006). */
import type { Path, SeqRange } from "@reyn/snapshot";
import { type Scope, type Seq, scopeKey, type WalRecord, within } from "@reyn/wal";
import { type Branch, branchTree } from "./branches.ts";
import { Ancestry, type Edges, type Line, onAny, onEvery, straightLine } from "./line.ts";
import { isOutside } from "./records.ts";

/** The parts of a reset record that lineage needs. */
export interface Reset {
	readonly seq: Seq;
	/** The seq whose state it makes the current one again: 0 … seq - 1, on the path or off it. */
	readonly target: Seq;
	/** The record's own scope: the reset covers classes in it. */
	readonly scope: Scope;
	/** The kinds that it covers: absent means all, `[]` none. A meta kind and an outside one are never covered, listed or not. */
	readonly drop?: readonly string[];
}

export interface LineageOptions {
	/** Resets, checkpoints, labels and the like: no reset covers them and no state folds them. */
	isMeta(kind: string): boolean;
}

/** What decides whether a record is on a path. */
type Located = Pick<WalRecord, "seq" | "scope" | "kind">;

/**
 * The history of a log, as a value: its resets and its tip.
 *
 * A class is a scope and a kind. The parent of s is s - 1, except that the parent of a reset is its target in the
 * classes that it covers. The path of a class to s is s with all its ancestors; genesis, 0, is the last of them. A meta
 * record has no class: it is on a path if it is an ancestor in every class in its own scope, the scopes below included.
 * A record of an outside kind has none either: it is on every path that ends at it or after it.
 *
 * Scopes must nest: records and resets that name a session name its agent too, or none does.
 */
export class Lineage {
	readonly tip: Seq;
	/** The seq of the newest reset, or 0. */
	readonly newest: Seq;
	/** Of resets that came later too: moments of one history share it. */
	readonly #groups: Groups;
	/** How many of its resets count here. */
	readonly #count: number;
	/** The lines to the tip. All seqs since the newest reset share them; only a new reset changes them. */
	readonly #current: Lines;

	/**
	 * @param resets ascending by seq, none beyond the tip
	 * @param known for `advance` and `with` alone, which hand on what is known already
	 */
	constructor(
		resets: readonly Reset[],
		tip: Seq,
		options: LineageOptions,
		known: { readonly groups: Groups; readonly count: number; readonly current?: Lines } = {
			groups: new Groups(resets, options),
			count: resets.length,
		},
	) {
		const { groups, count } = known;
		const newest = groups.resets[count - 1]?.seq ?? 0;
		if (tip < newest) throw new RangeError(`expected a tip at or after the newest reset, ${newest}; got ${tip}`);
		this.tip = tip;
		this.newest = newest;
		this.#groups = groups;
		this.#count = count;
		this.#current = known.current ?? new Lines(groups, Number.MAX_SAFE_INTEGER, newest);
	}

	/** All resets, ascending by seq: O(resets). */
	get resets(): readonly Reset[] {
		return this.resetsAfter(0);
	}

	/** The resets after a seq, ascending. */
	resetsAfter(seq: Seq): readonly Reset[] {
		const { resets } = this.#groups;
		let from = this.#count;
		while (from > 0 && (resets[from - 1] as Reset).seq > seq) from--;
		return resets.slice(from, this.#count);
	}

	/** The same history after more records, none of them a reset. O(1): the known lines stay. */
	advance(tip: Seq): Lineage {
		return new Lineage([], tip, this.#groups.options, {
			groups: this.#groups,
			count: this.#count,
			current: this.#current,
		});
	}

	/** The same history after one more reset. O(log resets) at its end, where no reset like it came before O(resets). */
	with(reset: Reset, tip: Seq = reset.seq): Lineage {
		const groups = this.#groups.with(reset, this.#count);
		return new Lineage([], tip, groups.options, { groups, count: this.#count + 1 });
	}

	/** The line of history that ends at `to` (0 … tip), for the records in `scope`. */
	path(to: Seq, scope: Scope): LinePath {
		return new LinePath(this.#linesTo(to), to, scope);
	}

	/** Does this record count at the tip? */
	isActive(record: Located): boolean {
		return record.seq <= this.tip && this.#current.of(record).holds(record.seq);
	}

	/** Is `seq` an ancestor of `of` (or `of` itself) in every class that a reset with this scope and drop would cover? */
	isAncestor(seq: Seq, scope: Scope, drop?: readonly string[], of: Seq = this.tip): boolean {
		const covered = drop?.filter((kind) => !this.#groups.options.isMeta(kind));
		return seq === 0 || (seq <= of && this.#linesTo(of).ancestors(scope, covered).holds(seq));
	}

	/** The ancestors of `of` in every class in the scope that are nearest to `seq`: it itself, or the one before it and the one after it. */
	nearestAncestors(seq: Seq, scope: Scope, of: Seq): readonly [before: Seq, after: Seq] {
		if (seq === 0) return [0, 0];
		const line = this.#linesTo(of).inEvery(scope);
		return [line.upTo(seq), line.from(seq) ?? of];
	}

	/** Is `seq` an ancestor of the tip in any class in the scope? Then records of the scope after `seq` may count. */
	isAncestorInAny(seq: Seq, scope: Scope): boolean {
		return seq === 0 || (seq <= this.tip && this.#current.inAny(scope).holds(seq));
	}

	/**
	 * The reset that left this record behind: the newest on the path to the tip that covers the record's class and has
	 * target < seq < reset; for a meta record, the newest of any class in its scope. A record that is active has none, and so has
	 * a fact.
	 */
	abandonedBy({ seq, ...record }: Located): Seq | undefined {
		if (seq > this.tip) return undefined;
		const lines = this.#current.classesOf({ seq, ...record }).filter((line) => !line.holds(seq));
		return lines.length === 0 ? undefined : Math.max(...lines.map((line) => line.from(seq) as Seq));
	}

	/**
	 * Whether a reset to `target` would have seqs up to `through` no longer count (`leaves`), count again (`returns`), or count as now
	 * though they are beyond the target (`stays`): in any class, records or not.
	 */
	changes(
		{ target, scope, drop }: Omit<Reset, "seq">,
		through: Seq,
	): Readonly<Record<"leaves" | "returns" | "stays", boolean>> {
		const now = this.#current.classesIn(scope, drop).map((line) => line.edges(0));
		const then = this.#linesTo(target)
			.classesIn(scope, drop)
			.map((line) => edgesUpTo(line.edges(0), target));
		const isAll = drop === undefined && within({}, scope);
		return {
			leaves: now.some((edges, i) => exceeds(edges, then[i] as Edges, through)),
			returns: then.some((edges, i) => exceeds(edges, now[i] as Edges, through)),
			stays: !isAll && exceeds(this.#current.inAny({}).edges(target), [0, target], through),
		};
	}

	/** The tree that a picker draws, in log order; `main` comes first. A reset that covers nothing begins none. */
	branches(): readonly Branch[] {
		return branchTree(
			this.resets.filter(({ drop }) => drop?.length !== 0),
			this.tip,
		);
	}

	#linesTo(to: Seq): Lines {
		return to >= this.newest ? this.#current : new Lines(this.#groups, to, this.newest);
	}
}

export class LinePath implements Path {
	readonly tip: Seq;
	readonly scope: Scope;
	readonly #lines: Lines;
	/** A cache of the seqs that are bases for some kinds: a search through thousands of snapshots asks with the same kinds. */
	#bases: { readonly kinds: readonly string[]; readonly line: Line } | undefined;

	constructor(lines: Lines, tip: Seq, scope: Scope) {
		this.#lines = lines;
		this.tip = tip;
		this.scope = scope;
	}

	rangesAfter(seq: Seq): readonly SeqRange[] {
		return rangesOf(this.#lines.inAny(this.scope).edges(seq), this.tip);
	}

	/** The seqs at which a record of this scope and kind is on it; those beyond its tip do not count. */
	lineOf(record: Omit<Located, "seq">): Line {
		return this.#lines.of(record);
	}

	has(record: Located): boolean {
		return record.seq <= this.tip && this.#lines.of(record).holds(record.seq);
	}

	isBase(seq: Seq, kinds: readonly string[]): boolean {
		if (this.#bases?.kinds !== kinds) this.#bases = { kinds, line: this.#lines.ancestors(this.scope, kinds) };
		return seq === 0 || (seq <= this.tip && this.#bases.line.holds(seq));
	}
}

/** The lines of all classes to one seq. */
class Lines {
	readonly #groups: Groups;
	readonly #to: Seq;
	/** No reset after it counts. */
	readonly #newest: Seq;
	readonly #ofClass = new Map<number, Line>();
	readonly #inEvery = new Map<number, Line>();
	/** The line of facts. */
	readonly #straight: Line;
	/** The line of all classes, where they share one. */
	readonly #only: Line | undefined;

	constructor(groups: Groups, to: Seq, newest: Seq) {
		this.#groups = groups;
		this.#to = to;
		this.#newest = newest;
		this.#straight = straightLine(to);
		this.#only = groups.isOne ? this.#lineOf({}, OTHER) : undefined;
	}

	/** The seqs at which a record of this scope and kind is on its line. */
	of({ scope, kind }: Omit<Located, "seq">): Line {
		if (isOutside(kind)) return this.#straight;
		if (this.#only) return this.#only;
		const group = this.#groups.ofKind(kind);
		return group === META ? this.inEvery(scope) : this.#lineOf(scope, group);
	}

	/** The line of the record's class; for a meta record, those of all classes in its scope; for a fact, none. */
	classesOf({ scope, kind }: Located): Line[] {
		const group = this.#groups.ofKind(kind);
		if (group === OUTSIDE) return [];
		return group === META ? this.#classesIn(scope) : [this.#lineOf(scope, group)];
	}

	/** The seqs that are ancestors in every class of these kinds (absent means all) in the scope; genesis is one always. */
	ancestors(scope: Scope, kinds?: readonly string[]): Line {
		const groups = kinds && new Set(kinds.map((kind) => this.#groups.ofKind(kind)));
		// A meta record is judged by all classes.
		if (!groups || groups.has(META)) return this.inEvery(scope);
		groups.delete(OUTSIDE);
		const lines = this.#classesIn(scope, [...groups]);
		return lines.length > 0 ? onEvery(lines) : this.#straight;
	}

	/** The lines of the classes that a reset of this scope and drop covers, always in the same order. */
	classesIn(scope: Scope, drop?: readonly string[]): readonly Line[] {
		const kinds = drop
			? [...new Set(drop.map((kind) => this.#groups.ofKind(kind)))].filter((kind) => kind >= OTHER)
			: this.#groups.kinds;
		return this.#groups.scopesIn(scope).flatMap((each) => kinds.map((kind) => this.#lineOf(each, kind)));
	}

	/** The seqs that are ancestors in every class in the scope. */
	inEvery(scope: Scope): Line {
		const key = this.#groups.ofScope(scope);
		let line = this.#inEvery.get(key);
		if (!line) {
			line = onEvery(this.#classesIn(scope));
			this.#inEvery.set(key, line);
		}
		return line;
	}

	/** The seqs that are ancestors in any class in the scope. */
	inAny(scope: Scope): Pick<Line, "holds" | "edges"> {
		return onAny(this.#classesIn(scope));
	}

	#classesIn(scope: Scope, kinds = this.#groups.kinds): Line[] {
		const scopes = this.#groups.scopesIn(scope);
		return [...new Set(scopes.flatMap((each) => kinds.map((kind) => this.#lineOf(each, kind))))];
	}

	#lineOf(scope: Scope, kind: number): Line {
		const key = this.#groups.classOf(scope, kind);
		let line = this.#ofClass.get(key);
		if (!line) {
			line = this.#groups.ancestry(scope, kind).line(this.#to, this.#newest);
			this.#ofClass.set(key, line);
		}
		return line;
	}
}

/** The number of every kind that stands in no drop list. */
const OTHER = 0;
/** The number of a kind that forms no class. */
const META = -1;
/** The number of a kind whose records are on every path. */
const OUTSIDE = -2;

/**
 * Sorts the endless scopes and kinds into the few that these resets tell apart, and numbers them. Classes with the same
 * numbers are covered by the same resets, so one ancestry does for all of them. It grows by resets that tell nothing more apart.
 */
class Groups {
	readonly options: LineageOptions;
	/** Does every reset cover everything, as is common? Then all classes share one line, and meta records do too. */
	readonly isOne: boolean;
	/** The numbers of the kinds that form classes. */
	readonly kinds: readonly number[];
	readonly #resets: Reset[];
	/** The number of every kind met so far; at first the kinds that resets name. */
	readonly #kinds: Map<string, number>;
	/** The drop lists, in numbers, by their text; and that of each reset. */
	readonly #lists: ReadonlyMap<string, ReadonlySet<number>>;
	readonly #drops: (ReadonlySet<number> | undefined)[];
	/** The scopes that resets name, by key. */
	readonly #scopes: ReadonlyMap<string, Scope>;
	readonly #agents: Numbers;
	readonly #sessions: Numbers;
	readonly #runs: Numbers;
	/** Of each class that was asked for, with how many of the resets it has seen. */
	readonly #ancestries = new Map<number, { readonly ancestry: Ancestry; seen: number }>();

	constructor(resets: readonly Reset[], options: LineageOptions) {
		checkOrder(resets);
		const { isMeta } = options;
		this.options = options;
		this.#resets = [...resets];
		this.isOne = resets.every(isFull);

		// Full resets need no groups. Skipping them matters: there may be thousands.
		const different = this.isOne ? [] : resets;
		this.#agents = numbered(different.map(({ scope }) => scope.agent));
		this.#sessions = numbered(different.map(({ scope }) => scope.session));
		this.#runs = numbered(different.map(({ scope }) => scope.run));
		this.#scopes = new Map(different.map(({ scope }) => [scopeKey(scope), scope]));

		// Kinds that stand in the same drop lists form one group. There are few lists: one for each rewind mode.
		const lists = new Map(different.flatMap(({ drop }) => (drop ? [[nameOf(drop), drop]] : [])));
		const standsIn = new Map<string, string>();
		for (const [name, list] of lists) {
			for (const kind of new Set(list))
				if (!isMeta(kind) && !isOutside(kind)) standsIn.set(kind, (standsIn.get(kind) ?? "") + name);
		}
		const alike = ["", ...new Set(standsIn.values())];
		this.kinds = [...alike.keys()];
		this.#kinds = new Map([...standsIn].map(([kind, names]) => [kind, alike.indexOf(names)]));
		this.#lists = new Map([...lists].map(([name, list]) => [name, new Set(list.map((kind) => this.ofKind(kind)))]));
		this.#drops = different.map(({ drop }) => drop && this.#lists.get(nameOf(drop)));
	}

	/** Ascending by seq. */
	get resets(): readonly Reset[] {
		return this.#resets;
	}

	/** The groups of so many of the resets and one more: these, if that is the next one and tells nothing more apart. */
	with(reset: Reset, count: number): Groups {
		if (count < this.#resets.length || !this.#knows(reset))
			return new Groups([...this.#resets.slice(0, count), reset], this.options);
		checkOrder([reset], this.#resets.at(-1)?.seq);
		this.#resets.push(reset);
		if (!this.isOne) this.#drops.push(reset.drop && this.#lists.get(nameOf(reset.drop)));
		return this;
	}

	/** Are there classes for such a reset? */
	#knows(reset: Reset): boolean {
		if (this.isOne) return isFull(reset);
		const { scope, drop } = reset;
		return this.#scopes.has(scopeKey(scope)) && (drop === undefined || this.#lists.has(nameOf(drop)));
	}

	ofKind(kind: string): number {
		let number = this.#kinds.get(kind);
		if (number === undefined) {
			number = isOutside(kind) ? OUTSIDE : this.options.isMeta(kind) ? META : OTHER;
			this.#kinds.set(kind, number);
		}
		return number;
	}

	ofScope({ agent, session, run }: Scope): number {
		const outer = numberOf(agent, this.#agents) * (this.#sessions.size + 2) + numberOf(session, this.#sessions);
		return outer * (this.#runs.size + 2) + numberOf(run, this.#runs);
	}

	classOf(scope: Scope, kind: number): number {
		return this.ofScope(scope) * this.kinds.length + kind;
	}

	/** The scope itself, which stands for all scopes below it that no reset names, and the scopes below it that a reset names. */
	scopesIn(scope: Scope): readonly Scope[] {
		return [scope, ...[...this.#scopes.values()].filter((named) => within(named, scope))];
	}

	/** What the resets that cover the classes of this scope and kind make of the log. */
	ancestry(scope: Scope, kind: number): Ancestry {
		const key = this.classOf(scope, kind);
		const known = this.#ancestries.get(key) ?? { ancestry: new Ancestry(), seen: 0 };
		this.#ancestries.set(key, known);
		for (; known.seen < this.#resets.length; known.seen++) {
			const reset = this.#resets[known.seen] as Reset;
			if (within(scope, reset.scope) && this.#drops[known.seen]?.has(kind) !== false) known.ancestry.add(reset);
		}
		return known.ancestry;
	}
}

/** Does the reset cover everything? */
const isFull = ({ scope, drop }: Reset): boolean => drop === undefined && within({}, scope);

/** Names, numbered from 2 on. */
type Numbers = ReadonlyMap<string, number>;

function numbered(names: readonly (string | undefined)[]): Numbers {
	const numbers = new Map<string, number>();
	for (const name of names) if (name !== undefined && !numbers.has(name)) numbers.set(name, numbers.size + 2);
	return numbers;
}

/** 0 for no name, 1 for a name without a number. They differ: a reset may name a scope below the first, never below the second. */
function numberOf(name: string | undefined, numbers: Numbers): number {
	return name === undefined ? 0 : (numbers.get(name) ?? 1);
}

function countBefore(edges: Edges, seq: Seq): number {
	let low = 0;
	let high = edges.length;
	while (low < high) {
		const middle = (low + high) >> 1;
		if ((edges[middle] as number) < seq) low = middle + 1;
		else high = middle;
	}
	return low;
}

/** The same seqs without those after one. */
function edgesUpTo(edges: Edges, seq: Seq): Edges {
	const before = edges.slice(0, countBefore(edges, seq));
	return before.length % 2 === 1 ? [...before, seq] : before;
}

/** Is a seq up to `through` in the first set, and not in the second? */
function exceeds(edges: Edges, others: Edges, through: Seq): boolean {
	for (let i = 0; i < edges.length; i += 2) {
		const first = (edges[i] as number) + 1;
		const last = Math.min(edges[i + 1] as number, through);
		if (first > last) return false;
		const before = countBefore(others, first);
		if (before % 2 === 0 || (others[before] as number) < last) return true;
	}
	return false;
}

function rangesOf(edges: Edges, tip: Seq): readonly SeqRange[] {
	const ranges: SeqRange[] = [];
	for (let i = 0; i < edges.length; i += 2) {
		const range = { after: edges[i] as number, through: Math.min(edges[i + 1] as number, tip) };
		if (range.after < range.through) ranges.push(range);
	}
	return ranges;
}

const nameOf = (drop: readonly string[]): string => JSON.stringify(drop);

function checkOrder(resets: readonly Reset[], after: Seq = 0): void {
	let newest = after;
	for (const { seq, target } of resets) {
		if (!(seq > newest)) throw new RangeError(`expected resets in log order; got ${seq} after ${newest}`);
		if (!(target >= 0 && target < seq))
			throw new RangeError(`expected a target of 0 … ${seq - 1}; reset ${seq} has ${target}`);
		newest = seq;
	}
}
