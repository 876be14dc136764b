/** For commands that tell of more than there may be time for: they end with it, or when somebody stops them. */
import { setTimeout as sleep } from "node:timers/promises";
import { exitCodes } from "./exit-codes.ts";

const POLL_MS = 100;

/** Tells until all is told, or Ctrl-C or a signal to end. Gives the exit code. */
export async function untilTold(tell: (signal: AbortSignal) => Promise<void>): Promise<number> {
	const stopped = new AbortController();
	let exitCode: number = exitCodes.ok;
	const stop = (signal: NodeJS.Signals): void => {
		exitCode = signal === "SIGINT" ? exitCodes.interrupted : exitCodes.terminated;
		stopped.abort();
	};
	process.once("SIGINT", stop).once("SIGTERM", stop);
	await tell(stopped.signal);
	return exitCode;
}

/** Looks again and again, until then. */
export const untilStopped = (look: () => Promise<void>): Promise<number> =>
	untilTold(async (signal) => {
		while (!signal.aborted) {
			await look();
			await sleep(POLL_MS, undefined, { signal }).catch(() => {});
		}
	});
