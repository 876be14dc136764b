import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** What starts processes takes minutes: it begins first, or one worker has it alone at the end. */
class SlowFirst extends BaseSequencer {
	override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
		const isQuick = ({ moduleId }: TestSpecification): boolean => !/\/tests\/(bench|crash|e2e|faults)/.test(moduleId);
		return (await super.sort(files)).sort((a, b) => Number(isQuick(a)) - Number(isQuick(b)));
	}
}

export default defineConfig({
	test: {
		projects: ["packages/*", "apps/*", "tests"],
		reporters: ["default", "./tools/closing-line.ts"],
		// Much of the time goes to disks and to processes that tests start: a core kept free for vitest itself would idle.
		maxWorkers: "100%",
		sequence: { sequencer: SlowFirst },
	},
});
