/** How a program that asks on, although nothing is made any more, is kept from holding up its process, or the end of its run. */
import { setImmediate } from "node:timers";
import type { Timers } from "@reyn/wal";

/** Enough for what a program asks for while it cleans up, in each of its branches. */
const AT_A_TIME = 100;

const LONGEST_PAUSE_MS = 1000;

/** How long a program may clean up once it is cancelled and has asked for a step. */
const CLEAN_UP_MS = 10_000;

/** And once it asks for more: it may be a loop, which would never end. */
const ASKING_ON_MS = 1000;

/**
 * Slows down a loop around a step that is refused again and again. Each refusal would come in a microtask, so that no timer and no
 * signal of the process were heard. Every hundred in one turn of the event loop cost a pause: 1 ms, doubled each time up to 1 s. What
 * asks less often is refused at once.
 */
export class Refusals {
	readonly #timers: Timers;
	#inThisTurn = 0;
	#pauseMs = 1;

	constructor(timers: Timers) {
		this.#timers = timers;
	}

	/** Counts one. @returns resolves when it may be told; undefined: at once */
	next(): Promise<void> | undefined {
		if (this.#inThisTurn++ === 0) setImmediate(() => this.#turnIsOver());
		if (this.#inThisTurn <= AT_A_TIME) return undefined;
		const ms = this.#pauseMs;
		// A loop alone does not keep its process alive.
		return new Promise((resolve) => void this.#timers.after(ms, resolve, false));
	}

	#turnIsOver(): void {
		const isLoop = this.#inThisTurn > AT_A_TIME;
		this.#pauseMs = isLoop ? Math.min(2 * this.#pauseMs, LONGEST_PAUSE_MS) : 1;
		this.#inThisTurn = 0;
	}
}

/**
 * What ends a program, or a call, from which a step was refused: at once. One that was cancelled may clean up before, and ends by
 * itself; where it does not, `reject` ends it 10 s after its first step that is refused so, and 1 s after its second, once its other
 * steps are over.
 *
 * @param over resolves when none of its steps is under way
 * @returns called with the reason for a step that must not be made, and for each step that is asked for after the cancel
 */
export function stopperOf(
	signal: AbortSignal,
	timers: Timers,
	reject: (error: Error) => void,
	over: () => Promise<void> | undefined,
): (error: Error) => void {
	const limits = [CLEAN_UP_MS, ASKING_ON_MS];
	return (error) => {
		if (!signal.aborted) return reject(error);
		const end = async (): Promise<void> => {
			await over();
			reject(error);
		};
		const limit = limits.shift();
		if (limit !== undefined) timers.after(limit, () => void end(), false);
	};
}
