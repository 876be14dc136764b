/** How a program that asks on, although nothing is made any more, is kept from holding up its process, or the end of its run. */
import { setImmediate } from "node:timers";
import type { Timers } from "@reyn/wal";
import { ProgramEnded } from "./failure.ts";

/** Enough for what a program asks for while it cleans up, in each of its branches. */
const AT_A_TIME = 100;

const LONGEST_PAUSE_MS = 1000;

/** How long a program may clean up once it was cancelled, or a step of it was refused. */
const CLEAN_UP_MS = 10_000;

/** And once it asks for more: it may be a loop, which would never end. */
const ASKING_ON_MS = 1000;

/**
 * Slows down a loop around a step that is refused again and again. Each refusal would come in a microtask, so that no timer and no
 * signal of the process were heard. Every hundred in one turn of the event loop cost a pause: 1 ms, doubled each time up to 1 s. What
 * asks less often is refused at once.
 */
export class Refusals {
	readonly #timers: Timers;
	#inThisTurn = 0;
	#pauseMs = 1;

	constructor(timers: Timers) {
		this.#timers = timers;
	}

	/** Counts one. @returns resolves when it may be told; undefined: at once */
	next(): Promise<void> | undefined {
		if (this.#inThisTurn++ === 0) setImmediate(() => this.#turnIsOver());
		if (this.#inThisTurn <= AT_A_TIME) return undefined;
		const ms = this.#pauseMs;
		// A loop alone does not keep its process alive.
		return new Promise((resolve) => void this.#timers.after(ms, resolve, false));
	}

	#turnIsOver(): void {
		const isLoop = this.#inThisTurn > AT_A_TIME;
		this.#pauseMs = isLoop ? Math.min(2 * this.#pauseMs, LONGEST_PAUSE_MS) : 1;
		this.#inThisTurn = 0;
	}
}

/**
 * What ends a program, or a call, from which a step was refused. It may clean up before, and ends by itself; where it does not,
 * it is ended: after a stop once it asks for another step, which is never answered, or after 10 s; after a cancel 1 s after its second
 * step that is refused, or 10 s after its first, once `over` says that none of its steps is under way.
 */
export class Stopper {
	readonly #signal: AbortSignal;
	readonly #timers: Timers;
	readonly #over: () => Promise<void> | undefined;
	/** After a cancel: how long it has from each step that is refused. */
	readonly #limits: (number | undefined)[] = [CLEAN_UP_MS, ASKING_ON_MS];
	/** Why it has to end, whatever it comes to itself. */
	#stop: Error | undefined;
	#reject: (error: Error) => void = () => {};
	#isOver = false;
	/** Ends the limit that keeps the process alive, so that whoever waits for the end of a cancelled program is answered. */
	#noLimit = (): void => {};

	constructor(signal: AbortSignal, timers: Timers, over: () => Promise<void> | undefined) {
		this.#signal = signal;
		this.#timers = timers;
		this.#over = over;
	}

	/** Ends its clean-up. @returns was it stopped? */
	endStopped(): boolean {
		if (this.#stop) this.#reject(this.#stop);
		return this.#stop !== undefined;
	}

	/**
	 * Runs it, once.
	 *
	 * @param counts does its result count, though it was stopped for this? Default: it never does
	 * @throws what it throws; why it was stopped, also where it has caught that
	 */
	run<T>(body: () => Promise<T>, counts: (stop: Error) => boolean = () => false): Promise<T> {
		return new Promise<T>((resolve, reject) => {
			this.#reject = reject;
			const begun = async (): Promise<T> => body();
			begun().then(
				(result) => (this.#stop && !counts(this.#stop) ? reject(this.#stop) : resolve(result)),
				(error: unknown) => reject(this.#stop ?? error),
			);
		}).finally(() => {
			this.#isOver = true;
			this.#noLimit();
		});
	}

	/** Says that it was cancelled: whether or not it asks for a step, it has 10 s from when none is under way. */
	async cancel(reason: Error): Promise<void> {
		this.#limits[0] = undefined;
		await this.#over();
		if (!this.#isOver) this.#noLimit = this.#endAfter(CLEAN_UP_MS, reason, true);
	}

	/**
	 * Call it with why a step was refused, with that again for a step that is asked for afterwards, and with the signal's reason for
	 * each that is asked for after a cancel.
	 */
	readonly stopped = (error: Error): void => {
		// No answer comes any more: neither to who asks on after a stop, nor where the program, or the try, around it has ended.
		if (error === this.#stop || error instanceof ProgramEnded) this.#reject(this.#stop ?? error);
		else if (this.#signal.aborted) this.#cancelled(error);
		else if (this.#stop === undefined) {
			this.#stop = error;
			this.#timers.after(CLEAN_UP_MS, () => this.#reject(error), false);
		}
	};

	#cancelled(error: Error): void {
		const limit = this.#limits.shift();
		if (limit !== undefined) this.#endAfter(limit, error);
	}

	#endAfter(ms: number, error: Error, keepsAlive = false): () => void {
		const end = async (): Promise<void> => {
			await this.#over();
			this.#reject(error);
		};
		return this.#timers.after(ms, () => void end(), keepsAlive);
	}
}
