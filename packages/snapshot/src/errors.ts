/** The error class of snapshots, and its codes. */
import { ReynError } from "@reyn/wal";

export type SnapshotCode =
	| "SNAPSHOT_AHEAD"
	| "SNAPSHOT_DATABASE_BUSY"
	| "SNAPSHOT_FILE_NOT_RECORDED"
	| "SNAPSHOT_NEWER_FORMAT"
	| "SNAPSHOT_NOT_JSON"
	| "SNAPSHOT_NOT_RESTORED"
	| "SNAPSHOT_NOT_STORED"
	| "SNAPSHOT_NO_BASE"
	| "SNAPSHOT_NO_GENERATION"
	| "SNAPSHOT_OTHER_LOG"
	| "SNAPSHOT_OUT_OF_ORDER"
	| "SNAPSHOT_PROJECTION"
	| "SNAPSHOT_SAME_NAME"
	| "SNAPSHOT_UNREGISTERED";

/** An error of this package; each code is a heading in its README. */
export class SnapshotError extends ReynError<SnapshotCode> {}
