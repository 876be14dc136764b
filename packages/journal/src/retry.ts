/** Retry policies: when a failed call is tried again, how long one try may take, and how writes wait for disk space. */
import type { Timers } from "@reyn/wal";
import { isFull } from "@reyn/wal/internal";
import { isFinal, JournalError } from "./errors.ts";

export interface RetryPolicy {
	/** How many tries there are, the first one included. */
	readonly maxAttempts: number;
	/** The pause before the second try, in milliseconds. Default: 1000. */
	readonly initialIntervalMs?: number;
	/** The factor by which each pause is longer than the one before. Default: 2. */
	readonly backoffFactor?: number;
	/** The longest pause, in milliseconds, that the policy makes by itself. Default: 60,000. */
	readonly maxIntervalMs?: number;
	/** The random part of a pause, as a share of it: 0.5 makes it up to half longer. It keeps clients from retrying all at once. Default: 0. */
	readonly jitter?: number;
	/** The longest `retryAfterMs` of an error that is waited for, in milliseconds; a longer one ends the tries. Default: 300,000. */
	readonly maxRetryAfterMs?: number;
	/** Decides which failures are tried again; failures that say that they are final never are. Default: all others. */
	shouldRetry?(error: unknown): boolean;
}

/** How often a model is asked for one answer, and how long one try may take, in milliseconds. */
export interface ModelPolicy {
	readonly retry?: Partial<RetryPolicy> | undefined;
	readonly timeoutMs?: number | undefined;
}

/** What follows a failed try: another one after a pause, or none. */
export type Next = { readonly kind: "again"; readonly pauseMs: number } | { readonly kind: "never" };

/** Decides what follows a failed try. @param random draws from 0 to below 1 */
export function nextAfter(error: unknown, attempt: number, policy: RetryPolicy, random: () => number): Next {
	const { maxAttempts, jitter = 0, maxRetryAfterMs = 300_000 } = policy;
	if (!mayPass(error, policy)) return { kind: "never" };
	const wanted = retryAfterOf(error);
	if (attempt >= maxAttempts || wanted > maxRetryAfterMs) return { kind: "never" };
	const pauseMs = Math.max(delayBefore(attempt + 1, policy), wanted) * (1 + jitter * random());
	return { kind: "again", pauseMs: Math.min(Math.round(pauseMs), MAX_TIMER_MS) };
}

/** May another try help, now or later? */
export function mayPass(error: unknown, { shouldRetry }: RetryPolicy): boolean {
	return !isFinal(error) && shouldRetry?.(error) !== false;
}

/** The pause that the far side asks for, in milliseconds; 0 when the field is no number, since an error from outside may hold anything. */
export function retryAfterOf(error: unknown): number {
	const { retryAfterMs } = (error ?? {}) as { retryAfterMs?: unknown };
	return typeof retryAfterMs === "number" && Number.isFinite(retryAfterMs) ? Math.max(0, retryAfterMs) : 0;
}

/** The longest timer of Node; a longer one would fire at once. */
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

/** The pause between two tries to write on a full disk, in milliseconds. */
const SPACE_MS = 250;

/**
 * Writes, and tries again while the disk is full, so that an answer that was paid for is not lost.
 *
 * @param told called once, when the wait begins
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

/** Waits no longer than until the signal aborts, also for who does not hear it. @throws the signal's reason */
export async function unlessAborted<T>(made: Promise<T>, signal: AbortSignal): Promise<T> {
	const { promise: aborted, reject } = Promise.withResolvers<never>();
	const abort = (): void => reject(signal.reason);
	signal.addEventListener("abort", abort, { once: true });
	try {
		if (signal.aborted) abort();
		return await Promise.race([made, aborted]);
	} finally {
		signal.removeEventListener("abort", abort);
	}
}

/**
 * Makes a call with a time limit. A late call is told to stop by its signal, and is not waited for; a call that is cancelled from
 * outside is waited for.
 *
 * @throws JournalError `STEP_TIMEOUT`
 */
export async function within<T>(
	{ ms, name, late: text, giveUp }: { ms: number; name: string; late: string; giveUp?(): void },
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
			giveUp?.();
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
