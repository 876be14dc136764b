/** Finding a plan in flight, and its cost. */
import { expect, test } from "vitest";
import { findPlan, inFlight, type PlanRun, type PlanRuns } from "../src/index.ts";
import { costOf } from "../src/operate.ts";

const run = (started: number, status: PlanRun["status"], steps: PlanRun["steps"] = {}): PlanRun => ({
	goal: "Find out",
	started,
	since: started,
	decomposition: "",
	size: 2,
	status,
	steps,
});

const plans: PlanRuns = {
	p9: run(9, "running"),
	p3: run(3, "completed"),
	p5: run(5, "paused"),
	p7: run(7, "aborted"),
};

test("the plans in flight are those that run or are paused, oldest first", () => {
	expect(inFlight(plans).map(([id]) => id)).toEqual(["p5", "p9"]);
	expect(inFlight({})).toEqual([]);
});

test("a plan in flight is found", () => {
	expect(findPlan(plans, "p5")).toBe(plans.p5);
});

test.each(["p3", "p7", "p99", "constructor"])("%s is refused with the plans that are in flight", (id) => {
	expect(() => findPlan(plans, id)).toThrowError(
		expect.objectContaining({
			code: "PLAN_UNKNOWN",
			message: `no plan "${id}" is in flight; these are: p5, p9`,
			detail: { plan: id, inFlight: ["p5", "p9"] },
		}),
	);
});

test("when nothing is in flight, the refusal says so", () => {
	expect(() => findPlan({ p3: run(3, "completed") }, "p3")).toThrow('no plan "p3" is in flight; none is');
});

test("the cost of a plan is that of its finished steps: what a resume does not pay again", () => {
	const completed = (calls: number, inputTokens: number, outputTokens: number) =>
		({ status: "completed", attempt: 0, result: "", cost: { calls, inputTokens, outputTokens } }) as const;
	const steps = {
		s1: completed(2, 100, 10),
		s2: completed(3, 200, 20),
		s3: { status: "failed", attempt: 0, reason: "no key" },
		s4: { status: "running", attempt: 0 },
	} as const;
	expect(costOf(run(1, "running", steps))).toEqual({ steps: 2, calls: 5, tokens: 330 });
	expect(costOf(run(1, "running"))).toEqual({ steps: 0, calls: 0, tokens: 0 });
});
