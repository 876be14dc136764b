/** A process that runs one contender once and tells its parent what it took: `contend.ts <name> <directory>`. */
import { type ContenderName, contenders } from "./contenders.ts";

export interface Measured {
	readonly ms: number;
	readonly seen: number;
	/** Resident memory before anything was read: the runtime itself and the code. */
	readonly startBytes: number;
	readonly peakBytes: number;
	/** What the state keeps alive. */
	readonly stateBytes: number;
}

const [, , name, directory = ""] = process.argv;
const gc = globalThis.gc ?? (() => {});

gc();
const heapBefore = process.memoryUsage().heapUsed;
const startBytes = process.memoryUsage.rss();
const from = performance.now();
const { seen, state } = await contenders[name as ContenderName](directory);
const ms = performance.now() - from;
const peakBytes = process.resourceUsage().maxRSS * 1024;
gc();
const stateBytes = state === undefined ? 0 : process.memoryUsage().heapUsed - heapBefore;
process.send?.({ ms, seen, startBytes, peakBytes, stateBytes: Math.max(0, stateBytes) } satisfies Measured);
process.disconnect?.();
