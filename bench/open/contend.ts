/** A process that opens the timeline of a log once: `contend.ts <name> <directory>`. */
import { memorySnapshots } from "@reyn/snapshot";
import { openTimeline } from "@reyn/timetravel";
import { openStores } from "../checkout/log.ts";
import type { Start } from "../rival.ts";

/** `stored` takes what is stored of the index; `read` has nothing stored, and reads the log. */
export type ContenderName = "stored" | "read";

export interface Opened {
	readonly ms: number;
	/** How many checkpoints it found: as many either way. */
	readonly checkpoints: number;
}

const [, , name, directory = ""] = process.argv;
process.on("disconnect", () => process.exit());

const { wal, ...rest } = await openStores(directory);
const snapshots = (name as ContenderName) === "stored" ? rest.snapshots : memorySnapshots();
process.on("message", async () => {
	globalThis.gc?.();
	const from = performance.now();
	const timeline = await openTimeline({ wal, ...rest, snapshots });
	const ms = performance.now() - from;
	const found: Opened = { ms, checkpoints: timeline.checkpoints().length };
	await wal.close();
	process.send?.({ found });
});
process.send?.({ ready: true } satisfies Start);
