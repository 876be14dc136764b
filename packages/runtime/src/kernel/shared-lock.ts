/** Writes that go on beside each other, and work that goes on while none of them does. */
export class Gate {
	#passing = new Set<Promise<unknown>>();
	#closed: Promise<unknown> | undefined;

	/** Does it when the gate is open, beside others. */
	async pass<T>(work: () => Promise<T>): Promise<T> {
		while (this.#closed) await this.#closed;
		return following(this.#passing, work());
	}

	/** Closes the gate, waits until all have passed, and does it alone. */
	async alone<T>(work: () => Promise<T>): Promise<T> {
		while (this.#closed) await this.#closed;
		const { promise, resolve } = Promise.withResolvers<void>();
		this.#closed = promise;
		try {
			await Promise.allSettled(this.#passing);
			return await work();
		} finally {
			this.#closed = undefined;
			resolve();
		}
	}
}

async function following<T>(among: Set<Promise<unknown>>, work: Promise<T>): Promise<T> {
	among.add(work);
	try {
		return await work;
	} finally {
		among.delete(work);
	}
}
