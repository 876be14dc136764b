import { defineConfig } from "tsup";

export default defineConfig({
	entry: ["src/bin.ts"],
	splitting: true,
	format: ["esm"],
	target: "node22",
	clean: true,
	sourcemap: true,
	dts: false,
});
