/** The command that a failed test is run again with. */
import { expect, test } from "vitest";
import type { TestCase } from "vitest/node";
import { againOf } from "../tools/closing-line.ts";

/** A test that failed, as far as the command asks it. */
const failed = (fullName: string, message: string) =>
	({
		fullName,
		result: () => ({ state: "failed", errors: [{ message }] }),
		module: { moduleId: import.meta.filename, project: { name: "reyn-tests" } },
	}) as unknown as TestCase;

test.each([
	["the failure says", "after any history", 'Property failed after 3 tests\n{ seed: 5, path: "2" }', "5"],
	[
		"the failure says, whatever the name says",
		"kills at random moments (seed 1)",
		"seed: -7: expected 1 to be 2",
		"-7",
	],
	["the name says", "kills at random moments (4 kills, seed 3)", "expected 1 to be 2", "3"],
])("it has the seed that %s", (_, name, message, seed) => {
	const command = againOf(failed(name, message));
	expect(command).toContain(`REYN_SEED=${seed} npx -y pnpm@12.21.0 exec vitest run --project reyn-tests`);
	expect(command).toContain("again.test.ts -t ");
});

test("it has no seed where nothing was drawn", () => {
	expect(againOf(failed("a log is read", "expected 1 to be 2"))).not.toContain("REYN_SEED");
});
