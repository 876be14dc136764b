/** A process in which one contender is measured, as often as its parent asks: `contend.ts <name> <directory>`. */
import { mkdir, open as openFile, rm } from "node:fs/promises";
import { dirname } from "node:path";
import type { Start } from "../rival.ts";
import { contenders } from "./contenders.ts";
import type { Open } from "./store.ts";
import { type Workload, workloads } from "./workloads.ts";

/** What the parent asks for. */
export interface Order {
	readonly workload: Workload;
	readonly ms: number;
}

const [, , name, directory = ""] = process.argv;
process.on("disconnect", () => process.exit());

const open = await loaded();
if (open) {
	process.on("message", async ({ workload, ms }: Order) => {
		process.send?.({ figures: await measured(open, workload, ms) });
	});
	process.send?.({ ready: true } satisfies Start);
}

/** It is opened once for nothing, since some load what they need only then. */
async function loaded(): Promise<Open | undefined> {
	try {
		const load = contenders.find((each) => each.name === name)?.load;
		if (!load) throw new Error("there is no such contender");
		const open = await load();
		await inEmpty(async () => (await open(directory, false)).close());
		return open;
	} catch (error) {
		process.send?.({ skipped: (error as Error).message.split("\n", 1)[0] ?? "" } satisfies Start);
		return undefined;
	}
}

async function measured(open: Open, workload: Workload, ms: number): Promise<unknown> {
	globalThis.gc?.();
	return inEmpty(async () => {
		const store = await open(directory, workload !== "one");
		const figures = await workloads[workload](store, ms);
		await store.close();
		return figures;
	});
}

async function inEmpty<T>(run: () => Promise<T>): Promise<T> {
	await mkdir(directory);
	try {
		return await run();
	} finally {
		await rm(directory, { recursive: true, force: true });
		// What was left to the file system to do is done now, and not in the time of whoever comes next.
		const parent = await openFile(dirname(directory));
		await parent.sync();
		await parent.close();
	}
}
