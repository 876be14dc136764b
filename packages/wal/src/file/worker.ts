/** The thread that owns a log's files. */
import { parentPort, workerData } from "node:worker_threads";
import { nodeDisk } from "../disk/node-disk.ts";
import { ReynError } from "../errors.ts";
import { callsOn } from "./calls.ts";
import type { Answer, HostSpec, Request } from "./host.ts";

const calls = callsOn(nodeDisk, workerData as HostSpec) as Record<
	Request["name"],
	(...args: readonly unknown[]) => unknown
>;

parentPort?.on("message", ({ name, args }: Request) => {
	parentPort?.postMessage(answer(() => calls[name](...args)));
});

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
