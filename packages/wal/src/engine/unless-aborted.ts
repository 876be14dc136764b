/** A wait that an abort ends, whatever is waited for. */

/** What a promise gives; undefined once the signal has aborted. Whether the promise ever settles does not matter then. */
export function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
	return new Promise((resolve, reject) => {
		const end = (): void => resolve(undefined);
		signal.addEventListener("abort", end, { once: true });
		if (signal.aborted) end();
		promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", end));
	});
}

/** The same until the signal aborts: an engine that never answers holds nobody up. */
export async function* untilAborted<T>(items: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T> {
	const iterator = items[Symbol.asyncIterator]();
	try {
		while (!signal.aborted) {
			const next = await unlessAborted(iterator.next(), signal);
			if (!next || next.done) return;
			yield next.value;
		}
	} finally {
		// Not awaited: it comes behind the call that may never be answered.
		iterator.return?.()?.catch(() => {});
	}
}
