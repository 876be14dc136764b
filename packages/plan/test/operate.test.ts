/** Finding a plan in flight, and its cost. */
import { List } from "@reyn/snapshot";
import { expect, test } from "vitest";
import { findKept, findPlan, inFlight, type PlanRun, type PlanRuns } from "../src/index.ts";
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

const [p3, p5] = [run(3, "completed"), run(5, "paused")];
const plans: PlanRuns = {
	live: { p9: run(9, "running"), p5, p7: { ...run(7, "aborted"), ended: { seq: 8, reason: "no" } } },
	over: List.of({ ...p3, plan: "p3" }, { ...run(4, "aborted"), plan: "p4" }),
};
const none = { live: {}, over: plans.over };

test("the plans in flight are those that run or are paused, oldest first", () => {
	expect(inFlight(plans).map(([id]) => id)).toEqual(["p5", "p9"]);
	expect(inFlight(none)).toEqual([]);
});

test("a plan in flight is found", () => {
	expect(findPlan(plans, "p5")).toBe(p5);
});

test.each(["p99", "constructor"])("%s is refused with the plans that are in flight", (id) => {
	expect(() => findPlan(plans, id)).toThrowError(
		expect.objectContaining({
			code: "PLAN_UNKNOWN",
			message: `no plan "${id}" is in flight; these are: p5, p9`,
			detail: { plan: id, inFlight: ["p5", "p9"] },
		}),
	);
	expect(() => findPlan({ live: {}, over: List.of() }, id)).toThrow(`no plan "${id}" is in flight; none is`);
});

const failed = { status: "failed", attempt: 0, reason: "away" } as const;
test.each([
	["p3", run(3, "completed"), "it has its answer; resume it from a step to run that again, with all behind it"],
	[
		"p3",
		run(3, "completed", { b: failed, c: failed }),
		"it has its answer, though b, c failed; retry what failed, or resume it from any step",
	],
	["p4", run(4, "aborted"), "it was given up; undo that to take it up again"],
	["p4", { ...run(4, "aborted"), why: "no" }, "it was given up (no); undo that to take it up again"],
] as const)("%s is over: how it ended is said, and what can be done", (plan, ended, how) => {
	const over = List.of({ ...ended, plan });
	expect(() => findPlan({ live: plans.live, over }, plan)).toThrowError(
		expect.objectContaining({
			code: "PLAN_UNKNOWN",
			message: `plan "${plan}" is over: ${how}. In flight: p5, p9`,
			detail: expect.objectContaining({ plan, inFlight: ["p5", "p9"], status: ended.status }),
		}),
	);
});

test("a plan whose steps can run again is in flight, or has its answer; another is refused with what there is", () => {
	expect(["p3", "p5", "p9"].map((id) => findKept(plans, id).started)).toEqual([3, 5, 9]);
	expect(() => findKept(plans, "p99")).toThrow('no plan "p99" is known; these are: p3, p5, p9');
	expect(() => findKept(plans, "p4")).toThrow('plan "p4" was given up; undo that first');
	expect(() => findKept({ live: {}, over: List.of() }, "p1")).toThrow('no plan "p1" is known; none is');
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
