/** Group commit: one flush in flight, and everything queued meanwhile is the next batch. There is no delay to tune. */
import type { OpenLog } from "./engine.ts";
import { WalError } from "./errors.ts";
import type { Seq } from "./record.ts";

const MAX_BATCH_LINES = 512;
const MAX_BATCH_CHARS = 1024 * 1024;

interface Waiter {
	readonly seq: Seq;
	resolve(): void;
	reject(error: Error): void;
}

export class LogWriter {
	readonly #log: OpenLog;
	#queue: string[] = [];
	#durable: Seq;
	#waiters: Waiter[] = [];
	#flushing: Promise<void> | undefined;
	#poison: WalError | undefined;

	/** @param tip the last seq that is stored and durable already */
	constructor(log: OpenLog, tip: Seq) {
		this.#log = log;
		this.#durable = tip;
	}

	/** The highest seq that is known to be on disk. */
	get durableTip(): Seq {
		return this.#durable;
	}

	/** Throws `WAL_POISONED` once a write or a sync has failed: what is on disk is then unknown, so nothing may follow it. */
	assertSound(): void {
		if (this.#poison) throw this.#poison;
	}

	/** Queues the line of the next seq. */
	push(line: string): void {
		this.assertSound();
		this.#queue.push(line);
		// A microtask later, so that all appends of one turn of the event loop share a sync.
		this.#flushing ??= Promise.resolve().then(() => this.#flush());
	}

	/** Resolves when `seq` is durable. */
	wait(seq: Seq): Promise<void> {
		if (seq <= this.#durable) return Promise.resolve();
		if (this.#poison) return Promise.reject(this.#poison);
		return new Promise((resolve, reject) => this.#waiters.push({ seq, resolve, reject }));
	}

	/** Resolves when nothing is queued or in flight; rejects when the log is poisoned. */
	async drain(): Promise<void> {
		while (this.#flushing) await this.#flushing;
		this.assertSound();
	}

	async #flush(): Promise<void> {
		try {
			while (this.#queue.length > 0) {
				const batch = this.#takeBatch();
				await this.#log.append(this.#durable + 1, batch);
				this.#durable += batch.length;
				this.#settle();
			}
		} catch (cause) {
			this.#fail(cause);
		} finally {
			this.#flushing = undefined;
		}
	}

	#takeBatch(): string[] {
		let count = 0;
		let chars = 0;
		while (count < this.#queue.length && count < MAX_BATCH_LINES) {
			chars += (this.#queue[count] as string).length;
			if (count > 0 && chars > MAX_BATCH_CHARS) break;
			count++;
		}
		return this.#queue.splice(0, count);
	}

	/** Waiters stand in the order of their seqs, or nearly: one pass frees all that the last sync covered. */
	#settle(): void {
		const still: Waiter[] = [];
		for (const waiter of this.#waiters) {
			if (waiter.seq <= this.#durable) waiter.resolve();
			else still.push(waiter);
		}
		this.#waiters = still;
	}

	#fail(cause: unknown): void {
		const why = cause instanceof Error ? cause.message : String(cause);
		this.#poison = new WalError(
			"WAL_POISONED",
			`a write to the log failed (${why}); every record up to seq ${this.#durable} is durable, nothing after it is. Mend the disk, then open the log again`,
			{ durableTip: this.#durable },
			{ cause },
		);
		this.#queue = [];
		const waiters = this.#waiters;
		this.#waiters = [];
		for (const waiter of waiters) waiter.reject(this.#poison);
	}
}
