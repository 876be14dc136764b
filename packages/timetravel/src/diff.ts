/** What differs between two states: as a value for JSON, and as lines for people. */
import { type AnyProjection, List, type View } from "@reyn/snapshot";
import { canonicalJson, type Scope, type Seq } from "@reyn/wal";

/** One difference, at `path`, the keys from the root of the state. An absent value has no `before` or `after`. */
export type Change =
	| { readonly kind: "added"; readonly path: readonly string[]; readonly after: unknown }
	| { readonly kind: "removed"; readonly path: readonly string[]; readonly before: unknown }
	| { readonly kind: "changed"; readonly path: readonly string[]; readonly before: unknown; readonly after: unknown }
	/** For a list or an array: at this index the items `before` were replaced by `after`. All others are the same. */
	| {
			readonly kind: "spliced";
			readonly path: readonly string[];
			readonly at: number;
			readonly before: readonly unknown[];
			readonly after: readonly unknown[];
	  };

export interface StateDiff {
	readonly from: Seq;
	readonly to: Seq;
	readonly scope: Scope;
	/** The changes by projection name; an empty list where the states are equal. */
	readonly projections: Readonly<Record<string, readonly Change[]>>;
}

/**
 * The changes that lead from the states of `a` to those of `b`. Stored parts that both lists share are skipped, so the cost is that
 * of the records between the two moments, however long the history is.
 *
 * @param projections which to compare; default: all
 * @throws SnapshotError `SNAPSHOT_UNREGISTERED`
 */
export function diffViews(a: View, b: View, projections: readonly AnyProjection[] = a.projections): StateDiff {
	const changes = projections.map((each) => [each.name, [...between([], a.get(each), b.get(each))]] as const);
	return { from: a.seq, to: b.seq, scope: a.scope, projections: Object.fromEntries(changes) };
}

/** A line for each change and for each changed item of a list; values are JSON. No lines when nothing differs. */
export function diffLines({ projections }: StateDiff): readonly string[] {
	return Object.entries(projections).flatMap(([name, changes]) =>
		changes.length === 0 ? [] : [name, ...changes.flatMap(linesOf)],
	);
}

type Items = readonly unknown[] | List<unknown>;
type Fields = Readonly<Record<string, unknown>>;

function* between(path: readonly string[], before: unknown, after: unknown): Generator<Change> {
	if (before === after) return;
	if (isItems(before) && isItems(after)) return yield* spliced(path, before, after);
	if (isFields(before) && isFields(after)) {
		const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
		for (const key of [...keys].sort()) yield* field([...path, key], own(before, key), own(after, key));
	} else if (!isSame(before, after)) yield { path, kind: "changed", before, after };
}

/** A key whose value is `undefined` is absent, as in JSON. */
function* field(path: readonly string[], before: unknown, after: unknown): Generator<Change> {
	if (before === undefined && after === undefined) return;
	if (before === undefined) yield { path, kind: "added", after };
	else if (after === undefined) yield { path, kind: "removed", before };
	else yield* between(path, before, after);
}

/** The difference of two lists as one splice: two lines of history share a beginning, and comparing their tails item by item is noise. */
function* spliced(path: readonly string[], before: Items, after: Items): Generator<Change> {
	const shorter = Math.min(before.length, after.length);
	let at = before instanceof List && after instanceof List ? before.sharedStart(after) : 0;
	while (at < shorter && isSame(before.at(at), after.at(at))) at++;
	let same = 0;
	while (same < shorter - at && isSame(before.at(-1 - same), after.at(-1 - same))) same++;
	const gone = slice(before, at, before.length - same);
	const come = slice(after, at, after.length - same);
	if (gone.length + come.length > 0) yield { path, kind: "spliced", at, before: gone, after: come };
}

function linesOf(change: Change): readonly string[] {
	const where = pathText(change.path);
	const named = (value: unknown): string => (where === "" ? json(value) : `${where}: ${json(value)}`);
	switch (change.kind) {
		case "added":
			return [`  + ${named(change.after)}`];
		case "removed":
			return [`  - ${named(change.before)}`];
		case "changed":
			return [`  ~ ${named(change.before)} → ${json(change.after)}`];
		case "spliced":
			return [
				`  ~ ${where}[${change.at}]: ${change.before.length} taken away, ${change.after.length} added`,
				...change.before.map((item) => `    - ${json(item)}`),
				...change.after.map((item) => `    + ${json(item)}`),
			];
	}
}

const pathText = (path: readonly string[]): string =>
	path.map((key, i) => (/^[\w-]+$/.test(key) ? `${i > 0 ? "." : ""}${key}` : `[${json(key)}]`)).join("");

const json = (value: unknown): string => JSON.stringify(value);

const isItems = (value: unknown): value is Items => Array.isArray(value) || value instanceof List;

const isFields = (value: unknown): value is Fields => typeof value === "object" && value !== null && !isItems(value);

/** The value of a key of the state's own: a key may be called `constructor`. */
const own = (fields: Fields, key: string): unknown => (Object.hasOwn(fields, key) ? fields[key] : undefined);

const isSame = (one: unknown, other: unknown): boolean => one === other || canonicalJson(one) === canonicalJson(other);

const slice = (items: Items, from: number, to: number): readonly unknown[] =>
	Array.from({ length: to - from }, (_, i) => items.at(from + i));
