/** Where a run goes on. */
import { describe, expect, test } from "vitest";
import { analyze, type SkillRun } from "../src/index.ts";

const run = (more: Partial<SkillRun> = {}): SkillRun => ({
	skill: "report",
	started: 1,
	since: 1,
	input: {},
	visits: {},
	status: "running",
	...more,
});

describe("a run goes on", () => {
	test.each<[where: string, run: SkillRun, at: unknown]>([
		["at its start, when nothing was entered", run(), { kind: "phase", phase: "gather", visit: 1, entered: false }],
		[
			"inside the phase that was entered",
			run({ phase: "write", visits: { gather: 1, write: 2 } }),
			{ kind: "phase", phase: "write", visit: 2, entered: true },
		],
		[
			"inside a phase that was entered again, not where the one before it led",
			run({ phase: "gather", visits: { gather: 2 }, last: { output: 1, next: "gather" } }),
			{ kind: "phase", phase: "gather", visit: 2, entered: true },
		],
		[
			"at the phase that the last one named",
			run({ visits: { gather: 1 }, last: { output: 1, next: "write" } }),
			{ kind: "phase", phase: "write", visit: 1, entered: false },
		],
		[
			"at the next visit of a phase that was visited before",
			run({ visits: { gather: 3 }, last: { output: 1, next: "gather" } }),
			{ kind: "phase", phase: "gather", visit: 4, entered: false },
		],
		[
			"with nothing but its end, after the last phase",
			run({ visits: { write: 1 }, last: { output: 1 } }),
			{ kind: "end" },
		],
	])("%s", (_, run, at) => {
		expect(analyze(run, "gather")).toEqual(at);
	});
});
