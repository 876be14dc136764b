import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { fileEngine, memoryEngine } from "../src/index.ts";
import { testEngine } from "../src/testing/index.ts";

const made: string[] = [];
afterAll(async () => {
	for (const directory of made) await rm(directory, { recursive: true, force: true });
});

testEngine(
	{ describe, test, expect },
	{
		name: "a file",
		async make() {
			const directory = await mkdtemp(join(tmpdir(), "reyn-wal-"));
			made.push(directory);
			return () => fileEngine(join(directory, "state"));
		},
	},
);

testEngine(
	{ describe, test, expect },
	{
		name: "memory",
		async make() {
			const engine = memoryEngine();
			return () => engine;
		},
	},
);
