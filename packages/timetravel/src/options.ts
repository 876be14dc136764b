/** What a timeline is opened with. */
import type { AnyProjection, SnapshotError, SnapshotStore, View } from "@reyn/snapshot";
import type { BlobStore, Scope, Seq, Wal } from "@reyn/wal";
import type { Deeds } from "./moves.ts";
import type { Outcomes } from "./outcomes.ts";

export interface TimelineOptions {
	readonly wal: Wal;
	readonly snapshots: SnapshotStore;
	readonly projections: readonly AnyProjection[];
	/** Look without writing. Default: false. */
	readonly readOnly?: boolean;
	/** Is a tool cycle open in this state: calls made, results missing? A cut is never made there. Default: never. */
	inCycle?(view: View): boolean;
	/**
	 * Stops what is under way in the classes that a move covers, and waits until it is quiet. If it throws, nothing is written.
	 * `over` resolves when the move has ended, made or not: until then nothing should be begun there. Default: nothing runs.
	 */
	quiesce?(scope: Scope, move: { readonly drop?: readonly string[]; readonly over: Promise<void> }): Promise<void>;
	/** Is it time for a snapshot, at a checkpoint with this state? Default: `view.isDue`. */
	snapshotDue?(view: View): boolean;
	/** The snapshot of a checkpoint could not be stored; the checkpoint stands. Default: `checkpoint` throws the error. */
	snapshotFailed?(error: SnapshotError): void;
	/** Brings what is in memory beside live states in line with the log after the reset at `seq`. Doing it twice changes nothing. */
	rebuild?(seq: Seq, scope: Scope): Promise<void>;
	/**
	 * Keeps what has to outlive the records that `gc` takes away: the index of branches, and the states that stand for them.
	 * It is truth then, and not a cache. Absent: nothing is ever taken away.
	 */
	readonly kept?: BlobStore;
	/** Kinds of yours whose records outlive the others: few and small ones, see `records`. Default: none. */
	readonly keptKinds?: readonly string[];
	/** The scopes whose states are asked for, those of abandoned branches too. Default: the whole process. */
	keptScopes?(): Promise<readonly Scope[]>;
	/** Records of yours that `undo` takes back, or after which nothing can be redone. Resets and labels are known. */
	readonly deeds?: Deeds;
	/**
	 * How your records tell what began and how it ended: what another line of history knows is then known on this one too, and
	 * what work finds out too late is kept. Default: nothing is.
	 */
	readonly outcomes?: Outcomes;
	/**
	 * Kinds of yours that begin something: one that comes between a preview and its move in the move's scope makes the preview
	 * stale, and so does a deed. Other records are progress. Default: all kinds.
	 */
	readonly begins?: readonly string[];
}
