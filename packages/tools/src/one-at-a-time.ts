/** Acts of one name, one after the other. */
export class OneAtATime {
	/** Resolves when the last act of the name is over. */
	readonly #last = new Map<string, Promise<void>>();

	/** Acts when all that came before under this name is over, however that ended. */
	async run<T>(name: string, act: () => Promise<T>): Promise<T> {
		const before = this.#last.get(name);
		const { promise: over, resolve } = Promise.withResolvers<void>();
		this.#last.set(name, over);
		await before;
		try {
			return await act();
		} finally {
			resolve();
			if (this.#last.get(name) === over) this.#last.delete(name);
		}
	}
}
