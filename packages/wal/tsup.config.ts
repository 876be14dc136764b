import { defineConfig } from "tsup";

// The worker is a file of its own, beside the bundle that opens it as `./worker.js`.
export default defineConfig({
	entry: {
		index: "src/index.ts",
		worker: "src/file/worker.ts",
		"engine/index": "src/engine/index.ts",
		tools: "src/tools.ts",
		"sqlite/index": "src/sqlite/index.ts",
		"testing/index": "src/testing/index.ts",
	},
	format: ["esm"],
	target: "node22",
	splitting: true,
	sourcemap: true,
	// The log is taken alone, by who wants little to download: a trace has its lines without the texts.
	esbuildOptions(options) {
		options.sourcesContent = false;
	},
	clean: true,
	dts: false,
});
