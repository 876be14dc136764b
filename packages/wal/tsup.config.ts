import { readFile, rm, writeFile } from "node:fs/promises";
import { library } from "../../tsup.base.ts";

const suite = "dist/testing/index.js";

// The worker is a file of its own, beside the bundle that opens it as `./worker.js`.
export default library(
	{
		index: "src/index.ts",
		worker: "src/file/worker.ts",
		"engine/index": "src/engine/index.ts",
		internal: "src/internal.ts",
		tools: "src/tools.ts",
		"sqlite/index": "src/sqlite/index.ts",
		"testing/index": "src/testing/index.ts",
	},
	// The suite for engines is a third of the package, and its traces are read beside what they expected.
	async () => {
		await rm(`${suite}.map`);
		await writeFile(suite, (await readFile(suite, "utf8")).replace(/\n\/\/# sourceMappingURL=.*\s*$/, "\n"));
	},
);
