import { ReynError } from "@reyn/wal";

export type JournalCode = "STEP_DISCARDED" | "STEP_FAILED";

/** An error of this package; each code is a heading in its README. */
export class JournalError extends ReynError<JournalCode> {}

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

/** Throw an error with `retryable: true` to say that trying again may help; all others are final. */
export function isRetryable(error: unknown): boolean {
	return error instanceof Error && (error as Error & { retryable?: unknown }).retryable === true;
}

/** What a failed call said: the same words when it fails now and when its failure is recalled, so that a model is told the same. */
export function failureMessage(error: unknown): string {
	if (error instanceof JournalError && error.code === "STEP_FAILED") return (error.detail.reason as Reason).message;
	return reasonOf(error).message;
}
