/** How a package defines a piece of state: an initial value, and a handler for each kind of record. */
import type { AnyRecordKind, RecordKind, Scope, Seq, StandardSchemaV1, WalRecord } from "@reyn/wal";
import type { List } from "./list.ts";

/** The level of scopes that have a state of a projection. */
export type Level = "process" | "agent" | "session" | "run";

/** A piece of state that is a fold of records: where it starts, and what each kind of record does to it. */
export interface Projection<S> {
	readonly name: string;
	/** Raise it when `init`, a handler or the schema changes. */
	readonly version: number;
	/** The schema of the state without its lists. */
	readonly schema: StandardSchemaV1<unknown, unknown>;
	/** The schema of an item, for each list. */
	readonly lists: ListSchemas;
	init(): S;
	/** The handlers, by record kind. */
	readonly handlers: ReadonlyMap<string, Handler<S>>;
	/** Absent: snapshots of older versions are not used. */
	readonly migrate?: (state: unknown, fromVersion: number) => unknown;
	floor(state: S): Seq | undefined;
	/** Is a cycle of tool calls open, with results missing? A rewind never cuts there. */
	inCycle?(state: S): boolean;
	/** The level of scopes that have this projection; absent: all scopes. */
	readonly level?: Level;
	/** Which records are folded: those of one line of history, or all of the log. */
	readonly follows: "line" | "log";
	/** May it begin empty when records that it folds were removed? */
	readonly mayBeginLate: boolean;
}

/** Any projection, whatever its state: for lists of projections. */
// biome-ignore lint/suspicious/noExplicitAny: a state goes in and out of the same projection, so its type is never mixed up.
export type AnyProjection = Projection<any>;

export interface Handler<S> {
	readonly kind: string;
	/** The schema of the data, for records that do not come from the log, which checks its own. Absent: those are not checked. */
	readonly schema?: StandardSchemaV1<unknown, unknown>;
	apply(state: S, record: WalRecord): S;
}

/** Declares what a kind of record does to the state. `next` is pure: it returns the next state, and leaves the old one unchanged. */
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
	 * The keys of the state that hold a {@link List}, for parts that grow with the history, with the schema of an item. A snapshot stores
	 * what is new in them, and shares the rest with earlier snapshots. `schema` then describes the other keys.
	 */
	readonly lists?: Lists;
	init(): NoInfer<StateOf<Rest, Lists>>;
	handle(on: On<StateOf<Rest, Lists>>): readonly Handler<StateOf<Rest, Lists>>[];
	/** Brings the state of an older version to this one. Absent: snapshots of older versions are not used, and the log is folded. */
	migrate?(state: unknown, fromVersion: number): unknown;
	/** The oldest record that this state still needs. */
	floor?(state: StateOf<Rest, Lists>): Seq | undefined;
	/** Is a cycle of tool calls open in this state: calls asked for, results missing? A rewind never cuts there. Default: never. */
	inCycle?(state: StateOf<Rest, Lists>): boolean;
	/**
	 * The level of scopes that have this projection: with `session`, neither the state of an agent nor that of a run has it. Default: all
	 * scopes; for a projection that follows the log, `process`.
	 */
	readonly level?: Level;
	/**
	 * `log`: every record counts, also those that a rewind has abandoned, as for money spent. Such a state belongs to the whole log, not to
	 * a line of history; who restores states along paths has to keep the two apart. Default: `line`.
	 */
	readonly follows?: "line" | "log";
	/** If the log was cut before this projection existed, begin empty at the cut instead of failing. Default: false. */
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

/** The projections that a state of this scope has. */
export function projectionsAt(scope: Scope, projections: readonly AnyProjection[]): readonly AnyProjection[] {
	const { agent, session, run } = scope;
	const level =
		run !== undefined ? "run" : session !== undefined ? "session" : agent !== undefined ? "agent" : "process";
	const isThere = (each: AnyProjection): boolean => (each.level ?? level) === level;
	return projections.every(isThere) ? projections : projections.filter(isThere);
}
