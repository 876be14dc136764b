/**
 * Group commit: one flush in flight, and everything queued meanwhile is the next batch. There is no delay to tune. What an
 * engine leaves unknown is found out here, for all engines alike.
 */
import { CLOSE_MS, isAway, isWal, retryMs } from "./engine/away.ts";
import type { EngineCaps, Lease, RealmLog } from "./engine/engine.ts";
import { endsEarly, fenced } from "./engine/engine-errors.ts";
import { isReynError, messageOf, WalError } from "./errors.ts";
import type { Timers } from "./ports.ts";
import type { Seq } from "./record/record.ts";
import { Turns } from "./turns.ts";

/** From here on `ready` waits. */
const HIGH_WATER_CHARS = 8 * 1024 * 1024;
/** More than this is not queued. */
const MAX_QUEUE_CHARS = 64 * 1024 * 1024;
/** A full disk is asked again this often. */
const FULL_RETRY_MS = 1000;
/** So many times, for 0.3 s, it is asked again before anybody is told. */
const UNTOLD_RETRIES = 5;

interface Queued {
	readonly line: string;
	readonly bytes: number;
	readonly crc: string;
	/** Whoever waits for it; nobody does for most. */
	waiter: PromiseWithResolvers<void> | undefined;
}

export interface LogWriterOptions {
	readonly log: RealmLog;
	readonly lease: Lease;
	readonly caps: EngineCaps;
	readonly timers: Timers;
	/** Told when a wait begins, with why, and with nothing when it is over. */
	readonly onWait?: ((why: WalError | undefined) => void) | undefined;
	/** Told at once, why nothing is written any more. */
	onFailed?(why: WalError): void;
}

export class LogWriter {
	readonly #log: RealmLog;
	readonly #lease: Lease;
	readonly #caps: EngineCaps;
	readonly #timers: Timers;
	readonly #onWait: LogWriterOptions["onWait"];
	readonly #onFailed: LogWriterOptions["onFailed"];
	/** From `#head` on they wait; what is before it is gone, and is cut off now and then. */
	#queue: Queued[] = [];
	#head = 0;
	#chars = 0;
	#durable: Seq;
	#drained: (() => void)[] = [];
	#flushing: Promise<void> | undefined;
	/** An engine that writes at once, such as a database in this process, never waits for the event loop. */
	readonly #turns = new Turns();
	#full: WalError | undefined;
	/** Why the engine could not be asked the last time. */
	#away: WalError | undefined;
	/** Was `onWait` told of a wait that is not over? */
	#isWaiting = false;
	/** Has a close waited for the engine for as long as it does? */
	#isLate = false;
	/** The last seq of a try whose answer was lost: up to it, records may be there that are not known to be. */
	#doubted: Seq = 0;
	/** There is a newer writer, which came while something was on its way. */
	#fencedBy: WalError | undefined;
	/** Could the lease not be renewed the last time? */
	#isUnrenewed = false;
	/** Why nothing is written any more. */
	#failed: WalError | undefined;
	/** Has that cost records that had a seq? */
	#hasLost = false;
	/** Set when the log was closed. */
	#ended: WalError | undefined;
	#cancelRetry = (): void => {};

	constructor({ log, lease, caps, timers, onWait, onFailed }: LogWriterOptions) {
		this.#log = log;
		this.#lease = lease;
		this.#caps = caps;
		this.#timers = timers;
		this.#onWait = onWait;
		this.#onFailed = onFailed;
		this.#durable = lease.tail.seq;
	}

	/** The highest seq that is known to be durable. */
	get durableTip(): Seq {
		return this.#durable;
	}

	/**
	 * Throws when nothing more may be queued: `WAL_POISONED` once a write or a sync has failed, since what is on disk is
	 * then unknown; `WAL_FENCED` once there is a newer writer; `WAL_FULL` while the disk is, and asks it again;
	 * `WAL_OVERLOADED` when too much waits already.
	 */
	assertOpen(): void {
		const why = this.#failed ?? this.#fencedBy;
		if (why) throw why;
		if (this.#full) {
			this.#start();
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
		this.#queue.push({ line, bytes: Buffer.byteLength(line), crc, waiter: undefined });
		this.#chars += line.length;
		this.#start();
	}

	/** Resolves when `seq` is durable. Its failure is no unhandled rejection where nobody awaits it: each later append says so too. */
	wait(seq: Seq): Promise<void> {
		if (seq <= this.#durable) return Promise.resolve();
		const why = this.#failed ?? this.#ended;
		if (why) return heard(Promise.reject(why));
		const queued = this.#queue[this.#head + seq - this.#durable - 1] as Queued;
		queued.waiter ??= waiter();
		return queued.waiter.promise;
	}

	/** There is a newer writer: what is not durable will not be. What is on its way is waited for: its answer says what became of it. */
	fence(why: WalError): void {
		if (this.#failed) return;
		if (!this.#flushing) {
			this.#fail(why);
			return;
		}
		this.#fencedBy ??= why;
		this.#onFailed?.(why);
		this.#cancelRetry();
	}

	/** @param why the lease could not be renewed; undefined: it was */
	renewed(why?: unknown): void {
		const wasUnrenewed = this.#isUnrenewed;
		this.#isUnrenewed = why !== undefined;
		if (this.#isUnrenewed && !this.#isWaiting)
			this.#tell(
				new WalError("WAL_UNAVAILABLE", `the lease could not be renewed (${messageOf(why)})`, {}, { cause: why }),
			);
		else if (wasUnrenewed && !this.#isUnrenewed && !this.#away && !this.#full) this.#tell(undefined);
	}

	/** Lets go of what could not be written: it will not be any more. */
	end(): void {
		this.#ended =
			this.#failed ??
			this.#givenUp() ??
			new WalError("WAL_CLOSED", "the log was closed before this record was durable");
		this.#drop(this.#ended);
	}

	/** Resolves when `seq` is durable, or the disk is full or broken; gives how far one may read then. */
	async reach(seq: Seq): Promise<Seq> {
		while (this.#durable < seq && this.#flushing && !this.#failed && !this.#full) await this.#flushing;
		return Math.min(seq, this.#durable);
	}

	/** Resolves when the queue is short enough to go on. */
	ready(): Promise<void> {
		if (this.#chars <= HIGH_WATER_CHARS || this.#failed || this.#full) return Promise.resolve();
		return new Promise((resolve) => this.#drained.push(resolve));
	}

	/**
	 * Resolves when nothing is queued or in flight; rejects when nothing more is written, when the disk is still full, or when the
	 * engine was away for so long that a close does not wait for it any more.
	 */
	async drain(): Promise<void> {
		if (this.#full) this.#start();
		const cancel = this.#timers.after(this.#caps.answerMs ?? CLOSE_MS, () => {
			this.#isLate = true;
			this.#cancelRetry();
		});
		while (this.#flushing) await this.#flushing;
		cancel();
		const why = this.#failed ?? this.#givenUp();
		if (why && (!this.#failed || this.#hasLost)) throw why;
	}

	/** What becomes of what waits when the log is closed. */
	#givenUp(): WalError | undefined {
		const why = this.#full ?? (this.#isLate ? this.#away : undefined);
		if (!why) return undefined;
		const text = this.#full ? "the disk is full" : `the engine could not be reached (${why.message})`;
		return new WalError(
			this.#full ? "WAL_FULL" : "WAL_UNAVAILABLE",
			`${text}, and the log was closed: what waited is given up; ${this.#fate()}`,
			{ ...why.detail, ...this.#known() },
			{ cause: why },
		);
	}

	/** What has become of the records. */
	#fate(): string {
		const rest =
			this.#doubted > this.#durable
				? `those after it up to seq ${this.#doubted} may be there or not, since an answer was lost: opened again, the log says which. What comes after them is not there`
				: "what comes after it is not there, and will not be";
		return `every record up to seq ${this.#durable} is durable; ${rest}`;
	}

	#known(): { durableTip: Seq; doubted?: Seq } {
		return { durableTip: this.#durable, ...(this.#doubted > this.#durable && { doubted: this.#doubted }) };
	}

	/** Begins a flush, unless one runs or there is nothing to write. */
	#start(): void {
		if (this.#flushing || this.#failed || this.#head === this.#queue.length) return;
		// When the promises that can go on have gone on, so that all appends of one turn of the event loop share a sync: an outcome
		// and the start of what follows it are some promises apart.
		this.#flushing = new Promise<void>((resolve) => process.nextTick(resolve)).then(() => this.#flush());
	}

	async #flush(): Promise<void> {
		try {
			for (let retries = 0; this.#head < this.#queue.length && !this.#failed && !this.#fencedBy; ) {
				await this.#turns.next();
				this.#away = await this.#try(this.#nextBatch());
				if (!this.#away) retries = 0;
				else if (this.#isLate) return;
				else if (!this.#fencedBy) await this.#waitForEngine(this.#away, retries++);
			}
			if (this.#fencedBy) throw this.#fencedBy;
		} catch (cause) {
			if (isWal(cause, "WAL_FENCED")) {
				this.#fencedBy ??= cause;
				await this.#lookBack();
			}
			if (isWal(cause, "WAL_FULL") && !this.#fencedBy) this.#waitForSpace(cause);
			else this.#fail(cause);
			this.#wake();
		} finally {
			// In the same turn as the last look at the queue: what is pushed from here on begins a flush of its own.
			this.#flushing = undefined;
		}
	}

	/** Stores a batch, or finds out how much of it was. @returns why nothing was, where it is worth asking again */
	async #try(batch: readonly Queued[]): Promise<WalError | undefined> {
		const expect = this.#durable;
		try {
			await this.#log.append(
				this.#lease,
				expect,
				batch.map(({ line }) => line),
			);
		} catch (error) {
			if (isWal(error, "WAL_UNAVAILABLE")) return error;
			if (!isWal(error, "WAL_INDETERMINATE", "WAL_SEQ_MISMATCH")) throw error;
			this.#doubted = Math.max(this.#doubted, expect + batch.length);
			return await this.#reconcile(batch, error);
		}
		this.#acknowledge(batch);
		return undefined;
	}

	/** The batch may be there, whole or as a prefix, or not: the log itself says so. */
	async #reconcile(batch: readonly Queued[], why: WalError): Promise<WalError | undefined> {
		const expect = this.#durable;
		let found: readonly string[];
		try {
			const tail = await this.#log.tail();
			if (!tail || tail.log !== this.#lease.log || tail.seq < expect) throw endsEarly(tail?.seq ?? 0, expect);
			if (tail.epoch !== this.#lease.epoch) throw fenced(this.#lease.epoch, tail.epoch);
			found = await this.#crcs(expect, tail.seq);
		} catch (error) {
			if (isAway(error)) return error;
			throw error;
		}
		// Each carries the one before it, so equal ones are equal histories.
		if (found.length > batch.length || found.some((crc, i) => crc !== batch[i]?.crc))
			throw new WalError("WAL_CORRUPT", `seq ${expect + 1} is a record that this writer has not written`, {
				seq: expect + 1,
			});
		this.#acknowledge(batch.slice(0, found.length));
		return found.length > 0 ? undefined : why;
	}

	/** Once there is a newer writer, nothing that was on its way comes any more: what is there now is what was stored. */
	async #lookBack(): Promise<void> {
		for (let tries = 0; this.#doubted > this.#durable && tries < UNTOLD_RETRIES; tries++) {
			try {
				const tail = await this.#log.tail();
				if (tail?.log !== this.#lease.log) return;
				const tried = this.#queue.slice(this.#head, this.#head + this.#doubted - this.#durable);
				const found = await this.#crcs(this.#durable, Math.min(tail.seq, this.#doubted));
				const end = tried.findIndex(({ crc }, i) => crc !== found[i]);
				this.#doubted = 0;
				this.#acknowledge(end === -1 ? tried : tried.slice(0, end));
			} catch (error) {
				if (!isAway(error)) return;
				await this.#waitForEngine(error, tries);
			}
		}
	}

	async #crcs(after: Seq, through: Seq): Promise<readonly string[]> {
		const crcs: string[] = [];
		if (through > after)
			for await (const records of this.#log.read(after, through)) for (const { crc } of records) crcs.push(crc);
		return crcs;
	}

	/** Waits before the engine is asked again. */
	#waitForEngine(why: WalError, retries: number): Promise<void> {
		if (retries === UNTOLD_RETRIES) this.#tell(why);
		return new Promise((resolve) => {
			const cancel = this.#timers.after(retryMs(retries), resolve);
			this.#cancelRetry = () => {
				cancel();
				resolve();
			};
		});
	}

	/** Who waits for a record appends nothing meanwhile, so nobody else would try again. */
	#waitForSpace(cause: WalError): void {
		if (!this.#full) this.#tell(cause);
		this.#full = cause;
		this.#away = undefined;
		this.#cancelRetry();
		this.#cancelRetry = this.#timers.after(FULL_RETRY_MS, () => this.#start());
	}

	/** Apart from the flush: what a listener throws is no error of the disk. */
	#tell(why: WalError | undefined): void {
		this.#isWaiting = why !== undefined;
		queueMicrotask(() => this.#onWait?.(why));
	}

	#nextBatch(): readonly Queued[] {
		const { maxBatchRecords, maxBatchBytes } = this.#caps;
		let end = this.#head;
		let bytes = 0;
		while (end < this.#queue.length && end - this.#head < maxBatchRecords) {
			bytes += this.#queue[end]?.bytes ?? 0;
			if (end > this.#head && bytes > maxBatchBytes) break;
			end++;
		}
		return this.#queue.slice(this.#head, end);
	}

	/** What was stored leaves the queue only now: after a full disk the same lines go first. One pass frees who waits for them. */
	#acknowledge(batch: readonly Queued[]): void {
		if (this.#isWaiting && !this.#isUnrenewed) this.#tell(undefined);
		this.#full = undefined;
		this.#cancelRetry();
		this.#head += batch.length;
		if (this.#head > 4096 || this.#head === this.#queue.length) {
			this.#queue = this.#queue.slice(this.#head);
			this.#head = 0;
		}
		this.#durable += batch.length;
		for (const { line, waiter } of batch) {
			this.#chars -= line.length;
			waiter?.resolve();
		}
		if (this.#chars <= HIGH_WATER_CHARS) this.#wake();
	}

	#wake(): void {
		const drained = this.#drained;
		this.#drained = [];
		for (const resolve of drained) resolve();
	}

	#fail(cause: unknown): void {
		if (this.#failed) return;
		const why = messageOf(cause);
		this.#failed = isReynError(cause, "WAL_FENCED")
			? new WalError("WAL_FENCED", `${why}; ${this.#fate()}`, { ...cause.detail, ...this.#known() }, { cause })
			: new WalError(
					"WAL_POISONED",
					`a write to the log failed (${why}); every record up to seq ${this.#durable} is durable; those after it may be there or not. Mend the disk and open the log again: it says which`,
					{ durableTip: this.#durable },
					{ cause },
				);
		this.#drop(this.#failed);
		this.#onFailed?.(this.#failed);
	}

	#drop(why: WalError): void {
		this.#cancelRetry();
		this.#full = undefined;
		const dropped = this.#queue.slice(this.#head);
		this.#hasLost ||= dropped.length > 0;
		this.#queue = [];
		this.#head = 0;
		this.#chars = 0;
		for (const { waiter } of dropped) waiter?.reject(why);
		this.#wake();
	}
}

function waiter(): PromiseWithResolvers<void> {
	const made = Promise.withResolvers<void>();
	heard(made.promise);
	return made;
}

function heard<T>(promise: Promise<T>): Promise<T> {
	promise.catch(() => {});
	return promise;
}
