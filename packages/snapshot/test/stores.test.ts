/** The suite of snapshot stores, over each place that keeps blobs. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileBlobs, memoryBlobs, memoryEngine } from "@reyn/wal";
import { sqliteEngine } from "@reyn/wal/sqlite";
import { MemoryDisk } from "@reyn/wal/testing";
import { afterAll, describe, expect, test } from "vitest";
import { some } from "../../../tests/sample.ts";
import { testSnapshotStore } from "../src/testing/index.ts";

const ends: (() => Promise<void>)[] = [];
afterAll(async () => {
	for (const end of ends) await end();
});

async function folder(): Promise<string> {
	const directory = await mkdtemp(join(tmpdir(), "reyn-snapshots-"));
	ends.push(() => rm(directory, { recursive: true, force: true }));
	return directory;
}

const runner = { describe, test, expect };

const places: [string, Parameters<typeof testSnapshotStore>[2]][] = [
	["memory", async () => memoryBlobs()],
	["files on a simulated disk", async () => fileBlobs("/snapshots", { disk: new MemoryDisk() })],
	["files", async () => fileBlobs(await folder())],
	["an engine in memory", async () => memoryEngine().blobs("main")],
	[
		"an SQLite database",
		async () => {
			const engine = sqliteEngine(join(await folder(), "log.db"));
			ends.unshift(() => engine.close());
			return engine.blobs("main");
		},
	],
];
for (const [name, make] of some(places, 2)) testSnapshotStore(runner, name, make);
