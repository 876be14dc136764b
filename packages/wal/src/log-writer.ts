/** Group commit: one flush in flight, and everything queued meanwhile is the next batch. There is no delay to tune. */
import type { OpenLog } from "./engine.ts";
import { WalError } from "./errors.ts";
import type { Seq } from "./record.ts";

const MAX_BATCH_LINES = 512;
const MAX_BATCH_CHARS = 1024 * 1024;
/** From here on `ready` waits. */
const HIGH_WATER_CHARS = 8 * 1024 * 1024;
/** A full disk is asked again this often. */
const FULL_RETRY_MS = 1000;
/** More than this is not queued. */
const MAX_QUEUE_CHARS = 64 * 1024 * 1024;

interface Waiter {
	readonly seq: Seq;
	resolve(): void;
	reject(error: Error): void;
}

export class LogWriter {
	readonly #log: OpenLog;
	#queue: { readonly line: string; readonly crc: string }[] = [];
	#chars = 0;
	#durable: Seq;
	#waiters: Waiter[] = [];
	#drained: (() => void)[] = [];
	#flushing: Promise<void> | undefined;
	#full: WalError | undefined;
	#poison: WalError | undefined;
	#retry: NodeJS.Timeout | undefined;

	/** @param tip the last seq that is stored and durable already */
	constructor(log: OpenLog, tip: Seq) {
		this.#log = log;
		this.#durable = tip;
	}

	/** The highest seq that is known to be on disk. */
	get durableTip(): Seq {
		return this.#durable;
	}

	/**
	 * Throws when nothing more may be queued: `WAL_POISONED` once a write or a sync has failed, since what is on disk is
	 * then unknown; `WAL_FULL` while the disk is, and asks it again; `WAL_OVERLOADED` when too much waits already.
	 */
	assertOpen(): void {
		if (this.#poison) throw this.#poison;
		if (this.#full) {
			this.#flushing ??= this.#flush();
			throw this.#full;
		}
		if (this.#chars > MAX_QUEUE_CHARS) {
			throw new WalError(
				"WAL_OVERLOADED",
				`${this.#chars} characters wait to be written, and no more are taken; await ready() between appends`,
				{ waiting: this.#chars },
			);
		}
	}

	/** Queues the line of the next seq. */
	push(line: string, crc: string): void {
		this.#queue.push({ line, crc });
		this.#chars += line.length;
		// A microtask later, so that all appends of one turn of the event loop share a sync.
		this.#flushing ??= Promise.resolve().then(() => this.#flush());
	}

	/** Resolves when `seq` is durable. */
	wait(seq: Seq): Promise<void> {
		if (seq <= this.#durable) return Promise.resolve();
		if (this.#poison) return Promise.reject(this.#poison);
		return new Promise((resolve, reject) => this.#waiters.push({ seq, resolve, reject }));
	}

	/** Lets go of what could not be written: it will not be any more. */
	end(): void {
		clearTimeout(this.#retry);
		const waiters = this.#waiters;
		this.#waiters = [];
		this.#queue = [];
		const why =
			this.#poison ?? this.#full ?? new WalError("WAL_CLOSED", "the log was closed before this record was durable");
		for (const waiter of waiters) waiter.reject(why);
	}

	/** Resolves when `seq` is durable, or the disk is full or broken; gives how far one may read then. */
	async reach(seq: Seq): Promise<Seq> {
		while (this.#durable < seq && this.#flushing && !this.#poison && !this.#full) await this.#flushing;
		return Math.min(seq, this.#durable);
	}

	/** Resolves when the queue is short enough to go on. */
	ready(): Promise<void> {
		if (this.#chars <= HIGH_WATER_CHARS || this.#poison || this.#full) return Promise.resolve();
		return new Promise((resolve) => this.#drained.push(resolve));
	}

	/** Resolves when nothing is queued or in flight; rejects when the log is poisoned, or the disk still full. */
	async drain(): Promise<void> {
		if (this.#full) this.#flushing ??= this.#flush();
		while (this.#flushing) await this.#flushing;
		if (this.#poison ?? this.#full) throw this.#poison ?? this.#full;
	}

	async #flush(): Promise<void> {
		try {
			while (this.#queue.length > 0) {
				const count = this.#batchSize();
				const batch = this.#queue.slice(0, count);
				const first = this.#durable + 1;
				const last = this.#durable + count;
				await this.#log.append({ first, last, crc: batch[count - 1]?.crc ?? "", lines: batch.map(({ line }) => line) });
				// Only now do they leave the queue: after a full disk the same lines go first.
				this.#queue.splice(0, count);
				this.#full = undefined;
				this.#durable = last;
				this.#settle(batch);
			}
		} catch (cause) {
			if (cause instanceof WalError && cause.code === "WAL_FULL") this.#waitForSpace(cause);
			else this.#fail(cause);
			this.#wake();
		} finally {
			this.#flushing = undefined;
		}
	}

	/** Who waits for a record appends nothing meanwhile, so nobody else would try again. */
	#waitForSpace(cause: WalError): void {
		this.#full = cause;
		clearTimeout(this.#retry);
		this.#retry = setTimeout(() => {
			this.#flushing ??= this.#flush();
		}, FULL_RETRY_MS);
	}

	#batchSize(): number {
		let count = 0;
		let chars = 0;
		while (count < this.#queue.length && count < MAX_BATCH_LINES) {
			chars += this.#queue[count]?.line.length ?? 0;
			if (count > 0 && chars > MAX_BATCH_CHARS) break;
			count++;
		}
		return count;
	}

	/** One pass frees all that the last sync covered. */
	#settle(batch: readonly { readonly line: string }[]): void {
		for (const { line } of batch) this.#chars -= line.length;
		const still: Waiter[] = [];
		for (const waiter of this.#waiters) {
			if (waiter.seq <= this.#durable) waiter.resolve();
			else still.push(waiter);
		}
		this.#waiters = still;
		if (this.#chars <= HIGH_WATER_CHARS) this.#wake();
	}

	#wake(): void {
		const drained = this.#drained;
		this.#drained = [];
		for (const resolve of drained) resolve();
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
		this.#chars = 0;
		const waiters = this.#waiters;
		this.#waiters = [];
		for (const waiter of waiters) waiter.reject(this.#poison);
	}
}
