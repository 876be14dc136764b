/** Lineage: which records count for a state, in a log whose resets have gone back and left parts behind (docs/adr/0006). */
import type { Path, SeqRange } from "@reyn/snapshot";
import { type Scope, type Seq, type WalRecord, within } from "@reyn/wal";
import { type Branch, branchTree } from "./branches.ts";
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
	/** Ascending by seq, none beyond the tip. */
	readonly resets: readonly Reset[];
	readonly tip: Seq;
	readonly #options: LineageOptions;
	/** The paths to the tip. All seqs since the newest reset share them; only a new reset changes them. */
	readonly #current: Paths;

	/** @param current for `advance` alone, which hands on the paths that are known already */
	constructor(
		resets: readonly Reset[],
		tip: Seq,
		options: LineageOptions,
		current = new Paths(new Groups(resets, options), Number.MAX_SAFE_INTEGER),
	) {
		const newest = newestOf(resets);
		if (tip < newest) throw new RangeError(`expected a tip at or after the newest reset, ${newest}; got ${tip}`);
		this.resets = resets;
		this.tip = tip;
		this.#options = options;
		this.#current = current;
	}

	/** The same history after more records, none of them a reset. O(1): the known paths stay. */
	advance(tip: Seq): Lineage {
		return new Lineage(this.resets, tip, this.#options, this.#current);
	}

	/** The same history after one more reset: O(resets). */
	with(reset: Reset, tip: Seq = reset.seq): Lineage {
		return new Lineage([...this.resets, reset], tip, this.#options);
	}

	/** The line of history that ends at `to` (0 … tip), for the records in `scope`. */
	path(to: Seq, scope: Scope): Path {
		return new LinePath(this.#pathsTo(to), to, scope);
	}

	/** Does this record count at the tip? */
	isActive(record: Located): boolean {
		return record.seq <= this.tip && holds(this.#current.of(record), record.seq);
	}

	/** Is `seq` an ancestor of `of` (or `of` itself) in every class that a reset with this scope and drop would cover? */
	isAncestor(seq: Seq, scope: Scope, drop?: readonly string[], of: Seq = this.tip): boolean {
		const covered = drop?.filter((kind) => !this.#options.isMeta(kind));
		return seq === 0 || (seq <= of && holds(this.#pathsTo(of).ancestors(scope, covered), seq));
	}

	/** The ancestors of `of` in every class in the scope that are nearest to `seq`: it itself, or the one before it and the one after it. */
	nearestAncestors(seq: Seq, scope: Scope, of: Seq): readonly [before: Seq, after: Seq] {
		const edges = this.#pathsTo(of).inEvery(scope);
		const before = countBefore(edges, seq);
		if (seq === 0 || before % 2 === 1) return [seq, seq];
		return [edges[before - 1] ?? 0, (edges[before] ?? of - 1) + 1];
	}

	/** Is `seq` an ancestor of the tip in any class in the scope? Then records of the scope after `seq` may count. */
	isAncestorInAny(seq: Seq, scope: Scope): boolean {
		return seq === 0 || (seq <= this.tip && holds(this.#current.inAny(scope), seq));
	}

	/**
	 * The reset that left this record behind: the newest on the path to the tip that covers the record's class and has
	 * target < seq < reset; for a meta record, the newest of any class in its scope. A record that is active has none, and so has
	 * a fact.
	 */
	abandonedBy(record: Located): Seq | undefined {
		if (record.seq > this.tip) return undefined;
		const resets = this.#current.classesOf(record).map((path) => gapEnd(path, record.seq));
		return Math.max(0, ...resets) || undefined;
	}

	/**
	 * Whether a reset to `target` would have seqs up to `through` no longer count (`leaves`), count again (`returns`), or count as now
	 * though they are beyond the target (`stays`): in any class, records or not.
	 */
	changes(
		{ target, scope, drop }: Omit<Reset, "seq">,
		through: Seq,
	): Readonly<Record<"leaves" | "returns" | "stays", boolean>> {
		const now = this.#current.classesIn(scope, drop);
		const then = this.#pathsTo(target)
			.classesIn(scope, drop)
			.map((edges) => upTo(edges, target));
		const isAll = drop === undefined && within({}, scope);
		return {
			leaves: now.some((edges, i) => exceeds(edges, then[i] as Edges, through)),
			returns: then.some((edges, i) => exceeds(edges, now[i] as Edges, through)),
			stays: !isAll && exceeds(this.#current.inAny({}), Float64Array.of(0, target), through),
		};
	}

	/** The tree that a picker draws, in log order; `main` comes first. A reset that covers nothing begins none. */
	branches(): readonly Branch[] {
		return branchTree(
			this.resets.filter(({ drop }) => drop?.length !== 0),
			this.tip,
		);
	}

	#pathsTo(to: Seq): Paths {
		return to >= newestOf(this.resets) ? this.#current : new Paths(this.#current.groups, to);
	}
}

class LinePath implements Path {
	readonly tip: Seq;
	readonly scope: Scope;
	readonly #paths: Paths;
	#ranges: readonly SeqRange[] | undefined;
	/** A cache of the seqs that are bases for some kinds: a search through thousands of snapshots asks with the same kinds. */
	#bases: { readonly kinds: readonly string[]; readonly edges: Edges } | undefined;

	constructor(paths: Paths, tip: Seq, scope: Scope) {
		this.#paths = paths;
		this.tip = tip;
		this.scope = scope;
	}

	get ranges(): readonly SeqRange[] {
		this.#ranges ??= rangesOf(this.#paths.inAny(this.scope), this.tip);
		return this.#ranges;
	}

	has(record: Located): boolean {
		return record.seq <= this.tip && holds(this.#paths.of(record), record.seq);
	}

	isBase(seq: Seq, kinds: readonly string[]): boolean {
		if (this.#bases?.kinds !== kinds) this.#bases = { kinds, edges: this.#paths.ancestors(this.scope, kinds) };
		return seq === 0 || (seq <= this.tip && holds(this.#bases.edges, seq));
	}
}

/** The paths of all classes to one seq; each is walked when it is first asked for. */
class Paths {
	readonly groups: Groups;
	readonly #to: Seq;
	readonly #ofClass = new Map<number, Edges>();
	readonly #inEvery = new Map<number, Edges>();
	/** The path of facts: all records, as if there were no resets. */
	readonly #straight: Edges;

	constructor(groups: Groups, to: Seq) {
		this.groups = groups;
		this.#to = to;
		this.#straight = Float64Array.of(0, to);
	}

	/** The seqs at which a record of this scope and kind is on its path. */
	of({ scope, kind }: Located): Edges {
		if (isOutside(kind)) return this.#straight;
		if (this.groups.isOne) return this.#walk({}, OTHER);
		const group = this.groups.ofKind(kind);
		return group === META ? this.inEvery(scope) : this.#walk(scope, group);
	}

	/** The path of the record's class; for a meta record, those of all classes in its scope; for a fact, none. */
	classesOf({ scope, kind }: Located): Edges[] {
		const group = this.groups.ofKind(kind);
		if (group === OUTSIDE) return [];
		return group === META ? this.#classesIn(scope) : [this.#walk(scope, group)];
	}

	/** The seqs that are ancestors in every class of these kinds (absent means all) in the scope; genesis is one always. */
	ancestors(scope: Scope, kinds?: readonly string[]): Edges {
		const groups = kinds && new Set(kinds.map((kind) => this.groups.ofKind(kind)));
		// A meta record is judged by all classes.
		if (!groups || groups.has(META)) return this.inEvery(scope);
		groups.delete(OUTSIDE);
		const paths = this.#classesIn(scope, [...groups]);
		return paths.length > 0 ? overlay(paths, paths.length) : this.#straight;
	}

	/** The paths of the classes that a reset of this scope and drop covers, always in the same order. */
	classesIn(scope: Scope, drop?: readonly string[]): readonly Edges[] {
		const kinds = drop
			? [...new Set(drop.map((kind) => this.groups.ofKind(kind)))].filter((kind) => kind >= OTHER)
			: this.groups.kinds;
		return this.groups.scopesIn(scope).flatMap((each) => kinds.map((kind) => this.#walk(each, kind)));
	}

	/** The seqs that are ancestors in every class in the scope. */
	inEvery(scope: Scope): Edges {
		const key = this.groups.ofScope(scope);
		let edges = this.#inEvery.get(key);
		if (!edges) {
			const paths = this.#classesIn(scope);
			edges = overlay(paths, paths.length);
			this.#inEvery.set(key, edges);
		}
		return edges;
	}

	/** The seqs that are ancestors in any class in the scope. */
	inAny(scope: Scope): Edges {
		return overlay(this.#classesIn(scope), 1);
	}

	#classesIn(scope: Scope, kinds = this.groups.kinds): Edges[] {
		const scopes = this.groups.scopesIn(scope);
		return [...new Set(scopes.flatMap((each) => kinds.map((kind) => this.#walk(each, kind))))];
	}

	#walk(scope: Scope, kind: number): Edges {
		const key = this.groups.ofScope(scope) * this.groups.kinds.length + kind;
		let edges = this.#ofClass.get(key);
		if (!edges) {
			edges = walk(this.groups.covering(scope, kind), this.#to);
			this.#ofClass.set(key, edges);
		}
		return edges;
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
 * numbers are covered by the same resets, so one walk does for all of them.
 */
class Groups {
	/** Does every reset cover everything, as is common? Then all classes share one path, and meta records do too. */
	readonly isOne: boolean;
	/** The numbers of the kinds that form classes. */
	readonly kinds: readonly number[];
	readonly #resets: readonly Reset[];
	readonly #isMeta: (kind: string) => boolean;
	/** The number of every kind met so far; at first the kinds that resets name. */
	readonly #kinds: Map<string, number>;
	/** Each reset's drop, in numbers. */
	readonly #drops: readonly (ReadonlySet<number> | undefined)[];
	readonly #scopes: readonly Scope[];
	readonly #agents: Numbers;
	readonly #sessions: Numbers;
	readonly #runs: Numbers;

	constructor(resets: readonly Reset[], { isMeta }: LineageOptions) {
		checkOrder(resets);
		this.#resets = resets;
		this.#isMeta = isMeta;
		this.isOne = resets.every(({ scope, drop }) => drop === undefined && within({}, scope));

		// Full resets need no groups. Skipping them matters: there may be thousands, and this runs at each new reset.
		const different = this.isOne ? [] : resets;
		this.#agents = numbered(different.map(({ scope }) => scope.agent));
		this.#sessions = numbered(different.map(({ scope }) => scope.session));
		this.#runs = numbered(different.map(({ scope }) => scope.run));
		this.#scopes = [...new Map(different.map(({ scope }) => [this.ofScope(scope), scope])).values()];

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
		const drops = new Map([...lists].map(([name, list]) => [name, new Set(list.map((kind) => this.ofKind(kind)))]));
		this.#drops = different.map(({ drop }) => drop && drops.get(nameOf(drop)));
	}

	ofKind(kind: string): number {
		let number = this.#kinds.get(kind);
		if (number === undefined) {
			number = isOutside(kind) ? OUTSIDE : this.#isMeta(kind) ? META : OTHER;
			this.#kinds.set(kind, number);
		}
		return number;
	}

	ofScope({ agent, session, run }: Scope): number {
		const outer = numberOf(agent, this.#agents) * (this.#sessions.size + 2) + numberOf(session, this.#sessions);
		return outer * (this.#runs.size + 2) + numberOf(run, this.#runs);
	}

	/** The scope itself, which stands for all scopes below it that no reset names, and the scopes below it that a reset names. */
	scopesIn(scope: Scope): readonly Scope[] {
		return [scope, ...this.#scopes.filter((named) => within(named, scope))];
	}

	/** The resets that cover the classes of this scope and kind, in log order. */
	covering(scope: Scope, kind: number): readonly Reset[] {
		return this.#resets.filter((reset, i) => within(scope, reset.scope) && this.#drops[i]?.has(kind) !== false);
	}
}

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

/**
 * A set of seqs as its edges: (e0, e1] and (e2, e3] and …, all ascending. A seq is in the set if the number of edges
 * before it is odd.
 */
type Edges = Float64Array;

function holds(edges: Edges, seq: Seq): boolean {
	return countBefore(edges, seq) % 2 === 1;
}

/** The reset at which a path goes on after `seq`, or 0 if `seq` is on it. */
function gapEnd(edges: Edges, seq: Seq): Seq {
	const before = countBefore(edges, seq);
	return before % 2 === 1 ? 0 : (edges[before] ?? 0) + 1;
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

/** From `to` back to genesis through the parents: down to the newest reset in the way, over to its target, and on. */
function walk(resets: readonly Reset[], to: Seq): Edges {
	const edges: number[] = [];
	let from = to;
	for (let i = resets.length - 1; i >= 0; i--) {
		const { seq, target } = resets[i] as Reset;
		const skipsNothing = target === seq - 1;
		if (seq > from || skipsNothing) continue;
		edges.push(from, seq - 1);
		from = target;
	}
	if (from > 0) edges.push(from, 0);
	return Float64Array.from(edges.reverse());
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

/** The seqs that are in at least so many of the sets. */
function overlay(sets: readonly Edges[], atLeast: number): Edges {
	const [only] = sets;
	if (only && sets.length === 1) return only;

	const starts = Float64Array.from(sets.flatMap((edges) => [...edges.filter((_, i) => i % 2 === 0)])).sort();
	const ends = Float64Array.from(sets.flatMap((edges) => [...edges.filter((_, i) => i % 2 === 1)])).sort();
	const edges: number[] = [];
	let started = 0;
	let ended = 0;
	while (ended < ends.length) {
		const wasIn = started - ended >= atLeast;
		const at = Math.min(starts[started] ?? Number.POSITIVE_INFINITY, ends[ended] as number);
		while (starts[started] === at) started++;
		while (ends[ended] === at) ended++;
		if (started - ended >= atLeast !== wasIn) edges.push(at);
	}
	return Float64Array.from(edges);
}

const upTo = (edges: Edges, seq: Seq): Edges =>
	Float64Array.from(rangesOf(edges, seq).flatMap(({ after, through }) => [after, through]));

function rangesOf(edges: Edges, tip: Seq): readonly SeqRange[] {
	const ranges: SeqRange[] = [];
	for (let i = 0; i < edges.length; i += 2) {
		const range = { after: edges[i] as number, through: Math.min(edges[i + 1] as number, tip) };
		if (range.after < range.through) ranges.push(range);
	}
	return ranges;
}

function newestOf(resets: readonly Reset[]): Seq {
	return resets.at(-1)?.seq ?? 0;
}

function nameOf(drop: readonly string[]): string {
	return JSON.stringify(drop);
}

function checkOrder(resets: readonly Reset[]): void {
	let newest = 0;
	for (const { seq, target } of resets) {
		if (!(seq > newest)) throw new RangeError(`expected resets in log order; got ${seq} after ${newest}`);
		if (!(target >= 0 && target < seq))
			throw new RangeError(`expected a target of 0 … ${seq - 1}; reset ${seq} has ${target}`);
		newest = seq;
	}
}
