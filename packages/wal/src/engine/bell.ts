/** How those who follow a log are woken. */
import type { Timers } from "../ports.ts";

/** Wakes those who wait for something to have happened; a ring that nobody heard is gone, so they look before they wait. */
export class Bell {
	readonly #waiting = new Set<() => void>();

	ring(): void {
		for (const wake of this.#waiting) wake();
	}

	/** Resolves at the next ring, or when the signal says so. */
	next(signal: AbortSignal): Promise<void> {
		return this.#next(signal, () => () => {});
	}

	/** The same, or after so long without a ring: for what may happen in another process. */
	nextWithin(ms: number, signal: AbortSignal, timers: Timers): Promise<void> {
		return this.#next(signal, (wake) => timers.after(ms, wake));
	}

	#next(signal: AbortSignal, arm: (wake: () => void) => () => void): Promise<void> {
		return new Promise((resolve) => {
			const wake = (): void => {
				this.#waiting.delete(wake);
				signal.removeEventListener("abort", wake);
				disarm();
				resolve();
			};
			this.#waiting.add(wake);
			signal.addEventListener("abort", wake, { once: true });
			const disarm = arm(wake);
			if (signal.aborted) wake();
		});
	}
}
