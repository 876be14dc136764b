/** A latch: a call waits at it until its order lets it go on. */

/** Opens once, or refuses once. Waiting at an open latch costs no promise. */
export class Latch {
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

	/** Waits until the latch opens; undefined: it is open already. Rejects when it refuses, or with the signal's reason. */
	wait(signal: AbortSignal): Promise<void> | undefined {
		if (this.#state === "open") return undefined;
		return new Promise((resolve, reject) => {
			const stop = (): void => reject(signal.reason);
			this.#told = () => {
				forget(signal, stop);
				if (this.#state instanceof Error) reject(this.#state);
				else resolve();
			};
			if (this.#state !== "shut") return this.#told();
			if (signal.aborted) return stop();
			listen(signal, stop);
		});
	}
}

interface Listening {
	readonly stops: Set<() => void>;
	readonly stopAll: () => void;
}

/** One abort listener per signal for all who wait: adding a listener takes a signal time with the number that it has. */
const listening = new WeakMap<AbortSignal, Listening>();

function listen(signal: AbortSignal, stop: () => void): void {
	const known = listening.get(signal);
	if (known) {
		known.stops.add(stop);
		return;
	}
	const stops = new Set([stop]);
	const stopAll = (): void => {
		listening.delete(signal);
		for (const each of stops) each();
	};
	listening.set(signal, { stops, stopAll });
	signal.addEventListener("abort", stopAll, { once: true });
}

function forget(signal: AbortSignal, stop: () => void): void {
	const known = listening.get(signal);
	if (!known?.stops.delete(stop) || known.stops.size > 0) return;
	listening.delete(signal);
	signal.removeEventListener("abort", known.stopAll);
}
