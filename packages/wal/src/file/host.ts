/** Where the writer of the files runs: in a worker thread, or for tests in this one. */
import type { Disk } from "../disk/disk.ts";
import type { Owner } from "../engine/engine.ts";
import type { Seq } from "../record/record.ts";
import type { Fresh, OpenedFile } from "./log-file.ts";
import type { LogFileOptions } from "./options.ts";
import { freeThread, type Thread } from "./thread.ts";

/** The writer as the rest of the log sees it. Each call ends before the next begins. */
export interface LogFileHost {
	/** Takes the lock and gives the id of the log that is there, if one is. */
	lock(): Promise<string | undefined>;
	recover(proven: Seq): Promise<OpenedFile>;
	/** Gives the first seq of the segment that the lines are in. */
	append(text: string, expect: Seq, count: number): Promise<Seq>;
	truncateBefore(seq: Seq): Promise<Seq>;
	close(): Promise<void>;
	/** Ends the host of a log that could not be opened. */
	end(): Promise<void>;
}

/** What a host is made with. */
export interface HostSpec {
	readonly directory: string;
	readonly options: LogFileOptions;
	readonly fresh: Fresh;
	readonly owner: Owner;
}

let callsModule: typeof import("./calls.ts") | undefined;

/** The calls, one after the other, on this thread. */
export function inThread(disk: Disk, spec: HostSpec): LogFileHost {
	const loaded = (async () => {
		// Who has the thread needs none of this in its own. Loaded once, it takes no time of a simulated world any more.
		callsModule ??= await import("./calls.ts");
		return callsModule.callsOn(disk, spec);
	})();
	return {
		lock: async () => (await loaded).lock(),
		recover: async (proven) => (await loaded).recover(proven),
		append: async (text, expect, count) => (await loaded).append(text, expect, count),
		truncateBefore: async (seq) => (await loaded).truncateBefore(seq),
		close: async () => (await loaded).close(),
		end: async () => (await loaded).end(),
	};
}

/** The calls in a worker thread: no disk, however slow, holds up the event loop. */
export function inWorker(spec: HostSpec): LogFileHost {
	const thread = freeThread();
	/** Does the thread hold files? Who was refused the lock holds none. */
	let isHeld = false;
	let hasFailed = false;
	const call: Thread["call"] = async (...request) => {
		try {
			return await thread.call(...request);
		} catch (error) {
			hasFailed = true;
			throw error;
		}
	};
	// Whoever calls next is told why: a thread that could not begin answers nothing.
	call("begin", spec).catch(() => {});
	const leave = (): Promise<void> => (isHeld || hasFailed ? thread.end() : thread.giveBack());
	return {
		async lock() {
			const logId = await thread.call<string | undefined>("lock");
			isHeld = true;
			return logId;
		},
		recover: (proven) => call("recover", proven),
		append: (text, expect, count) => call("append", text, expect, count),
		truncateBefore: (seq) => call("truncateBefore", seq),
		async close() {
			try {
				await call("close");
				isHeld = false;
			} finally {
				await leave();
			}
		},
		end: leave,
	};
}
