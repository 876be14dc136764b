/** Gives the event loop its turns: work that goes on in promises alone would keep timers, sockets and signals waiting. */

/** How long promises may go on before other work has a turn, in milliseconds. */
const LONGEST_MS = 4;

export class Turns {
	/** When this turn of the event loop was first asked about. */
	#since: number | undefined;

	/** Call it between two pieces of work. @returns resolves after other work has had its turn; undefined: go on */
	next(): Promise<void> | undefined {
		const now = performance.now();
		if (this.#since === undefined) {
			this.#since = now;
			setImmediate(() => {
				this.#since = undefined;
			});
		}
		return now - this.#since < LONGEST_MS ? undefined : new Promise((resolve) => setImmediate(resolve));
	}
}
