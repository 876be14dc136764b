/** Every fault that needs no privileges, in its short form; the whole of each is `pnpm faults <name>`. */
import { expect, test } from "vitest";
import { faults } from "./index.ts";

for (const { name, title, privileged, needs, run } of faults) {
	// Mounts belong to whoever asks for them, and planted defects run the tests that run here.
	const why = privileged ? "needs root" : name === "defects" ? "a run of its own" : needs();
	if (why !== undefined) {
		test.skip(`${name}: ${title} (skipped: ${why}; pnpm faults ${name})`, () => {});
		continue;
	}
	test(`${name}: ${title}`, { timeout: 120_000 }, async () => {
		const figures = await run({ rounds: undefined, seed: 1, short: true });
		console.log([name, ...Object.entries(figures).map(([what, figure]) => `  ${what}: ${figure}`)].join("\n"));
		expect(Object.keys(figures).length).toBeGreaterThan(0);
	});
}
