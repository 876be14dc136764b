/**
 * In the fast run logs are written in the thread of the test: messages to one of its own take a tenth more of a core. An answer comes as
 * late as from a thread, and in the order of the calls. The same code with that thread is what the tests of wal run, those that
 * start processes, and the deep run.
 */
import { setImmediate as soon } from "node:timers/promises";
import { vi } from "vitest";

vi.mock("../../wal/src/file/host.ts", async (original) => {
	const host = await original<typeof import("../../wal/src/file/host.ts")>();
	const { nodeDisk } = await import("../../wal/src/disk/node-disk.ts");
	return {
		...host,
		inWorker(spec: Parameters<typeof host.inWorker>[0]): ReturnType<typeof host.inWorker> {
			const here = host.inThread(nodeDisk, spec);
			let before: Promise<unknown> = Promise.resolve();
			const inTurn = <T>(call: () => Promise<T>): Promise<T> => {
				const answer = before.then(() => soon()).then(call);
				before = answer.catch(() => {});
				return answer;
			};
			return {
				lock: () => inTurn(() => here.lock()),
				recover: (proven) => inTurn(() => here.recover(proven)),
				append: (...batch) => inTurn(() => here.append(...batch)),
				truncateBefore: (seq) => inTurn(() => here.truncateBefore(seq)),
				close: (...meanwhile) => inTurn(() => here.close(...meanwhile)),
				end: () => inTurn(() => here.end()),
			};
		},
	};
});
