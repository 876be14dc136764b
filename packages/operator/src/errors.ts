/** The error class of this package, and its codes. */
import { ReynError } from "@reyn/wal";

export type OperatorCode =
	| "OPERATOR_ARGS"
	| "OPERATOR_BAD_REF"
	| "OPERATOR_CONFLICT"
	| "OPERATOR_FILES"
	| "OPERATOR_HOLDER"
	| "OPERATOR_LOST"
	| "OPERATOR_NOT_FOUND"
	| "OPERATOR_UNKNOWN_REF";

/** An error of this package; each code is a heading in its README. */
export class OperatorError extends ReynError<OperatorCode> {}
