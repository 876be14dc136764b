import type { Scope, Seq } from "@reyn/wal";

/** Where snapshots lie: text by scope and seq. They may be lost at any time, the log is the truth. */
export interface SnapshotStore {
	/** Stores a snapshot, whole or not at all. */
	put(scope: Scope, seq: Seq, text: string): Promise<void>;
	/** The seqs of a scope that have a snapshot, newest first. */
	list(scope: Scope): Promise<readonly Seq[]>;
	get(scope: Scope, seq: Seq): Promise<string | undefined>;
	/** Takes a rotten snapshot out of the way without destroying it. */
	setAside(scope: Scope, seq: Seq): Promise<void>;
}
