/** Is there space? What is recorded waits until there is, and so do the files beside the log; the end of a runtime does not. */
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

	/** Resolves as soon as the log has none, and at once while it has none. */
	get whenNone(): Promise<void> {
		return this.#none.promise;
	}

	/** Has the log none now? */
	get isFull(): boolean {
		return this.#isFull;
	}

	/** What the log says of it: `onFull` of `openWal`. */
	heard(why: WalError | undefined): void {
		this.#isFull = why !== undefined;
		if (why) {
			this.#none.resolve();
			this.#emit({ type: "disk_full", text: why.message });
		} else {
			this.#none = Promise.withResolvers();
			this.#emit({ type: "disk_free" });
		}
	}

	/**
	 * Keeps something of some work, and waits while there is no space.
	 *
	 * @throws the signal's reason, and what `write` throws of anything else
	 */
	keep<T>(work: string, keeping: Keeping, write: () => T | Promise<T>, signal: AbortSignal): Promise<T> {
		return whenSpace(write, ({ code, message }) => this.waiting(work, keeping, code, message), systemTimers, signal);
	}

	/** Says that something waits; what the log itself waits for it says itself. */
	waiting(work: string, keeping: Keeping, code: string, reason: string): void {
		if (code === "WAL_FULL") return;
		this.#emit({ type: "waits_for_space", work, keeping, code, reason });
	}
}
