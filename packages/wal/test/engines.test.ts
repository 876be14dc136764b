/** The suite of log engines, over each engine of this package. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { fileEngine, type LogEngine, memoryEngine } from "../src/index.ts";
import { sqliteEngine } from "../src/sqlite/index.ts";
import { faultyEngine, MemoryDisk, testEngine } from "../src/testing/index.ts";

const made: string[] = [];
afterAll(async () => {
	for (const directory of made) await rm(directory, { recursive: true, force: true });
});

async function fresh(): Promise<string> {
	const directory = await mkdtemp(join(tmpdir(), "reyn-wal-"));
	made.push(directory);
	return join(directory, "state");
}

const engines: readonly [name: string, make: () => Promise<() => LogEngine>][] = [
	[
		"a file",
		async () => {
			const directory = await fresh();
			return () => fileEngine(directory);
		},
	],
	[
		"files on a simulated disk, in small segments",
		async () => {
			const disk = new MemoryDisk();
			return () => fileEngine("/log", { disk, segmentBytes: 4096, allocateBytes: 512 });
		},
	],
	[
		"memory",
		async () => {
			const engine = memoryEngine();
			return () => engine;
		},
	],
	[
		"SQLite",
		async () => {
			const path = join(await fresh(), "log.db");
			return () => sqliteEngine(path);
		},
	],
];

for (const [name, make] of engines) testEngine({ describe, test, expect }, { name, make });

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

function seeded(seed: number): () => number {
	let state = seed;
	return () => {
		state = (Math.imul(state, 1664525) + 1013904223) | 0;
		return (state >>> 0) / 4294967296;
	};
}
