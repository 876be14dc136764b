/** Decides where the next flush runs: in the pool of the process, or in the writer's own thread while others fill the pool. */

/** A flush is slow that takes so many times as long as usual, and so many milliseconds more. */
const SLOW_TIMES = 4;
const SLOW_MS = 1;
/** After two slow ones the thread has so many, and after each further slow one twice as many. */
const FIRST_PAUSE = 32;
const LONGEST_PAUSE = 1024;
/** One step of the median: it is that much more where a flush took longer, and that much less where it did not. */
const STEP = 1.1;

export class PoolChoice {
	/** About the median of what flushes take, wherever they run: a disk that becomes slow is slow for both. */
	#usualMs: number | undefined;
	#slow = 0;
	#pause = FIRST_PAUSE;
	/** How many flushes the thread has yet. */
	#left = 0;

	get isPool(): boolean {
		return this.#left === 0;
	}

	byThread(ms: number): void {
		this.#note(ms);
		if (this.#left > 0) this.#left--;
	}

	byPool(ms: number): void {
		const usual = this.#note(ms);
		if (ms <= Math.max(usual * SLOW_TIMES, usual + SLOW_MS)) {
			this.#slow = 0;
			this.#pause = FIRST_PAUSE;
		} else if (++this.#slow > 1) {
			this.#left = this.#pause;
			this.#pause = Math.min(this.#pause * 2, LONGEST_PAUSE);
			// The first flush after the pause says whether the pool is still full.
			this.#slow = 1;
		}
	}

	/** @returns what was usual before */
	#note(ms: number): number {
		const usual = this.#usualMs ?? ms;
		this.#usualMs = ms > usual ? usual * STEP : usual / STEP;
		return usual;
	}
}
