/** Timers of a test that has no time to wait. */
import type { Timers } from "@reyn/wal";

/** Waits are over at once. */
export const atOnce: Timers = {
	after(_, run) {
		const timer = setImmediate(run);
		return () => clearImmediate(timer);
	},
};

/**
 * Pauses are over at once, and no model takes too long.
 *
 * @param waits is told how long each pause was to be that work waits for, in milliseconds
 */
export function pauseless(waits: number[] = []): Timers {
	return {
		after(ms, run, keepsAlive = true) {
			if (ms >= 600_000) return () => {};
			if (keepsAlive) waits.push(ms);
			return atOnce.after(ms, run);
		},
	};
}
