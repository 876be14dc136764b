/** The options of a timeline, and what each defaults to. */
import type { AnyProjection, SnapshotError, SnapshotStore, View } from "@reyn/snapshot";
import type { BlobStore, Scope, Timers, Wal, WalRecord } from "@reyn/wal";
import type { Outcomes } from "./outcomes.ts";
import type { UndoRules } from "./undo.ts";

export interface TimelineOptions {
	readonly wal: Wal;
	readonly snapshots: SnapshotStore;
	readonly projections: readonly AnyProjection[];
	/** Look without writing. Default: false. */
	readonly readOnly?: boolean;
	/** Decides at each checkpoint whether to store a snapshot of this state. Default: `view.isDue`. */
	snapshotDue?(view: View): boolean;
	/** Called when the snapshot of a checkpoint, or the index, could not be stored; the checkpoint stands. Default: `checkpoint` throws the error. */
	snapshotFailed?(error: SnapshotError): void;
	/**
	 * The store for what outlives the records that `gc` removes: the index of branches, and states. It is the only copy, not a cache.
	 * Absent: `gc` removes nothing.
	 */
	readonly kept?: BlobStore;
	/**
	 * The kinds of record that this program knows, when features may come and go. `gc` stops before the first record of another kind,
	 * and before a kept state of an unknown projection: no stored state could replace them for a program that knows them. Default:
	 * all kinds are known.
	 */
	readonly known?: readonly string[];
	/** Kinds whose records outlive `gc`; they should be few and small, see {@link Timeline.records}. Default: none. */
	readonly keptKinds?: readonly string[];
	/** The scopes whose states have to survive `gc`, abandoned branches included. Gets {@link Timeline.records}. Default: the whole process. */
	keptScopes?(records: readonly WalRecord[]): readonly Scope[];
	/**
	 * Rules for further records that `undo` takes back, or after which nothing can be redone. Resets and labels have rules already. What a
	 * rule has said of a record is stored, and counts for as long as the rule has the same text: let it depend on the record alone.
	 */
	readonly undoRules?: UndoRules;
	/**
	 * Says which records begin something and which are its outcome. An outcome on another line of history is then known on this one
	 * too, and an outcome that comes after a rewind is kept. Default: neither.
	 */
	readonly outcomes?: Outcomes;
	/**
	 * Kinds that begin something. Such a record in the move's scope, between a preview and its move, makes the preview stale; so does a
	 * record that an undo rule names. Other records are progress. Default: all kinds.
	 */
	readonly begins?: readonly string[];
	/** How long the work of sessions may take to stop for a move, in milliseconds. Default: 5,000. */
	readonly quietMs?: number;
	readonly timers?: Timers;
}
