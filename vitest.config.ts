import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { sample } from "./tests/sample.ts";
import base from "./vitest.base.ts";

/** What starts processes takes minutes: it begins first, or one worker has it alone at the end. */
class SlowFirst extends BaseSequencer {
	override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
		const isQuick = ({ moduleId }: TestSpecification): boolean => !/\/tests\/(bench|crash|e2e|faults)/.test(moduleId);
		return (await super.sort(files)).sort((a, b) => Number(isQuick(a)) - Number(isQuick(b)));
	}
}

/** Some tests of runtime over a database too; more in the deep run, all of them: `REYN_STORE=sqlite vitest run --project @reyn/runtime`. */
const overSqlite = {
	...base,
	root: join(import.meta.dirname, "packages/runtime"),
	test: {
		...base.test,
		name: "over sqlite",
		env: { ...base.test?.env, REYN_STORE: "sqlite" },
		include: sample(["late", "runtime"], ["artifacts", "artifacts-model", "large-results", "late", "runtime"]).map(
			(name) => `test/${name}.test.ts`,
		),
		exclude: [],
	},
};

export default defineConfig({
	test: {
		projects: ["packages/*", "apps/*", "tests", overSqlite],
		reporters: ["default", "./tools/closing-line.ts"],
		sequence: { sequencer: SlowFirst },
	},
});
