/** The thread that owns a log's files: those of one log at a time. */
import { parentPort } from "node:worker_threads";
import { nodeDisk } from "../disk/node-disk.ts";
import { ReynError } from "../errors.ts";
import { callsOn } from "./calls.ts";
import type { HostSpec } from "./host.ts";
import type { Answer, Request } from "./thread.ts";

let calls: Record<string, (...args: readonly unknown[]) => unknown> = {};

parentPort?.on("message", ({ name, args }: Request) => {
	parentPort?.postMessage(answer(() => (name === "begin" ? begin(args[0] as HostSpec) : calls[name]?.(...args))));
});

function begin(spec: HostSpec): void {
	calls = callsOn(nodeDisk, spec) as typeof calls;
}

function answer(run: () => unknown): Answer {
	try {
		return { value: run() };
	} catch (error) {
		if (error instanceof ReynError)
			return { error: { code: error.code, message: error.message, detail: error.detail } };
		const { code = "ERROR", message } = error as NodeJS.ErrnoException;
		return { error: { code, message, detail: {} } };
	}
}
