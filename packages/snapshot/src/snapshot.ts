/** The format of a stored view: a root with the log, seq and record that it belongs to, its states, and references to list chunks. */
import { type Scope, type Seq, scopeKey, type WalRecord } from "@reyn/wal";
import { assertJson } from "@reyn/wal/internal";
import { z } from "zod";
import { encodeList, type Fresh, loadList, type StoredList, storedList } from "./chunks.ts";
import { entryAt } from "./entry-at.ts";
import { SnapshotError } from "./errors.ts";
import { fit, Misfit } from "./fit.ts";
import { kindsOf, View } from "./fold.ts";
import { List } from "./list.ts";
import type { AnyProjection } from "./projection.ts";
import { type SnapshotStore, sealed, unsealed } from "./store.ts";

const FORMAT_VERSION = 1;

const storedState = z.strictObject({
	version: z.int(),
	/** The kinds of record that were folded, sorted. */
	kinds: z.array(z.string()),
	state: z.unknown(),
	lists: z.record(z.string(), storedList),
});

const envelope = z.strictObject({
	v: z.literal(FORMAT_VERSION),
	log: z.string(),
	seq: z.int().nonnegative(),
	/** The crc of the record at `seq`: a seq that was used twice, because of a torn tail, does not match. */
	crc: z.string(),
	scope: z.strictObject({
		agent: z.string().optional(),
		session: z.string().optional(),
		run: z.string().optional(),
	}) as z.ZodType<Scope>,
	states: z.record(z.string(), storedState),
});

export type Root = z.infer<typeof envelope>;

/** The record that a snapshot belongs to. */
export interface SnapshotKey {
	readonly log: string;
	readonly scope: Scope;
	readonly seq: Seq;
	readonly crc: string;
}

export type Read =
	| { readonly kind: "root"; readonly root: Root }
	| { readonly kind: "rotten"; readonly why: string }
	| { readonly kind: "newer"; readonly version: unknown };

export type Loaded =
	| { readonly kind: "view"; readonly view: View }
	/** Sound, but of no use here: it is of another log, of another record with this seq, or lacks a projection. */
	| { readonly kind: "foreign"; readonly why: string }
	| { readonly kind: "newer"; readonly version: unknown };

/** A snapshot to be stored: the text of its root (a line with a checksum, a line of JSON) and its new chunks. */
export interface Encoded {
	readonly text: string;
	readonly fresh: Fresh;
}

/** @throws SnapshotError `SNAPSHOT_NOT_JSON` */
export async function encodeSnapshot(key: SnapshotKey, view: View, store: SnapshotStore): Promise<Encoded> {
	const fresh: Fresh = new Map();
	const states: [string, z.input<typeof storedState>][] = [];
	for (const projection of view.projections) {
		const { name, version } = projection;
		try {
			const { rest, lists } = parted(projection, view.get(projection));
			assertJson(rest);
			const stored: Record<string, StoredList> = {};
			for (const [at, list] of Object.entries(lists)) {
				const schema = projection.lists[at];
				stored[at] = await encodeList(asList(list, at), { name: at, store, schema, fresh });
			}
			states.push([name, { version, kinds: [...kindsOf([projection])], state: rest, lists: stored }]);
		} catch (cause) {
			throw notJson(cause, name, key.seq);
		}
	}
	const { log, seq, crc, scope } = key;
	const root: Root = { v: FORMAT_VERSION, log, seq, crc, scope, states: Object.fromEntries(states) };
	return { text: sealed(JSON.stringify(root)), fresh };
}

export function readRoot(text: string): Read {
	const json = unsealed(text);
	if (json === undefined) return { kind: "rotten", why: "its checksum does not fit" };
	const value = parsed(json);
	const version = (value as { v?: unknown } | null)?.v;
	if (typeof version === "number" && version > FORMAT_VERSION) return { kind: "newer", version };
	const result = envelope.safeParse(value);
	return result.success ? { kind: "root", root: result.data } : { kind: "rotten", why: z.prettifyError(result.error) };
}

/** The names of the projections in a root; none if it is damaged, or of a newer version. */
export function projectionsIn(text: string): readonly string[] {
	const read = readRoot(text);
	return read.kind === "root" ? Object.keys(read.root.states) : [];
}

/** The parsed JSON; undefined if it is none, which a checksum cannot rule out. */
function parsed(json: string): unknown {
	try {
		return JSON.parse(json);
	} catch {
		return undefined;
	}
}

interface Loading {
	/** The size of the root. */
	readonly bytes: number;
	/** The kinds of record before the snapshot, if known: a projection that folds none of them may begin at the snapshot. */
	readonly before?: ReadonlySet<string>;
	/** Records in memory that such a projection folds up to there, in order. */
	readonly atHand?: Iterable<WalRecord>;
}

/** Loads a view from a root. @throws Damage when a chunk is missing or damaged */
export async function loadSnapshot(
	{ log, seq, crc, scope, states }: Root,
	key: SnapshotKey,
	projections: readonly AnyProjection[],
	store: SnapshotStore,
	{ bytes, before, atHand = [] }: Loading,
): Promise<Loaded> {
	const isOurs = log === key.log && seq === key.seq && crc === key.crc && scopeKey(scope) === scopeKey(key.scope);
	if (!isOurs) return { kind: "foreign", why: "it is of another record, or another scope" };
	for (const projection of projections) {
		const { name, version } = projection;
		const stored = entryAt(states, name);
		if (!stored && isYounger(projection, before)) continue;
		if (!stored) return { kind: "foreign", why: `it has no "${name}"` };
		if (stored.version > version) return { kind: "newer", version: `${name} ${stored.version}` };
		const isSame = JSON.stringify(stored.kinds) === JSON.stringify(kindsOf([projection]));
		if (stored.version === version && !isSame)
			return { kind: "foreign", why: `"${name}" folded other kinds of record` };
		if (stored.version < version && !projection.migrate) return { kind: "foreign", why: `"${name}" has no migrate()` };
	}
	const younger = projections.filter(({ name }) => !entryAt(states, name));
	const begun = foldUpTo(seq, younger.length > 0 ? atHand : [], View.empty(key.scope, younger));
	const loaded = new Map<string, unknown>();
	for (const projection of projections) {
		try {
			const stored = entryAt(states, projection.name);
			loaded.set(projection.name, stored ? await loadState(projection, stored, store) : begun.get(projection));
		} catch (error) {
			if (!(error instanceof Misfit)) throw error;
			return { kind: "foreign", why: error.message };
		}
	}
	return { kind: "view", view: View.of(key.scope, seq, projections, loaded, bytes) };
}

/** May a projection without a stored state begin after records of these kinds? */
export const isYounger = (
	{ handlers, mayBeginLate }: AnyProjection,
	before: ReadonlySet<string> | undefined,
): boolean => before !== undefined && (mayBeginLate || [...handlers.keys()].every((kind) => !before.has(kind)));

export function foldUpTo(seq: Seq, records: Iterable<WalRecord>, empty: View): View {
	let view = empty;
	for (const record of records) {
		if (record.seq > seq) break;
		view = view.apply(record);
	}
	return view;
}

async function loadState(
	projection: AnyProjection,
	{ version, state, lists }: z.infer<typeof storedState>,
	store: SnapshotStore,
): Promise<unknown> {
	const isCurrent = version === projection.version;
	const loaded: Record<string, List<unknown>> = {};
	for (const [name, list] of Object.entries(lists)) {
		if (isCurrent && !Object.hasOwn(projection.lists, name))
			throw new Misfit(`it has a list "${name}", and "${projection.name}" has none`);
		loaded[name] = await loadList(list, store, isCurrent ? projection.lists[name] : undefined);
	}
	if (isCurrent) return checked(projection, state, loaded);
	const migrated = parted(projection, migrate(projection, whole(projection, state, loaded), version));
	const fresh = Object.entries(migrated.lists).map(([name, list]) => {
		const items = [...asList(list, name)].map((item) => fit(projection.lists[name], item));
		return [name, List.from(items)] as const;
	});
	return checked(projection, migrated.rest, Object.fromEntries(fresh));
}

function migrate({ name, version, migrate }: AnyProjection, state: unknown, from: number): unknown {
	try {
		return migrate?.(state, from);
	} catch (cause) {
		throw new SnapshotError(
			"SNAPSHOT_PROJECTION",
			`projection "${name}" could not migrate its state of version ${from} to ${version}: ${(cause as Error).message}. Mend migrate(), or take it away: the log is folded then`,
			{ projection: name, version: from },
			{ cause },
		);
	}
}

function checked(projection: AnyProjection, rest: unknown, lists: Readonly<Record<string, List<unknown>>>): unknown {
	const missing = Object.keys(projection.lists).find((name) => !Object.hasOwn(lists, name));
	if (missing !== undefined) throw new Misfit(`it has no list "${missing}" of "${projection.name}"`);
	return whole(projection, fit(projection.schema, rest), lists);
}

/** Splits a state into its lists and the rest. */
function parted(
	projection: AnyProjection,
	state: unknown,
): { readonly rest: unknown; readonly lists: Readonly<Record<string, unknown>> } {
	const names = Object.keys(projection.lists);
	if (names.length === 0) return { rest: state, lists: {} };
	if (typeof state !== "object" || state === null) throw new Misfit("a state with lists is an object");
	return {
		rest: Object.fromEntries(Object.entries(state).filter(([name]) => !Object.hasOwn(projection.lists, name))),
		lists: Object.fromEntries(names.map((name) => [name, (state as Record<string, unknown>)[name]])),
	};
}

function whole(projection: AnyProjection, rest: unknown, lists: Readonly<Record<string, unknown>>): unknown {
	return Object.keys(lists).length === 0 && Object.keys(projection.lists).length === 0
		? rest
		: { ...(rest as object), ...lists };
}

function asList(value: unknown, name: string): List<unknown> {
	if (value instanceof List) return value;
	if (Array.isArray(value)) return List.from(value);
	throw new Misfit(`expected a List at "${name}"`);
}

/** The error of a state that is no JSON, which is a mistake in a handler; other errors are returned unchanged. */
function notJson(cause: unknown, projection: string, seq: Seq): unknown {
	const { code, message } = cause as { code?: unknown; message: string };
	if (code !== "WAL_NOT_JSON" && !(cause instanceof Misfit)) return cause;
	return new SnapshotError(
		"SNAPSHOT_NOT_JSON",
		`the state of projection "${projection}" at seq ${seq} cannot be stored: ${message}. Nothing was written; mend the handler that puts it there`,
		{ projection, seq },
		{ cause },
	);
}
