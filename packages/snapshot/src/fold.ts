/** A view: the states of some projections at one seq, folded record by record. */
import { createHash } from "node:crypto";
import { canonicalJson, type Scope, type Seq, type WalRecord, within } from "@reyn/wal";
import { SnapshotError } from "./errors.ts";
import type { List } from "./list.ts";
import type { AnyProjection, Projection } from "./projection.ts";

/** A replay of fewer records than this is so short that a new snapshot does not pay. */
const NEAR = 100;
/** The smallest usual record, in bytes. A root counts as this many bytes per record, so snapshots never outweigh the log. */
const RECORD_BYTES = 256;

/** The snapshot that a line of views builds on. All of them share it, and it moves when a newer snapshot is stored. Only a hint. */
interface Base {
	/** How many records had been folded when it was stored. */
	folded: number;
	/** The size of its root. */
	bytes: number;
}

interface ViewParts {
	readonly scope: Scope;
	readonly seq: Seq;
	readonly restored: Seq;
	readonly projections: readonly AnyProjection[];
	readonly states: ReadonlyMap<string, unknown>;
	readonly folded: number;
	readonly base: Base;
}

/** The states of some projections at one seq of one scope. A view never changes: `apply` gives the next one. */
export class View {
	readonly #parts: ViewParts;

	private constructor(parts: ViewParts) {
		this.#parts = parts;
	}

	/**
	 * The view at genesis.
	 *
	 * @throws SnapshotError `SNAPSHOT_SAME_NAME`
	 */
	static empty(scope: Scope, projections: readonly AnyProjection[]): View {
		const states = new Map(projections.map((projection) => [projection.name, projection.init() as unknown]));
		return View.of(scope, 0, projections, states, 0);
	}

	/** A view from a snapshot whose root weighs `bytes`. */
	static of(
		scope: Scope,
		seq: Seq,
		projections: readonly AnyProjection[],
		states: ReadonlyMap<string, unknown>,
		bytes: number,
	): View {
		assertDistinct(projections);
		return new View({ scope, seq, restored: seq, projections, states, folded: 0, base: { folded: 0, bytes } });
	}

	get scope(): Scope {
		return this.#parts.scope;
	}

	/** The last record that this view has seen. */
	get seq(): Seq {
		return this.#parts.seq;
	}

	/** The seq as of which it was restored. It has followed the log since, record by record, and knows nothing of moves made since then. */
	get restored(): Seq {
		return this.#parts.restored;
	}

	get projections(): readonly AnyProjection[] {
		return this.#parts.projections;
	}

	/** @throws SnapshotError `SNAPSHOT_UNREGISTERED` */
	get<S>(projection: Projection<S>): S {
		const { states, projections } = this.#parts;
		if (!states.has(projection.name)) {
			const known = projections.map(({ name }) => name).join(", ");
			throw new SnapshotError(
				"SNAPSHOT_UNREGISTERED",
				`no projection "${projection.name}" in this view; it has ${known || "none"}. ${whereOf(projection)}`,
				{ projection: projection.name },
			);
		}
		return states.get(projection.name) as S;
	}

	/**
	 * The view after one more record. Give it every record of the path in order; one outside the scope only moves the seq.
	 *
	 * @throws SnapshotError `SNAPSHOT_OUT_OF_ORDER`, `SNAPSHOT_PROJECTION`
	 */
	apply(record: WalRecord): View {
		const before = this.#parts;
		if (record.seq <= before.seq) throw outOfOrder(record.seq, before.seq);
		let { states, folded } = before;
		if (within(record.scope, before.scope)) {
			for (const projection of before.projections) {
				const handler = projection.handlers.get(record.kind);
				if (!handler) continue;
				folded = before.folded + 1;
				const next = step(projection, handler.apply, states.get(projection.name), record);
				if (next === states.get(projection.name)) continue;
				if (states === before.states) states = new Map(states);
				(states as Map<string, unknown>).set(projection.name, next);
			}
		}
		return new View({ ...before, seq: record.seq, states, folded });
	}

	/** The same states as of a later seq: the caller knows that no record in between concerns them. */
	at(seq: Seq): View {
		return new View({ ...this.#parts, seq });
	}

	/** As {@link at}, once the whole path to that seq is folded. */
	restoredAt(seq: Seq): View {
		return new View({ ...this.#parts, seq, restored: seq });
	}

	/**
	 * Is it time for a snapshot? It is when replaying the records since the last one costs about as much as loading it. So all snapshots
	 * together weigh no more than the log, and a replay stays short for any size of state (the rule of Raft's snapshots: Ongaro,
	 * "Consensus: Bridging Theory and Practice", 5.1.2).
	 */
	get isDue(): boolean {
		const { folded, base } = this.#parts;
		return folded - base.folded >= Math.max(NEAR, base.bytes / RECORD_BYTES);
	}

	/** For `capture`: notes that this view was stored, with a root of this size. */
	wasStored(bytes: number): void {
		const { base, folded } = this.#parts;
		base.folded = Math.max(base.folded, folded);
		base.bytes = bytes;
	}

	/** SHA-256 over all states, as hex. Equal states have equal hashes, however they were reached. */
	hash(): string {
		const { projections } = this.#parts;
		const states = projections.map((projection) => [projection.name, asJson(projection, this.get(projection))]);
		return createHash("sha256")
			.update(canonicalJson(Object.fromEntries(states)))
			.digest("hex");
	}
}

/** The end of an error message: which views have this projection. */
function whereOf({ follows, level }: AnyProjection): string {
	const of = follows === "log" ? "the whole log" : "a line of history";
	const only =
		follows === "log" || level ? `; it is then in views of ${of}${level ? ` at level ${level}` : ""} alone` : "";
	return `It has to be among the \`projections\` that the timeline, or the feature, was given${only}`;
}

/** The kinds of record that some projections fold, sorted. */
export function kindsOf(projections: readonly AnyProjection[]): readonly string[] {
	return [...new Set(projections.flatMap(({ handlers }) => [...handlers.keys()]))].sort();
}

/** A state with its lists as arrays. */
function asJson({ lists }: AnyProjection, state: unknown): unknown {
	const names = Object.keys(lists);
	if (names.length === 0) return state;
	const arrays = names.map((name) => [name, [...((state as Record<string, unknown>)[name] as List<unknown>)]]);
	return { ...(state as object), ...Object.fromEntries(arrays) };
}

function step(
	projection: AnyProjection,
	apply: (state: unknown, record: WalRecord) => unknown,
	state: unknown,
	record: WalRecord,
): unknown {
	try {
		return apply(state, record);
	} catch (cause) {
		throw new SnapshotError(
			"SNAPSHOT_PROJECTION",
			`projection "${projection.name}" threw at seq ${record.seq} (${record.kind}): ${(cause as Error).message}. A handler has to be total: mend it, the record stays`,
			{ projection: projection.name, seq: record.seq },
			{ cause },
		);
	}
}

function outOfOrder(found: Seq, seq: Seq): SnapshotError {
	return new SnapshotError(
		"SNAPSHOT_OUT_OF_ORDER",
		`expected a record after seq ${seq}, which this view has seen; found seq ${found}. Apply each record once, in order`,
		{ seq: found, seen: seq },
	);
}

function assertDistinct(projections: readonly AnyProjection[]): void {
	const names = projections.map(({ name }) => name);
	const twice = names.find((name, i) => names.indexOf(name) !== i);
	if (twice === undefined) return;
	throw new SnapshotError(
		"SNAPSHOT_SAME_NAME",
		`two projections are called "${twice}"; a snapshot keeps states by name. Rename one of them`,
		{ projection: twice },
	);
}
