import { defineConfig } from "vitest/config";

export default defineConfig({
	test: {
		projects: ["packages/*", "apps/*", "tests"],
		reporters: ["default", "./tools/closing-line.ts"],
		// Much of the time goes to disks and to processes that tests start: a core kept free for vitest itself would idle.
		maxWorkers: "100%",
	},
});
