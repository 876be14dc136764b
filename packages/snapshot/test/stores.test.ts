import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { fileSnapshots, memorySnapshots } from "../src/index.ts";
import { testSnapshotStore } from "../src/testing/index.ts";

const made: string[] = [];
afterAll(async () => {
	for (const directory of made) await rm(directory, { recursive: true, force: true });
});

testSnapshotStore({ describe, test, expect }, "memory", async () => memorySnapshots());
testSnapshotStore({ describe, test, expect }, "files", async () => {
	const directory = await mkdtemp(join(tmpdir(), "reyn-snapshots-"));
	made.push(directory);
	return fileSnapshots(directory);
});
