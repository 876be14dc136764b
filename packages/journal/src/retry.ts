/** When a failed call is tried again, how long one try may take, and what waits for space. */
import type { Timers } from "@reyn/wal";
import { isFull } from "@reyn/wal/internal";
import { isFinal, JournalError } from "./errors.ts";

export interface RetryPolicy {
	/** All tries together, the first one too. */
	readonly maxAttempts: number;
	/** The pause before the second try, in milliseconds. Default: 1000. */
	readonly initialIntervalMs?: number;
	/** By what each pause is longer than the one before. Default: 2. */
	readonly backoffFactor?: number;
	/** No pause of the policy's own is longer, in milliseconds. Default: 60,000. */
	readonly maxIntervalMs?: number;
	/** By what share of itself a pause may be longer, at random, so that not all who were refused come back at once. Default: 0. */
	readonly jitter?: number;
	/** An error's `retryAfterMs` is waited for up to this, in milliseconds; for a longer one there is no more try now. Default: 300,000. */
	readonly maxRetryAfterMs?: number;
	/** Which failures are tried again, among those that do not say that they are final. Default: all. */
	shouldRetry?(error: unknown): boolean;
}

/** How often a model is asked for one answer, and how long one try may take, in milliseconds. */
export interface ModelPolicy {
	readonly retry?: Partial<RetryPolicy> | undefined;
	readonly timeoutMs?: number | undefined;
}

/** What follows a try that failed: another one after a pause, or none. */
export type Next = { readonly kind: "again"; readonly pauseMs: number } | { readonly kind: "never" };

/** @param random from 0 to below 1 */
export function nextAfter(error: unknown, attempt: number, policy: RetryPolicy, random: () => number): Next {
	const { maxAttempts, jitter = 0, maxRetryAfterMs = 300_000 } = policy;
	if (!mayPass(error, policy)) return { kind: "never" };
	const wanted = retryAfterOf(error);
	if (attempt >= maxAttempts || wanted > maxRetryAfterMs) return { kind: "never" };
	const pauseMs = Math.max(delayBefore(attempt + 1, policy), wanted) * (1 + jitter * random());
	return { kind: "again", pauseMs: Math.min(Math.round(pauseMs), MAX_TIMER_MS) };
}

/** May another try help, sooner or later? */
export function mayPass(error: unknown, { shouldRetry }: RetryPolicy): boolean {
	return !isFinal(error) && shouldRetry?.(error) !== false;
}

/** What the far side asks for, in milliseconds: an error comes from outside, so its field may be anything. */
export function retryAfterOf(error: unknown): number {
	const { retryAfterMs } = (error ?? {}) as { retryAfterMs?: unknown };
	return typeof retryAfterMs === "number" && Number.isFinite(retryAfterMs) ? Math.max(0, retryAfterMs) : 0;
}

/** A longer timer of Node fires at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** The policy's own pause before a try, in milliseconds, from the moment that the one before it failed. */
export function delayBefore(
	attempt: number,
	{ initialIntervalMs = 1000, backoffFactor = 2, maxIntervalMs = 60_000 }: RetryPolicy,
): number {
	return Math.min(initialIntervalMs * backoffFactor ** (attempt - 2), maxIntervalMs);
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
	{ ms, name, late: text }: { readonly ms: number; readonly name: string; readonly late: string },
	call: (signal: AbortSignal) => Promise<T>,
	timers: Timers,
	signal: AbortSignal,
): Promise<T> {
	const limit = new AbortController();
	let cancel = (): void => {};
	const late = new Promise<never>((_, reject) => {
		cancel = timers.after(ms, () => {
			const error = new JournalError("STEP_TIMEOUT", text, { name, timeoutMs: ms });
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
