/** Tracks whether the disk is full. Records and blobs wait until there is space; closing a runtime does not. */
import { whenSpace } from "@reyn/journal";
import { systemTimers, type WalError } from "@reyn/wal";
import type { Keeping, KernelEvent } from "./events.ts";

export class DiskSpace {
	readonly #emit: (event: KernelEvent) => void;
	#none = Promise.withResolvers<void>();
	#isFull = false;

	constructor(emit: (event: KernelEvent) => void) {
		this.#emit = emit;
	}

	/** Resolves when the log has no space; at once if it has none now. */
	get whenNone(): Promise<void> {
		return this.#none.promise;
	}

	/** Is the log without space now? */
	get isFull(): boolean {
		return this.#isFull;
	}

	/** Takes the news of the log: for `onWait` of `openWal`. */
	heard(why: WalError | undefined): void {
		const wasFull = this.#isFull;
		this.#isFull = why?.code === "WAL_FULL";
		if (this.#isFull) this.#none.resolve();
		else if (wasFull) this.#none = Promise.withResolvers();
		if (why) this.#emit({ type: this.#isFull ? "disk_full" : "log_away", text: why.message });
		else this.#emit({ type: wasFull ? "disk_free" : "log_back" });
	}

	/**
	 * Writes something for some work, and waits while the disk is full.
	 *
	 * @throws the signal's reason, and other errors of `write`
	 */
	keep<T>(work: string, keeping: Keeping, write: () => T | Promise<T>, signal: AbortSignal): Promise<T> {
		return whenSpace(write, ({ code, message }) => this.waiting(work, keeping, code, message), systemTimers, signal);
	}

	/** Tells that something waits for space. For `WAL_FULL` the log tells that itself. */
	waiting(work: string, keeping: Keeping, code: string, reason: string): void {
		if (code === "WAL_FULL") return;
		this.#emit({ type: "waits_for_space", work, keeping, code, reason });
	}
}
