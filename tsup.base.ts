import { defineConfig, type Options } from "tsup";

/** One bundle per entry, ESM only; `tsc` emits the types (tsup's own d.ts step does not run on TypeScript 7). */
export const library = (entry: string[] = ["src/index.ts"]): ReturnType<typeof defineConfig> =>
	defineConfig({
		entry,
		format: ["esm"],
		target: "node22",
		sourcemap: true,
		clean: true,
		dts: false,
	} satisfies Options);
