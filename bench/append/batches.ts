/** Group commit by the caller: what waits while a batch is being written is the next one. */

/** Gives an `append` that hands over batches, one at a time. */
export function inBatches<Item>(
	write: (items: readonly Item[]) => Promise<unknown> | undefined,
): (item: Item) => Promise<void> {
	let waiting: { readonly item: Item; resolve(): void; reject(error: unknown): void }[] = [];
	let writing = false;
	const next = async (): Promise<void> => {
		const batch = waiting;
		waiting = [];
		try {
			await write(batch.map(({ item }) => item));
			for (const { resolve } of batch) resolve();
		} catch (error) {
			for (const { reject } of batch) reject(error);
		}
		writing = waiting.length > 0;
		if (writing) setImmediate(next);
	};
	return (item) => {
		const written = Promise.withResolvers<void>();
		waiting.push({ item, resolve: written.resolve, reject: written.reject });
		// When the turn is over, so that all of it is in one batch.
		if (!writing) setImmediate(next);
		writing = true;
		return written.promise;
	};
}
