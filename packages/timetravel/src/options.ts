/** What a timeline is opened with. */
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
	/** Is it time for a snapshot, at a checkpoint with this state? Default: `view.isDue`. */
	snapshotDue?(view: View): boolean;
	/** The snapshot of a checkpoint could not be stored; the checkpoint stands. Default: `checkpoint` throws the error. */
	snapshotFailed?(error: SnapshotError): void;
	/**
	 * Keeps what has to outlive the records that `gc` takes away: the index of branches, and the states that stand for them.
	 * It is truth then, and not a cache. Absent: nothing is ever taken away.
	 */
	readonly kept?: BlobStore;
	/**
	 * Your kinds, where others may come and go: the first record of any other kind holds `gc`, since no state can stand for it that
	 * whoever knows it could go on from; so does a kept state of a projection that is none of yours. Default: all are known.
	 */
	readonly known?: readonly string[];
	/** Kinds of yours whose records outlive the others: few and small ones, see `records`. Default: none. */
	readonly keptKinds?: readonly string[];
	/** The scopes whose states are asked for, those of abandoned branches too, by what {@link Timeline.records} gives. Default: the whole process. */
	keptScopes?(records: readonly WalRecord[]): readonly Scope[];
	/** Records of yours that `undo` takes back, or after which nothing can be redone. Resets and labels are known. */
	readonly undoRules?: UndoRules;
	/**
	 * How your records tell what began and how it ended: what another line of history knows is then known on this one too, and
	 * what work finds out too late is kept. Default: nothing is.
	 */
	readonly outcomes?: Outcomes;
	/**
	 * Kinds of yours that begin something: one that comes between a preview and its move in the move's scope makes the preview
	 * stale, and so does what an undo rule names. Other records are progress. Default: all kinds.
	 */
	readonly begins?: readonly string[];
	/** How long the work of sessions may take to stop for a move, in milliseconds. Default: 5,000. */
	readonly quietMs?: number;
	readonly timers?: Timers;
}
