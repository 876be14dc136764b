import { defineConfig, type Options } from "tsup";

/** A bundle per entry and what they share beside it, ESM only; `tsc` emits the types (tsup's own d.ts step does not run on TypeScript 7). */
export const library = (
	entry: NonNullable<Options["entry"]> = ["src/index.ts"],
	onSuccess?: () => Promise<void>,
): ReturnType<typeof defineConfig> =>
	defineConfig({
		entry,
		format: ["esm"],
		target: "node22",
		sourcemap: true,
		// A trace has its files and lines without their texts, which would be a quarter of a package.
		esbuildOptions(options) {
			options.sourcesContent = false;
		},
		clean: true,
		dts: false,
		...(onSuccess && { onSuccess }),
	} satisfies Options);
