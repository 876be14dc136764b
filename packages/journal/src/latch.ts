/** What a call waits at, until its order lets it go on. */

/** Opened once, or refused; nothing waits where it is open already. */
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

	/** Undefined where it is open. */
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

/** One listener for all that wait: a signal looks through those that it has for each one more. */
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
