/** The suite of log engines, over each engine of this package. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { seeded } from "../../../tests/kit/seeded.ts";
import { fileEngine, memoryEngine } from "../src/index.ts";
import { sqliteEngine } from "../src/sqlite/index.ts";
import { type EngineUnderTest, faultyEngine, MemoryDisk, testEngine } from "../src/testing/index.ts";

const made: string[] = [];
afterAll(async () => {
	for (const directory of made) await rm(directory, { recursive: true, force: true });
});

async function fresh(): Promise<string> {
	const directory = await mkdtemp(join(tmpdir(), "reyn-wal-"));
	made.push(directory);
	return join(directory, "state");
}

/** How far the clock of the databases is ahead. */
let ahead = 0;

const engines: readonly EngineUnderTest[] = [
	{
		name: "a file",
		async make() {
			const directory = await fresh();
			return () => fileEngine(directory);
		},
	},
	{
		name: "files on a simulated disk, in small segments",
		async make() {
			const disk = new MemoryDisk();
			return () => fileEngine("/log", { disk, segmentBytes: 4096, allocateBytes: 512 });
		},
	},
	{
		name: "memory",
		async make() {
			const engine = memoryEngine();
			return () => engine;
		},
	},
	{
		name: "SQLite",
		async make() {
			const path = join(await fresh(), "log.db");
			return () => sqliteEngine(path, { clock: { now: () => Date.now() + ahead } });
		},
		async passTime(ms) {
			ahead += ms;
		},
	},
];

for (const engine of engines) testEngine({ describe, test, expect }, engine);

for (const parts of [false, true]) {
	testEngine(
		{ describe, test, expect },
		{
			name: `an engine that delays and loses answers${parts ? ", and stores parts of batches" : ""}`,
			losesAnswers: true,
			async make() {
				const engine = memoryEngine();
				const random = seeded(1);
				return () => faultyEngine(engine, { random, parts });
			},
		},
	);
}
