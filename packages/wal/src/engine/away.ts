/** Of an engine that is away: which errors say so, and how long and how often it is asked again. */
import { isReynError, type WalCode, type WalError } from "../errors.ts";

/** An engine that cannot be reached is asked again after this, doubled each time, up to the longest. */
const FIRST_RETRY_MS = 10;
const LONGEST_RETRY_MS = 1000;
/** How long somebody waits for an engine that is away, where the engine does not say. */
export const CLOSE_MS = 10_000;

/** How long to wait before an engine is asked again. */
export const retryMs = (retries: number): number =>
	Math.min(FIRST_RETRY_MS * 2 ** Math.min(retries, 16), LONGEST_RETRY_MS);

/** Of whatever copy of this package an engine has. */
export const isWal = (error: unknown, ...codes: readonly WalCode[]): error is WalError => isReynError(error, ...codes);

/** Is it worth asking again? */
export const isAway = (error: unknown): error is WalError => isWal(error, "WAL_UNAVAILABLE", "WAL_INDETERMINATE");
