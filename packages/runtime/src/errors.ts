import { ReynError } from "@reyn/wal";

export type RuntimeCode = "RUNTIME_CLOSED" | "RUNTIME_NOT_QUIET" | "RUNTIME_UNKNOWN_SESSION" | "TURN_INTERRUPTED";

/** An error of this package; each code is a heading in its README. */
export class RuntimeError extends ReynError<RuntimeCode> {}
