/** Steps of a program that tell the time and wait. They are recorded once, like a model's answer, and not made again. */
import { type Clock, systemClock, systemTimers, type Timers } from "@reyn/wal";
import { pause } from "./retry.ts";
import type { Step } from "./step.ts";

export interface Clocks {
	readonly clock?: Clock | undefined;
	readonly timers?: Timers | undefined;
}

/** Milliseconds since 1970. */
export const nowStep = ({ clock = systemClock }: Clocks): Step<number> => ({
	...{ kind: "now", name: "now", args: {}, purity: "llm" },
	call: async () => clock.now(),
});

/**
 * Its result is when it was over.
 *
 * @param ms milliseconds, from 0
 * @param over ends the wait: the program has ended
 */
export const sleepStep = (
	ms: number,
	{ clock = systemClock, timers = systemTimers }: Clocks,
	over?: AbortSignal,
): Step<number> => ({
	...{ kind: "sleep", name: "sleep", args: { ms }, purity: "llm" },
	async call({ lane, signal }) {
		// The end of the sleep is recorded first, so that after a crash only the rest is slept.
		const until = await lane.perform<number>({
			...{ kind: "sleep", name: "until", args: {}, purity: "llm" },
			call: async () => clock.now() + ms,
		});
		await pause(until - clock.now(), timers, over ? AbortSignal.any([signal, over]) : signal);
		return until;
	},
});
