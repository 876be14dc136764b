/** What the log takes from outside beside a disk: time, names and timers. */
import { randomBytes } from "node:crypto";

/** Where the time comes from. Order never depends on it: `seq` alone orders. */
export interface Clock {
	/** Milliseconds since 1970. */
	now(): number;
}

/** Where names that must not collide come from. */
export interface Ids {
	/** A fresh lower-case hex string of `bytes` random bytes. */
	hex(bytes: number): string;
}

/** Where waiting comes from. */
export interface Timers {
	/**
	 * Runs something once, so many milliseconds from now; gives what takes that back.
	 *
	 * @param keepsAlive may the process wait for it before it ends? Default: true.
	 */
	after(ms: number, run: () => void, keepsAlive?: boolean): () => void;
}

export const systemClock: Clock = { now: () => Date.now() };

export const randomIds: Ids = { hex: (bytes) => randomBytes(bytes).toString("hex") };

export const systemTimers: Timers = {
	after(ms, run, keepsAlive = true) {
		const timer = setTimeout(run, ms);
		if (!keepsAlive) timer.unref();
		return () => clearTimeout(timer);
	},
};
