import { ReynError } from "@reyn/wal";

export type JournalCode =
	| "AGENT_ANSWER"
	| "AGENT_TURNS"
	| "CONCURRENT_LANE"
	| "DETERMINISM"
	| "NON_RETRYABLE"
	| "REPLAY_DIVERGENCE"
	| "RESULT_LOST"
	| "SCRIPT_ARGS"
	| "SCRIPT_BRANCH_FAILED"
	| "SCRIPT_INVALID"
	| "SCRIPT_NOT_JSON"
	| "SCRIPT_STUCK"
	| "SCRIPT_UNKNOWN_TOOL"
	| "SCRIPT_WAITING"
	| "STEP_DISCARDED"
	| "STEP_FAILED"
	| "STEP_TIMEOUT";

/** An error of this package; each code is a heading in its README. */
export class JournalError extends ReynError<JournalCode> {}

/** Thrown by a call that no further try can help, whatever its step's `retry` says. */
export class NonRetryableError extends JournalError {
	constructor(message: string, detail: Readonly<Record<string, unknown>> = {}, options?: ErrorOptions) {
		super("NON_RETRYABLE", message, detail, options);
	}
}

/** Why a step failed, as it is kept in the log. */
export interface Reason {
	readonly message: string;
	readonly code?: string | undefined;
}

export function reasonOf(error: unknown): Reason {
	const { message, code } =
		error instanceof Error ? (error as Error & { code?: unknown }) : { message: String(error), code: undefined };
	return typeof code === "string" ? { message, code } : { message };
}

/** Does an error say that no further try can help? */
export function isFinal(error: unknown): boolean {
	const { code, retryable } = (error ?? {}) as { code?: unknown; retryable?: unknown };
	return code === "NON_RETRYABLE" || retryable === false;
}

/** Throw an error with `retryable: true` to say that trying again may help; all others are final. */
export function isRetryable(error: unknown): boolean {
	return error instanceof Error && (error as Error & { retryable?: unknown }).retryable === true;
}

/** What a failed call said: the same words when it fails now and when its failure is recalled, so that a model is told the same. */
export function failureMessage(error: unknown): string {
	if (error instanceof JournalError && error.code === "STEP_FAILED") return (error.detail.reason as Reason).message;
	return reasonOf(error).message;
}
