/** Which steps may run now, and what a finished one gives to the others. */
import { expect, test } from "vitest";
import type { PlanRun, StepRun } from "../src/index.ts";
import { textOf } from "../src/index.ts";
import { isFinished, readySteps, stepOf } from "../src/step-status.ts";
import { planOf } from "./plan-process.ts";

const is: Record<string, StepRun> = {
	pending: { status: "pending", attempt: 1 },
	running: { status: "running", attempt: 0 },
	done: { status: "completed", attempt: 0, result: "found", cost: { calls: 1, inputTokens: 1, outputTokens: 1 } },
	failed: { status: "failed", attempt: 0, reason: "no key" },
};

/** A plan whose steps stand as named: `{ s1: "done" }`. */
function run(steps: Record<string, string>): PlanRun {
	const standing = Object.entries(steps).map(([id, status]) => [id, is[status] as StepRun]);
	return {
		goal: "Find out",
		started: 1,
		since: 1,
		decomposition: "",
		size: 3,
		status: "running",
		steps: Object.fromEntries(standing),
	};
}

const plan = planOf("s1", "s2", "s3 needs s1 s2");

test.each<[steps: Record<string, string>, ready: string[], finished: boolean]>([
	[{}, ["s1", "s2"], false],
	[{ s1: "running" }, ["s1", "s2"], false],
	[{ s1: "done", s2: "running" }, ["s2"], false],
	[{ s1: "done", s2: "pending" }, ["s2"], false],
	[{ s1: "done", s2: "done" }, ["s3"], false],
	[{ s1: "done", s2: "failed" }, ["s3"], false],
	[{ s1: "failed", s2: "failed", s3: "running" }, ["s3"], false],
	[{ s1: "pending", s2: "done", s3: "done" }, ["s1"], false],
	[{ s1: "done", s2: "done", s3: "done" }, [], true],
	[{ s1: "done", s2: "failed", s3: "failed" }, [], true],
])("with %o, %o may run (finished: %o)", (steps, ready, finished) => {
	expect(readySteps(run(steps), plan).map(({ id }) => id)).toEqual(ready);
	expect(isFinished(run(steps), plan)).toBe(finished);
});

test.each([
	["done", "found"],
	["failed", "(FAILED: no key)"],
	["running", "(not finished)"],
	["pending", "(not finished)"],
	["unknown", "(not finished)"],
])("a step that is %s reads as %s", async (status, text) => {
	expect(await textOf(stepOf(run(status === "unknown" ? {} : { s1: status }), "s1"))).toBe(text);
});
