import type { AnyRecordKind, RecordKind, Seq, StandardSchemaV1, WalRecord } from "@reyn/wal";

/** A piece of state that is a fold of records: where it starts, and what each kind of record does to it. */
export interface Projection<S> {
	readonly name: string;
	/** Raise it when the shape of the state changes, and give `migrate`. */
	readonly version: number;
	readonly schema: StandardSchemaV1<unknown, S>;
	init(): S;
	/** By record kind. */
	readonly handlers: ReadonlyMap<string, Handler<S>>;
	migrate(state: unknown, fromVersion: number): unknown;
	floor(state: S): Seq | undefined;
}

/** Any projection, whatever its state: for lists of projections. */
// biome-ignore lint/suspicious/noExplicitAny: a state goes in and out of the same projection, so its type is never mixed up.
export type AnyProjection = Projection<any>;

export interface Handler<S> {
	readonly kind: string;
	apply(state: S, record: WalRecord): S;
}

/** Says what a kind of record does to the state. Pure: it returns the next state and leaves the old one as it was. */
export type On<S> = <Data>(
	kind: RecordKind<never, Data>,
	next: (state: S, data: Data, record: WalRecord<Data>) => S,
) => Handler<S>;

export interface ProjectionSpec<S> {
	readonly name: string;
	readonly version: number;
	/** The shape of the state, which is JSON: a snapshot is checked against it when it is loaded. */
	readonly schema: StandardSchemaV1<unknown, S>;
	init(): NoInfer<S>;
	handle(on: On<S>): readonly Handler<S>[];
	/** Brings the state of an older version to this one. Absent: snapshots of older versions are not used. */
	migrate?(state: unknown, fromVersion: number): unknown;
	/** The oldest record that this state still needs. */
	floor?(state: S): Seq | undefined;
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
export function defineProjection<S>(spec: ProjectionSpec<S>): Projection<S> {
	const on: On<S> = (kind, next) => ({
		kind: (kind as AnyRecordKind).kind,
		// The log has checked the data against the kind's schema before it comes here.
		apply: (state, record) => next(state, record.data as never, record as never),
	});
	return {
		name: spec.name,
		version: spec.version,
		schema: spec.schema,
		init: () => spec.init(),
		handlers: new Map(spec.handle(on).map((handler) => [handler.kind, handler])),
		migrate: (state, from) => {
			if (!spec.migrate) throw new Error(`projection "${spec.name}" has no migrate()`);
			return spec.migrate(state, from);
		},
		floor: (state) => spec.floor?.(state),
	};
}
