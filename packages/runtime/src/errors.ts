import { ReynError } from "@reyn/wal";

export type RuntimeCode = "RUNTIME_BAD_REF" | "RUNTIME_UNKNOWN_REF" | "RUNTIME_NOT_QUIET" | "RUNTIME_UNKNOWN_SESSION";

/** An error of this package; each code is a heading in its README. */
export class RuntimeError extends ReynError<RuntimeCode> {}
