/** How those who follow a log of this process are woken. */

/** Wakes those who wait for something to have happened; a ring that nobody heard is gone, so they look before they wait. */
export class Bell {
	readonly #waiting = new Set<() => void>();

	ring(): void {
		for (const wake of this.#waiting) wake();
	}

	/** Resolves at the next ring, or when the signal says so. */
	next(signal: AbortSignal): Promise<void> {
		return new Promise((resolve) => {
			const wake = (): void => {
				this.#waiting.delete(wake);
				signal.removeEventListener("abort", wake);
				resolve();
			};
			this.#waiting.add(wake);
			signal.addEventListener("abort", wake, { once: true });
			if (signal.aborted) wake();
		});
	}
}
