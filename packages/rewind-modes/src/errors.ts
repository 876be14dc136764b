/** The error class of rewinds, and its codes. */
import { ReynError } from "@reyn/wal";

export type RewindCode =
	| "REWIND_ENTRY"
	| "REWIND_ENTRY_TYPE"
	| "REWIND_MODE"
	| "REWIND_NOT_PREVIEWED"
	| "REWIND_PROCESS"
	| "REWIND_STALE";

/** An error of this package; each code is a heading in its README. */
export class RewindError extends ReynError<RewindCode> {}
