/** When a failed call is tried again, how long one try may take, and what waits for space. */
import { isFull, type Timers } from "@reyn/wal";
import { isFinal, JournalError } from "./errors.ts";

export interface RetryPolicy {
	/** All tries together, the first one too. */
	readonly maxAttempts: number;
	/** The pause before the second try, in milliseconds. Default: 1000. */
	readonly initialIntervalMs?: number;
	/** By what each pause is longer than the one before. Default: 2. */
	readonly backoffFactor?: number;
	/** No pause is longer, in milliseconds. Default: 60,000. */
	readonly maxIntervalMs?: number;
}

/** The pause before a try, in milliseconds, from the moment that the one before it failed. */
export function delayBefore(
	attempt: number,
	{ initialIntervalMs = 1000, backoffFactor = 2, maxIntervalMs = 60_000 }: RetryPolicy,
): number {
	return Math.min(initialIntervalMs * backoffFactor ** (attempt - 2), maxIntervalMs);
}

/** Under a policy every failure is tried again, but one that says that it is final. */
export function mayTryAgain(error: unknown, attempt: number, { maxAttempts }: RetryPolicy): boolean {
	return attempt < maxAttempts && !isFinal(error);
}

/** @throws the signal's reason */
export async function pause(ms: number, timers: Timers, signal: AbortSignal): Promise<void> {
	signal.throwIfAborted();
	if (ms <= 0) return;
	await new Promise<void>((resolve, reject) => {
		const stop = (): void => {
			cancel();
			reject(signal.reason);
		};
		const cancel = timers.after(ms, () => {
			signal.removeEventListener("abort", stop);
			resolve();
		});
		signal.addEventListener("abort", stop, { once: true });
	});
}

/** How often it is tried whether there is space again, in milliseconds. */
const SPACE_MS = 250;

/**
 * Writes, and again while the disk is full: what is paid for is not lost for want of space.
 *
 * @param told is called once, when the wait begins
 * @throws the signal's reason, and what `write` throws of anything else
 */
export async function whenSpace<T>(
	write: () => T | Promise<T>,
	told: (why: Error & { readonly code: string }) => void,
	timers: Timers,
	signal: AbortSignal,
): Promise<T> {
	for (let tries = 0; ; tries++) {
		try {
			return await write();
		} catch (error) {
			if (!isFull(error)) throw error;
			if (tries === 0) told(error);
		}
		await pause(SPACE_MS, timers, signal);
	}
}

/**
 * Makes a call with a limit of its own. A call that is late is told to stop, and is not waited for; one that is cancelled from
 * outside is waited for as ever.
 *
 * @throws JournalError `STEP_TIMEOUT`
 */
export async function within<T>(
	ms: number,
	name: string,
	call: (signal: AbortSignal) => Promise<T>,
	timers: Timers,
	signal: AbortSignal,
): Promise<T> {
	const limit = new AbortController();
	let cancel = (): void => {};
	const late = new Promise<never>((_, reject) => {
		cancel = timers.after(ms, () => {
			const error = new JournalError(
				"STEP_TIMEOUT",
				`${name} took longer than its ${ms} ms, and was told to stop; whether it happened is not known`,
				{ name, timeoutMs: ms },
			);
			reject(error);
			limit.abort(error);
		});
	});
	const made = call(AbortSignal.any([signal, limit.signal]));
	try {
		return await Promise.race([made, late]);
	} finally {
		cancel();
	}
}
