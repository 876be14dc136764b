/** What a call waits at, until its order lets it go on. */

/** Opened once, or refused; nothing waits where it is open already. */
export class Gate {
	#state: "shut" | "open" | Error = "shut";
	#told: (() => void) | undefined;

	open(): void {
		if (this.#state === "shut") this.#state = "open";
		this.#told?.();
	}

	refuse(error: Error): void {
		if (this.#state === "shut") this.#state = error;
		this.#told?.();
	}

	/** Undefined where it is open. */
	wait(signal: AbortSignal): Promise<void> | undefined {
		if (this.#state === "open") return undefined;
		return new Promise((resolve, reject) => {
			const stop = (): void => reject(signal.reason);
			this.#told = () => {
				signal.removeEventListener("abort", stop);
				if (this.#state instanceof Error) reject(this.#state);
				else resolve();
			};
			if (this.#state !== "shut") return this.#told();
			if (signal.aborted) return stop();
			signal.addEventListener("abort", stop, { once: true });
		});
	}
}
