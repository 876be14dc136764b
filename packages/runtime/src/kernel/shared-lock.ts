/** A lock within one process: many may hold it shared, or one exclusively. */
export class SharedLock {
	#holders = new Set<Promise<unknown>>();
	#exclusive: Promise<unknown> | undefined;

	/** Runs work beside other shared holders, once nobody holds the lock exclusively. */
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

	/** Runs work alone: nobody else gets in, and the shared holders are waited for. */
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
