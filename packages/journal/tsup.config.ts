import { defineConfig } from "tsup";

export default defineConfig({
	entry: { index: "src/index.ts", "script/index": "src/script/index.ts" },
	format: ["esm"],
	target: "node22",
	splitting: true,
	sourcemap: true,
	clean: true,
	dts: false,
});
