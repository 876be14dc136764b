/** What ends a command: that it is done, a signal, or that its output reaches nobody. */
import { type bySignal, exitCodes } from "./exit-codes.ts";
import { allWritten, err, heedUnwritten, type OutputName } from "./print.ts";

type StoppedBy = keyof typeof bySignal;

export interface Stopped {
	readonly by: StoppedBy;
	/** There was no space for all that waited to be recorded: that is done again. */
	readonly wasFull: boolean;
}

/** While something is only shown, a reader that goes has seen enough. */
let unread = (name: OutputName): void => {
	if (name === "stdout") process.exit();
};

/** A write failed though somebody may read: whatever else is done, the process fails. */
let isUnwritten = false;

/** Called once, before anything is said. */
export function heedReaders(): void {
	heedUnwritten((name, code) => {
		// The terminal has gone. A signal says so too, and what is under way is closed by that.
		if (code === "EIO") return;
		if (code !== "EPIPE") failUnwritten(name, code);
		unread(name);
	});
}

/** Said once: it may find no space either. */
function failUnwritten(name: OutputName, code = "unknown"): void {
	if (isUnwritten) return;
	isUnwritten = true;
	process.exitCode = exitCodes.failed;
	err.line(`reyn: cannot write to ${name} (${code}); send it to where it can be written`);
}

/** From here on a change is under way: it is finished, and its log closed, whether or not anybody reads of it. */
export function finishUnread(): void {
	unread = () => {};
}

/** Ends the process once all that was said is written, whatever code of others has left open: a timer, a socket, a thread. */
export async function end(exitCode: number): Promise<never> {
	// Set already where nobody has read the last that was said.
	process.exitCode ??= exitCode;
	await allWritten();
	process.exit();
}

/** How long work has to stop, in milliseconds: what does not heed its signal is left, as by a kill. */
const STOP_MS = 5000;

interface Closing {
	readonly withinMs: number;
}

/**
 * Works until all is done or something stops it, and closes what it works with. A second signal ends the process on the spot, as does one
 * that comes when all is closed.
 *
 * @param open a runtime, or a page: rejects with `RUNTIME_NOT_QUIET` where work did not stop in time, which is not waited for any more
 * @param work told when it is stopped; what it throws from then on counts for nothing
 */
export async function untilStopped(
	open: { close(how: Closing): Promise<void> },
	work: (signal: AbortSignal) => Promise<void>,
): Promise<Stopped | undefined> {
	const controller = new AbortController();
	const { signal } = controller;
	const left = Promise.withResolvers<void>();
	let by: StoppedBy | undefined;
	let closed: Promise<void> | undefined;
	const close = (): Promise<void> => {
		closed ??= open.close({ withinMs: STOP_MS }).catch((error: Error & { readonly code?: unknown }) => {
			if (error.code !== "RUNTIME_NOT_QUIET") throw error;
			err.line(`reyn: ${error.message}`);
			left.resolve();
		});
		return closed;
	};
	const stop = (why: StoppedBy): void => {
		if (by !== undefined) return;
		by = why;
		controller.abort();
		// Whether it could be closed is asked below.
		close().catch(() => {});
	};
	const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
	const heedNoMore = (): void => {
		for (const each of signals) process.off(each, heed);
	};
	const heed = (signal: NodeJS.Signals): void => {
		heedNoMore();
		stop(signal as (typeof signals)[number]);
	};
	for (const each of signals) process.on(each, heed);
	unread = () => stop("SIGPIPE");
	let wasFull = false;
	try {
		await Promise.race([work(signal), left.promise]);
	} catch (error) {
		if (!signal.aborted) throw error;
	} finally {
		await close().catch((error: { code?: unknown }) => {
			wasFull = signal.aborted && error.code === "WAL_FULL";
			if (!wasFull) throw error;
		});
		heedNoMore();
		// All that is left is to say how it went.
		unread = () => {
			if (!isUnwritten) process.exitCode = exitCodes.unread;
		};
	}
	return by && { by, wasFull };
}
