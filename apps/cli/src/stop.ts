/** What ends a command before it is done: a signal, or that whoever reads its output has gone. */
import type { Runtime } from "@reyn/runtime";
import { type bySignal, exitCodes } from "./exit-code.ts";

type StoppedBy = keyof typeof bySignal;

export interface Stopped {
	readonly by: StoppedBy;
	/** There was no space for all that waited to be recorded: that is done again. */
	readonly wasFull: boolean;
}

/** While something is only shown, a reader that goes has seen enough. */
let unread = (stream: NodeJS.WriteStream): void => {
	if (stream === process.stdout) process.exit();
};

/** Called once, before anything is said. */
export function heedReaders(): void {
	for (const stream of [process.stdout, process.stderr])
		stream.on("error", (error: NodeJS.ErrnoException) => {
			if (error.code === "EPIPE") return unread(stream);
			// The terminal has gone. A signal says so too, and what is under way is closed by that.
			if (error.code !== "EIO") throw error;
		});
}

/** From here on a change is under way: it is finished, and its log closed, whether or not anybody reads of it. */
export function finishUnread(): void {
	unread = () => {};
}

/**
 * Works until all is done or something stops it, and closes the runtime. A second signal ends the process on the spot.
 *
 * @param work told when it is stopped; what it throws from then on counts for nothing
 */
export async function untilStopped(
	runtime: Runtime,
	work: (signal: AbortSignal) => Promise<void>,
): Promise<Stopped | undefined> {
	const controller = new AbortController();
	const { signal } = controller;
	let by: StoppedBy | undefined;
	const stop = (why: StoppedBy): void => {
		if (by !== undefined) return;
		by = why;
		controller.abort();
		// Whether it could be closed is asked below.
		runtime.close().catch(() => {});
	};
	for (const each of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(each, () => stop(each));
	unread = () => stop("SIGPIPE");
	let wasFull = false;
	try {
		await work(signal);
	} catch (error) {
		if (!signal.aborted) throw error;
	} finally {
		await runtime.close().catch((error: { code?: unknown }) => {
			wasFull = signal.aborted && error.code === "WAL_FULL";
			if (!wasFull) throw error;
		});
		// All that is left is to say how it went.
		unread = () => {
			process.exitCode = exitCodes.unread;
		};
	}
	return by && { by, wasFull };
}
