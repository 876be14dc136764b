import type { AnyRecordKind, RecordKind, Scope, Seq, StandardSchemaV1, WalRecord } from "@reyn/wal";
import type { List } from "./list.ts";

/** Which scopes have a state of a projection. */
export type Level = "process" | "agent" | "session" | "run";

/** A piece of state that is a fold of records: where it starts, and what each kind of record does to it. */
export interface Projection<S> {
	readonly name: string;
	/** Raise it when `init`, a handler or the schema changes. */
	readonly version: number;
	/** Of the state without its lists. */
	readonly schema: StandardSchemaV1<unknown, unknown>;
	/** Of the items of each list. */
	readonly lists: ListSchemas;
	init(): S;
	/** By record kind. */
	readonly handlers: ReadonlyMap<string, Handler<S>>;
	/** Absent: snapshots of older versions are not used. */
	readonly migrate?: (state: unknown, fromVersion: number) => unknown;
	floor(state: S): Seq | undefined;
	/** Is a cycle of calls open whose results are missing? Nothing is cut there. */
	inCycle?(state: S): boolean;
	/** Absent: the states of every scope have it. */
	readonly level?: Level;
	/** Whose records: those of one line of history, or all of the log. */
	readonly follows: "line" | "log";
	/** May it begin empty where records that it folds were taken away? */
	readonly mayBeginLate: boolean;
}

/** Any projection, whatever its state: for lists of projections. */
// biome-ignore lint/suspicious/noExplicitAny: a state goes in and out of the same projection, so its type is never mixed up.
export type AnyProjection = Projection<any>;

export interface Handler<S> {
	readonly kind: string;
	/** Of the data; the log has checked what it gives. Absent: what comes from elsewhere is taken as it is. */
	readonly schema?: StandardSchemaV1<unknown, unknown>;
	apply(state: S, record: WalRecord): S;
}

/** Says what a kind of record does to the state. Pure: it returns the next state and leaves the old one as it was. */
export type On<S> = <Data>(
	kind: RecordKind<never, Data>,
	next: (state: S, data: Data, record: WalRecord<Data>) => S,
) => Handler<S>;

/** Item schemas by key. */
export type ListSchemas = Readonly<Record<string, StandardSchemaV1<unknown, unknown>>>;

type NoLists = Record<never, never>;

type ListsOf<Lists> = {
	readonly [Key in keyof Lists]: Lists[Key] extends StandardSchemaV1<unknown, infer Item> ? List<Item> : never;
};

/** A state: what the schema says, and a {@link List} at each key of `lists`. */
export type StateOf<Rest, Lists> = [keyof Lists] extends [never]
	? Rest
	: // `z.object({})` says that every key is `never`; the lists are all that there is then.
		string extends keyof Rest
		? ListsOf<Lists>
		: Rest & ListsOf<Lists>;

export interface ProjectionSpec<Rest, Lists extends ListSchemas = NoLists> {
	readonly name: string;
	/** Raise it when `init`, a handler or the schema changes: else old states stay in use. */
	readonly version: number;
	/** The shape of the state, which is JSON: a snapshot is checked against it when it is loaded. */
	readonly schema: StandardSchemaV1<unknown, Rest>;
	/**
	 * The keys of the state that hold a {@link List}, with the schema of an item: parts that grow with the history. A snapshot
	 * stores what is new in them and shares the rest with those before it. `schema` is then of the other keys.
	 */
	readonly lists?: Lists;
	init(): NoInfer<StateOf<Rest, Lists>>;
	handle(on: On<StateOf<Rest, Lists>>): readonly Handler<StateOf<Rest, Lists>>[];
	/** Brings the state of an older version to this one. Absent: snapshots of older versions are not used, and the log is folded. */
	migrate?(state: unknown, fromVersion: number): unknown;
	/** The oldest record that this state still needs. */
	floor?(state: StateOf<Rest, Lists>): Seq | undefined;
	/** Is a cycle of calls open in this state: calls made, results missing? A rewind never cuts there. Default: never. */
	inCycle?(state: StateOf<Rest, Lists>): boolean;
	/**
	 * Which scopes have a state of it: `session` is in no state of an agent, nor in one of a run. Default: all that are asked for; of one
	 * that follows the log, `process`.
	 */
	readonly level?: Level;
	/**
	 * `log`: every record counts, those that a rewind has abandoned too, as money spent does. Such a state is one of the whole log,
	 * and none of a line of history; whoever reads along a path has to keep the two apart. Default: `line`.
	 */
	readonly follows?: "line" | "log";
	/** Where the log was cut before this projection was there: begin empty at the cut, instead of failing. Default: false. */
	readonly mayBeginLate?: boolean;
}

/**
 * Defines a piece of state as a fold of records.
 *
 * @example
 * const notes = defineProjection({
 *   name: "notes", version: 1, schema: z.record(z.string(), z.string()), init: () => ({}),
 *   handle: (on) => [on(notePut, (state, { id, text }) => ({ ...state, [id]: text }))],
 * });
 */
export function defineProjection<Rest, Lists extends ListSchemas = NoLists>(
	spec: ProjectionSpec<Rest, Lists>,
): Projection<StateOf<Rest, Lists>> {
	type S = StateOf<Rest, Lists>;
	const on: On<S> = (kind, next) => ({
		kind: (kind as AnyRecordKind).kind,
		schema: (kind as AnyRecordKind).schema,
		// The log has checked the data against the kind's schema before it comes here.
		apply: (state, record) => next(state, record.data as never, record as never),
	});
	return {
		name: spec.name,
		version: spec.version,
		schema: spec.schema,
		lists: spec.lists ?? {},
		init: () => spec.init(),
		handlers: new Map(spec.handle(on).map((handler) => [handler.kind, handler])),
		...(spec.migrate && { migrate: (state, from) => spec.migrate?.(state, from) }),
		floor: (state) => spec.floor?.(state),
		...(spec.inCycle && { inCycle: (state) => spec.inCycle?.(state) ?? false }),
		...(spec.level && { level: spec.level }),
		...(spec.follows === "log" && { level: spec.level ?? "process" }),
		follows: spec.follows ?? "line",
		mayBeginLate: spec.mayBeginLate ?? false,
	};
}

/** Those that a state of this scope has. */
export function projectionsAt(scope: Scope, projections: readonly AnyProjection[]): readonly AnyProjection[] {
	const { agent, session, run } = scope;
	const level =
		run !== undefined ? "run" : session !== undefined ? "session" : agent !== undefined ? "agent" : "process";
	const isThere = (each: AnyProjection): boolean => (each.level ?? level) === level;
	return projections.every(isThere) ? projections : projections.filter(isThere);
}
