/** The error class of moves through the history, and its codes. */
import { ReynError } from "@reyn/wal";

export type TimetravelCode =
	| "NOTHING_TO_REDO"
	| "NOTHING_TO_UNDO"
	| "STALE_LINEAGE"
	| "TIMETRAVEL_ACTOR"
	| "TIMETRAVEL_BUSY"
	| "TIMETRAVEL_COVERAGE"
	| "TIMETRAVEL_LABEL"
	| "TIMETRAVEL_NOT_ACTIVE"
	| "TIMETRAVEL_INDEX"
	| "TIMETRAVEL_NOT_KEPT"
	| "TIMETRAVEL_NOT_QUIET"
	| "TIMETRAVEL_PRUNED"
	| "TIMETRAVEL_STALE"
	| "TIMETRAVEL_UNKEPT"
	| "TIMETRAVEL_OUT_OF_RANGE";

/** An error of this package; each code is a heading in its README. */
export class TimetravelError extends ReynError<TimetravelCode> {}
