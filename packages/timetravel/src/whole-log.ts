/** States of the whole log, such as money spent: abandoned records count too, so no move changes these states. */
import {
	type AnyProjection,
	capture,
	kindsOf,
	restore,
	type SnapshotStore,
	straightPath,
	type View,
} from "@reyn/snapshot";
import { projectionsAt } from "@reyn/snapshot/internal";
import { type Scope, type Seq, scopeKey, type Wal, type WalRecord } from "@reyn/wal";
import { pathIn, withRanges } from "./branch-index.ts";
import { TimetravelError } from "./errors.ts";
import { holding, type Live, Lives } from "./live.ts";
import type { TimelineOptions } from "./options.ts";
import { type Retained, WHOLE } from "./retained.ts";
import type { TimelineIndex } from "./timeline-index.ts";

/** A state of the whole log as of the last record that was appended through a handle of its timeline. */
export type WholeLive = Pick<Live, "scope" | "view" | "close">;

export class WholeLog {
	/** The kinds of record that states of the whole log are folded from. */
	readonly folded: readonly string[];
	readonly #projections: readonly AnyProjection[];
	readonly #options: TimelineOptions;
	readonly #wal: Wal;
	readonly #retained: Retained;
	readonly #timelineIndex: TimelineIndex;
	/** Snapshots of these states: a cache that may be lost. */
	readonly snapshots: SnapshotStore;
	readonly #lives: Lives;
	/** The last record that the open states have folded. */
	#last: Seq;
	/** Was a record appended without the timeline, so that open states lack it? Then they are not stored. */
	#lacks = false;

	/** @param options only its projections that follow the log count here */
	constructor(options: TimelineOptions, retained: Retained, timelineIndex: TimelineIndex) {
		this.#projections = options.projections.filter(({ follows }) => follows === "log");
		this.folded = kindsOf(this.#projections);
		this.#options = options;
		this.#wal = options.wal;
		this.#last = options.wal.tip;
		this.#retained = retained;
		this.#timelineIndex = timelineIndex;
		this.snapshots = options.snapshots.below(WHOLE);
		this.#lives = new Lives({
			now: (scope) => ({ tip: this.#wal.tip, reset: 0, view: this.at(this.#wal.tip, scope) }),
			handle: () => {
				throw new TypeError("a state of the whole log belongs to no line of history, so nothing is appended to it");
			},
		});
	}

	/**
	 * The state of a scope after every record up to a seq, whatever line of history it is on.
	 *
	 * @throws TimetravelError `TIMETRAVEL_OUT_OF_RANGE`, `TIMETRAVEL_PRUNED`; SnapshotError `SNAPSHOT_NO_BASE`
	 */
	async at(seq: Seq, scope: Scope = {}): Promise<View> {
		this.#retained.assertHas(seq);
		const { index } = this.#retained;
		const { retainedFrom } = index;
		if (seq > 0 && seq < retainedFrom - 1)
			throw new TimetravelError(
				"TIMETRAVEL_PRUNED",
				`the state of the whole log at seq ${seq} was taken away by gc; there are those from seq ${retainedFrom - 1} on`,
				{ seq, retainedFrom },
			);
		const straight = pathIn(index, straightPath(seq, scope));
		const path = withRanges(straight, (after) =>
			this.#timelineIndex.sessionRanges.within(scope, straight.rangesAfter(after)),
		);
		try {
			return await restore(this.#sources(scope), { ...path, atHand: (after) => this.#timelineIndex.factsAfter(after) });
		} catch (error) {
			// A truncation came in between: a kept state now stands for the records that were being read.
			if (index !== this.#retained.index) return this.at(seq, scope);
			throw error;
		}
	}

	/** The present state of a scope, which follows all later appends; there is one for each scope. */
	async live(scope: Scope = {}): Promise<WholeLive> {
		if (this.#lives.isEmpty) [this.#last, this.#lacks] = [this.#wal.tip, false];
		const known = this.#lives.find(scope);
		const live = known ?? this.#lives.add(scope);
		if (!known)
			live.opened = live.rebuild().catch((error: unknown) => {
				live.close();
				throw error;
			});
		await live.opened;
		return live;
	}

	/** Folds a record that was just appended into the open states. */
	take(record: WalRecord): void {
		if (record.seq !== this.#last + 1) this.#lacks = true;
		this.#last = record.seq;
		this.#lives.take(record);
	}

	/** The open states that a record of this scope belongs to, as views of this moment. */
	holding(scope: Scope): readonly View[] {
		return this.#lacks ? [] : this.#lives.holding(scope).flatMap(({ view }) => view ?? []);
	}

	/** Stores a state whose last record is durable. */
	store(view: View): Promise<void> {
		return capture(this.#sources(view.scope), view);
	}

	/** Stores a state that will stand for removed records. */
	async keep(seq: Seq, scope: Scope): Promise<void> {
		await capture({ ...this.#sources(scope), snapshots: this.#retained.place.whole }, await this.at(seq, scope));
	}

	/** All scopes whose states have to outlive a truncation. */
	scopes(given: readonly Scope[]): readonly Scope[] {
		const all = [{}, ...given, ...(this.#retained.index.whole ?? [])].flatMap(holding);
		const distinct = [...new Map(all.map((scope) => [scopeKey(scope), scope])).values()];
		return distinct.filter((scope) => projectionsAt(scope, this.#projections).length > 0);
	}

	/**
	 * Does a record belong to a state of a scope that is not kept?
	 *
	 * @param kept the keys of scopes
	 */
	isUnkept({ kind, scope }: Pick<WalRecord, "kind" | "scope">, kept: ReadonlySet<string>): boolean {
		if (!this.folded.includes(kind)) return false;
		const folds = this.#projections.filter(({ handlers }) => handlers.has(kind));
		return holding(scope).some((holder) => projectionsAt(holder, folds).length > 0 && !kept.has(scopeKey(holder)));
	}

	#sources(scope: Scope) {
		const { wal, readOnly = false } = this.#options;
		return this.#retained.wholeSources(scope, {
			wal,
			readOnly,
			snapshots: this.snapshots,
			projections: this.#projections,
		});
	}
}
