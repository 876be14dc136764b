/** Wakes those who follow a log that another process may write: one look for all of them, however many there are. */
import type { Timers } from "../ports.ts";
import type { Seq } from "../record/record.ts";

export class Poller {
	readonly #tail: () => Promise<Seq>;
	readonly #ms: number;
	readonly #timers: Timers;
	/** What wakes each, and the last seq that it has. */
	readonly #waiting = new Map<() => void, Seq>();
	#isLooking = false;

	/**
	 * @param tail how far the log is; what it throws wakes all, who then find out themselves
	 * @param ms how often that is asked while somebody waits
	 */
	constructor(tail: () => Promise<Seq>, ms: number, timers: Timers) {
		this.#tail = tail;
		this.#ms = ms;
		this.#timers = timers;
	}

	/** Wakes all: this process has written something. */
	ring(): void {
		for (const wake of this.#waiting.keys()) wake();
	}

	/** Resolves when the log has more than `reached`, or may have; and when the signal aborts. */
	next(reached: Seq, signal: AbortSignal): Promise<void> {
		return new Promise((resolve) => {
			const wake = (): void => {
				this.#waiting.delete(wake);
				signal.removeEventListener("abort", wake);
				resolve();
			};
			this.#waiting.set(wake, reached);
			signal.addEventListener("abort", wake, { once: true });
			if (signal.aborted) return wake();
			this.#lookLater();
		});
	}

	#lookLater(): void {
		if (this.#isLooking) return;
		this.#isLooking = true;
		this.#timers.after(this.#ms, () => void this.#look());
	}

	async #look(): Promise<void> {
		// Nobody waits any more: the next one begins anew.
		const last = this.#waiting.size === 0 ? 0 : await this.#tail().catch(() => Number.POSITIVE_INFINITY);
		for (const [wake, reached] of this.#waiting) if (reached < last) wake();
		this.#isLooking = false;
		if (this.#waiting.size > 0) this.#lookLater();
	}
}
