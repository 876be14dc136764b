/** What is given before it is asked for: kept in order, and none of it lost. */
export class Inputs<T> implements AsyncIterable<T> {
	readonly #waiting: T[] = [];
	#wake = (): void => {};
	#isClosed = false;

	put(value: T): void {
		this.#waiting.push(value);
		this.#wake();
	}

	close(): void {
		this.#isClosed = true;
		this.#wake();
	}

	/** Undefined once it is closed and empty. */
	async next(): Promise<T | undefined> {
		for (;;) {
			const value = this.#waiting.shift();
			if (value !== undefined || this.#isClosed) return value;
			await new Promise<void>((resolve) => {
				this.#wake = resolve;
			});
		}
	}

	async *[Symbol.asyncIterator](): AsyncGenerator<T> {
		for (let value = await this.next(); value !== undefined; value = await this.next()) yield value;
	}
}
