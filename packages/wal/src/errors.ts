/** What may go wrong, by code. */
import { inspect } from "node:util";

/** On the errors of every copy of a package. */
const own = Symbol.for("@reyn/error");

/**
 * The root of every error that Reyn throws. Branch on `code`, never on the class: two copies of a package may be
 * loaded at once, which {@link isReynError} knows. A message says what was expected, what was found and what to do.
 */
export class ReynError<Code extends string = string> extends Error {
	readonly code: Code;
	/** Plain values for machines: seqs, paths, byte offsets. */
	readonly detail: Readonly<Record<string, unknown>>;

	constructor(code: Code, message: string, detail: Readonly<Record<string, unknown>> = {}, options?: ErrorOptions) {
		super(message, options);
		this.name = new.target.name;
		this.code = code;
		this.detail = detail;
	}

	get [own](): true {
		return true;
	}
}

/** Is it an error of Reyn's own with one of these codes (none: with any), and not another one that only has such a code? */
export function isReynError<Code extends string>(error: unknown, ...codes: readonly Code[]): error is ReynError<Code> {
	try {
		const { [own]: isOwn, code } = error as { [own]?: unknown; code?: unknown };
		return isOwn === true && (codes.length === 0 || codes.includes(code as Code));
	} catch {
		return false;
	}
}

/** The code of an error, Reyn's own or the system's; undefined where it has none. */
export function codeOf(error: unknown): string | undefined {
	try {
		const { code } = error as { code?: unknown };
		return typeof code === "string" ? code : undefined;
	} catch {
		return undefined;
	}
}

/** What an error says; anything may be thrown. */
export const messageOf = (error: unknown): string =>
	error instanceof Error ? error.message : inspect(error, { depth: 1, breakLength: Number.POSITIVE_INFINITY });

export type WalCode =
	| "WAL_CLOSED"
	| "WAL_CORRUPT"
	| "WAL_FENCED"
	| "WAL_FULL"
	| "WAL_INDETERMINATE"
	| "WAL_INVALID_RECORD"
	| "WAL_IO"
	| "WAL_LOCKED"
	| "WAL_LOSS_NOT_ACCEPTED"
	| "WAL_NEWER_FORMAT"
	| "WAL_NOT_JSON"
	| "WAL_OPTIONS"
	| "WAL_OUT_OF_RANGE"
	| "WAL_OVERLOADED"
	| "WAL_POISONED"
	| "WAL_READ_ONLY"
	| "WAL_SEQ_MISMATCH"
	| "WAL_TOO_LARGE"
	| "WAL_TRUNCATED"
	| "WAL_UNAVAILABLE"
	| "WAL_UNSAFE";

/** An error of the log; each code is a heading in this package's README. */
export class WalError extends ReynError<WalCode> {}
