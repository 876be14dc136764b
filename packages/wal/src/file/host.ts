/** Where the writer of the files runs: in a worker thread, or for tests in this one. */
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import type { Disk } from "../disk/disk.ts";
import type { Owner } from "../engine/engine.ts";
import { codeOf, type WalCode, WalError } from "../errors.ts";
import type { Seq } from "../record/record.ts";
import type { Fresh, OpenedFile } from "./log-file.ts";
import type { LogFileOptions } from "./options.ts";

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

/** A message to the worker, and its answer. */
export interface Request {
	readonly name: "lock" | "recover" | "append" | "truncateBefore" | "close";
	readonly args: readonly unknown[];
}

export type Answer =
	| { readonly value: unknown }
	| {
			readonly error: {
				readonly code: string;
				readonly message: string;
				readonly detail: Readonly<Record<string, unknown>>;
			};
	  };

function noThread(path: string | undefined, cause?: unknown): WalError {
	const text = `the thread that writes the log is not there: ${path ?? "a bundle of CommonJS cannot say where it lies"}. A bundler has to leave @reyn/wal out (external), or in a bundle of ES modules make worker.js of @reyn/wal/dist an entry of its own beside the bundle, with fs-native-extensions left out`;
	return new WalError("WAL_IO", text, { path, code: "NO_THREAD" }, { cause });
}

/** @param base the `import.meta.url` of this module, which a bundle of CommonJS has not */
export function workerAt(base: string | undefined): URL {
	if (base === undefined) throw noThread(undefined);
	return new URL(base.endsWith(".ts") ? "./worker.ts" : "./worker.js", base);
}

/** Its file, or a part of it that it imports. */
const isMissing = (error: unknown): boolean => /^(ERR_)?MODULE_NOT_FOUND$/.test(codeOf(error) ?? "");

/** The calls in a worker thread: no disk, however slow, holds up the event loop. */
export function inWorker(spec: HostSpec): LogFileHost {
	const url = workerAt(import.meta.url);
	// `node --input-type=module -e …` speaks of its own text: no thread of a file begins with it. Else it begins as its process did.
	const isOfText = process.execArgv.some((option) => option.startsWith("--input-type"));
	const worker = new Worker(url, { workerData: spec, ...(isOfText && { execArgv: [] }) });
	// An open log alone keeps no process alive; a call that waits for its answer does.
	worker.unref();
	// A truncation may be asked for while a batch is written: the answers come in the order of the calls.
	const waiting: { resolve(value: unknown): void; reject(error: Error): void }[] = [];
	let ended: Error | undefined;
	worker.on("message", (answer: Answer) => {
		const call = waiting.shift();
		if (waiting.length === 0) worker.unref();
		if ("error" in answer)
			call?.reject(new WalError(answer.error.code as WalCode, answer.error.message, answer.error.detail));
		else call?.resolve(answer.value);
	});
	const end = (error: Error): void => {
		ended ??= error;
		worker.unref();
		for (const call of waiting.splice(0)) call.reject(error);
	};
	worker.on("error", (error) => end(isMissing(error) ? noThread(fileURLToPath(url), error) : (error as Error)));
	worker.on("exit", () => end(new Error("the thread that writes the log has ended")));
	const call = <T>(name: Request["name"], ...args: readonly unknown[]): Promise<T> =>
		new Promise<T>((resolve, reject) => {
			if (ended) return reject(ended);
			waiting.push({ resolve: resolve as (value: unknown) => void, reject });
			worker.ref();
			worker.postMessage({ name, args } satisfies Request);
		});
	return {
		lock: () => call("lock"),
		recover: (proven) => call("recover", proven),
		append: (text, expect, count) => call("append", text, expect, count),
		truncateBefore: (seq) => call("truncateBefore", seq),
		async close() {
			try {
				await call("close");
			} finally {
				await worker.terminate();
			}
		},
		async end() {
			await worker.terminate();
		},
	};
}
