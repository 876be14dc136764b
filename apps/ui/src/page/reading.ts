/** Something that is read again whenever what is wanted changes; what was overtaken is called off. */
import { effect, type ReadonlySignal, signal } from "@preact/signals";
import { connection, isAborted } from "./api.ts";

export interface Reading<T> {
	/** What `value` is of. */
	readonly key?: string;
	readonly value?: T;
	readonly error?: string;
	/** Is something newer on its way? */
	readonly isReading: boolean;
}

interface Wanted<T> {
	readonly key: string;
	read(signal: AbortSignal): Promise<T>;
}

/** Who only passes by asks nothing. */
const PAUSE_MS = 60;
/** So long what was there before stays, lest the page flicker. */
const STAY_MS = 250;

/** @param wanted looks at signals; undefined: nothing is wanted now */
export function reading<T>(wanted: () => Wanted<T> | undefined): ReadonlySignal<Reading<T>> {
	const found = signal<Reading<T>>({ isReading: true });
	effect(() => {
		const isOpen = connection.value === "open";
		const want = wanted();
		if (!want) return;
		const { key } = want;
		const stop = new AbortController();
		found.value = { ...found.peek(), isReading: true };
		const asks = setTimeout(async () => {
			if (!isOpen) return;
			try {
				const value = await want.read(stop.signal);
				if (!stop.signal.aborted) found.value = { key, value, isReading: false };
			} catch (error) {
				if (stop.signal.aborted || isAborted(error)) return;
				found.value = { key, error: error instanceof Error ? error.message : String(error), isReading: false };
			}
		}, PAUSE_MS);
		const forgets = setTimeout(() => {
			if (found.peek().isReading && found.peek().key !== key) found.value = { isReading: true };
		}, STAY_MS);
		return () => {
			stop.abort();
			clearTimeout(asks);
			clearTimeout(forgets);
		};
	});
	return found;
}
