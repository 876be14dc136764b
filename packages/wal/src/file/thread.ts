/** The threads that write logs. One whose log was closed is kept for the next log: beginning a thread takes longer than opening a log. */
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { codeOf, type WalCode, WalError } from "../errors.ts";
import type { callsOn } from "./calls.ts";

/** A message to the thread: `begin` says whose calls follow. */
export interface Request {
	readonly name: "begin" | keyof ReturnType<typeof callsOn>;
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

/** A thread, and who has it. */
export interface Thread {
	/** Makes a call; each ends before the next begins. */
	call<T>(name: Request["name"], ...args: readonly unknown[]): Promise<T>;
	/** Keeps it, which holds nothing, for another log; ends it where another thread is kept. */
	giveBack(): Promise<void>;
	/** Ends it, and with it every file that it has open. */
	end(): Promise<void>;
}

let kept: Thread | undefined;

/** The thread that is kept, or a new one. */
export function freeThread(): Thread {
	const thread = kept ?? begin();
	kept = undefined;
	return thread;
}

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

function begin(): Thread {
	const url = workerAt(import.meta.url);
	// `node --input-type=module -e …` speaks of its own text: no thread of a file begins with it. Else it begins as its process did.
	const isOfText = process.execArgv.some((option) => option.startsWith("--input-type"));
	const worker = new Worker(url, isOfText ? { execArgv: [] } : {});
	// An open log alone keeps no process alive; a call that waits for its answer does.
	worker.unref();
	// A truncation may be asked for while a batch is written: the answers come in the order of the calls.
	const waiting: { resolve(value: unknown): void; reject(error: Error): void }[] = [];
	let ended: Error | undefined;
	worker.on("message", (answer: Answer) => {
		const call = waiting.shift();
		if (waiting.length === 0) worker.unref();
		if ("value" in answer) call?.resolve(answer.value);
		else call?.reject(new WalError(answer.error.code as WalCode, answer.error.message, answer.error.detail));
	});
	const over = (error: Error): void => {
		ended ??= error;
		if (kept === thread) kept = undefined;
		worker.unref();
		for (const call of waiting.splice(0)) call.reject(error);
	};
	worker.on("error", (error) => over(isMissing(error) ? noThread(fileURLToPath(url), error) : (error as Error)));
	worker.on("exit", () => over(new Error("the thread that writes the log has ended")));
	const thread: Thread = {
		call: <T>(name: Request["name"], ...args: readonly unknown[]) =>
			new Promise<T>((resolve, reject) => {
				if (ended) return reject(ended);
				waiting.push({ resolve: resolve as (value: unknown) => void, reject });
				worker.ref();
				worker.postMessage({ name, args } satisfies Request);
			}),
		async giveBack() {
			if (ended || waiting.length > 0 || kept) return thread.end();
			kept = thread;
		},
		async end() {
			await worker.terminate();
		},
	};
	return thread;
}
