import { createHash } from "node:crypto";
import { canonicalJson, type Scope, type Seq, type WalRecord, within } from "@reyn/wal";
import { SnapshotError } from "./errors.ts";
import type { AnyProjection, Projection } from "./projection.ts";

/** The states of some projections at one seq of one scope. A view never changes: `apply` gives the next one. */
export class View {
	readonly scope: Scope;
	/** The last record that this view has seen. */
	readonly seq: Seq;
	readonly #projections: readonly AnyProjection[];
	readonly #states: ReadonlyMap<string, unknown>;

	private constructor(
		scope: Scope,
		seq: Seq,
		projections: readonly AnyProjection[],
		states: ReadonlyMap<string, unknown>,
	) {
		this.scope = scope;
		this.seq = seq;
		this.#projections = projections;
		this.#states = states;
	}

	/** The view at genesis. */
	static empty(scope: Scope, projections: readonly AnyProjection[]): View {
		return View.of(
			scope,
			0,
			projections,
			new Map(projections.map((projection) => [projection.name, projection.init()])),
		);
	}

	static of(scope: Scope, seq: Seq, projections: readonly AnyProjection[], states: ReadonlyMap<string, unknown>): View {
		return new View(scope, seq, projections, states);
	}

	get<S>(projection: Projection<S>): S {
		if (!this.#states.has(projection.name)) {
			const known = this.#projections.map(({ name }) => name).join(", ");
			throw new SnapshotError(
				"SNAPSHOT_UNREGISTERED",
				`no projection "${projection.name}" in this view; it has ${known}`,
				{ projection: projection.name },
			);
		}
		return this.#states.get(projection.name) as S;
	}

	/** The view after one more record. The record has to be on the path; a record outside the scope only moves the seq. */
	apply(record: WalRecord): View {
		let states = this.#states;
		if (within(record.scope, this.scope)) {
			for (const projection of this.#projections) {
				const next = step(projection, states.get(projection.name), record);
				if (next === states.get(projection.name)) continue;
				if (states === this.#states) states = new Map(states);
				(states as Map<string, unknown>).set(projection.name, next);
			}
		}
		return new View(this.scope, record.seq, this.#projections, states);
	}

	/** The same states, said to be as of a later seq: nothing between concerns them. */
	at(seq: Seq): View {
		return new View(this.scope, seq, this.#projections, this.#states);
	}

	/** SHA-256 over all states, as hex: equal states have equal hashes, whatever way they were reached. */
	hash(): string {
		return createHash("sha256")
			.update(canonicalJson(Object.fromEntries(this.#states)))
			.digest("hex");
	}

	get projections(): readonly AnyProjection[] {
		return this.#projections;
	}
}

/** The kinds of record that some projections fold. */
export function kindsOf(projections: readonly AnyProjection[]): readonly string[] {
	return [...new Set(projections.flatMap(({ handlers }) => [...handlers.keys()]))];
}

function step(projection: AnyProjection, state: unknown, record: WalRecord): unknown {
	const handler = projection.handlers.get(record.kind);
	if (!handler) return state;
	try {
		return handler.apply(state, record);
	} catch (cause) {
		throw new SnapshotError(
			"SNAPSHOT_PROJECTION",
			`projection "${projection.name}" threw at seq ${record.seq} (${record.kind}): ${(cause as Error).message}. A handler has to be total: mend it, the record stays`,
			{ projection: projection.name, seq: record.seq },
			{ cause },
		);
	}
}
