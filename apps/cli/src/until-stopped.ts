/** For commands that wait for more, until somebody stops them. */
import { setTimeout as sleep } from "node:timers/promises";
import { exitCodes } from "./exit-codes.ts";

const POLL_MS = 100;

/** Looks again and again, until Ctrl-C or a signal to end. Gives the exit code. */
export async function untilStopped(look: () => Promise<void>): Promise<number> {
	const stopped = new AbortController();
	let exitCode: number = exitCodes.ok;
	const stop = (signal: NodeJS.Signals): void => {
		exitCode = signal === "SIGINT" ? exitCodes.interrupted : exitCodes.terminated;
		stopped.abort();
	};
	process.once("SIGINT", stop).once("SIGTERM", stop);
	while (!stopped.signal.aborted) {
		await look();
		await sleep(POLL_MS, undefined, { signal: stopped.signal }).catch(() => {});
	}
	return exitCode;
}
