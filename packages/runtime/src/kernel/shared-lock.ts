/** A lock for one process: many hold it shared, or one holds it alone. */
export class SharedLock {
	#holders = new Set<Promise<unknown>>();
	#exclusive: Promise<unknown> | undefined;

	/** Works beside others that hold it shared, once nobody holds it alone. */
	async shared<T>(work: () => Promise<T>): Promise<T> {
		while (this.#exclusive) await this.#exclusive;
		const working = work();
		this.#holders.add(working);
		try {
			return await working;
		} finally {
			this.#holders.delete(working);
		}
	}

	/** Lets nobody else in, waits for those that hold it shared, and works alone. */
	async exclusive<T>(work: () => Promise<T>): Promise<T> {
		while (this.#exclusive) await this.#exclusive;
		const { promise, resolve } = Promise.withResolvers<void>();
		this.#exclusive = promise;
		try {
			await Promise.allSettled(this.#holders);
			return await work();
		} finally {
			this.#exclusive = undefined;
			resolve();
		}
	}
}
