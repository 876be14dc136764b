/** The error class of the runtime, and its codes. */
import { ReynError } from "@reyn/wal";

export type RuntimeCode =
	| "RUNTIME_ADOPT"
	| "RUNTIME_ANSWER"
	| "RUNTIME_BUDGET"
	| "RUNTIME_CLOSED"
	| "RUNTIME_COMPACTION"
	| "RUNTIME_FEATURES"
	| "RUNTIME_FILES"
	| "RUNTIME_NOT_QUIET"
	| "RUNTIME_NO_SERVICE"
	| "RUNTIME_NO_TASKS"
	| "RUNTIME_PERMISSIONS"
	| "RUNTIME_SCRIPT_LOST"
	| "RUNTIME_SCRIPT_OTHER"
	| "RUNTIME_SCRIPT_PRUNED"
	| "RUNTIME_SCRIPT_RUNS"
	| "RUNTIME_SECRET"
	| "RUNTIME_STATE_CHANGED"
	| "RUNTIME_STORE"
	| "RUNTIME_TASKS"
	| "RUNTIME_TOOLS"
	| "RUNTIME_UNKNOWN_GRANT"
	| "RUNTIME_UNKNOWN_QUESTION"
	| "RUNTIME_UNKNOWN_SCRIPT_RUN"
	| "RUNTIME_UNKNOWN_SESSION";

/** An error of this package; each code is a heading in its README. */
export class RuntimeError extends ReynError<RuntimeCode> {}
