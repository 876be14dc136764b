/** Amending a plan: pending steps change, go and come; whatever else is wrong with it is said, and nothing changes. */
import { expect, test } from "vitest";
import { amended, type PlanAmendment, type PlanRun } from "../src/index.ts";
import { planOf } from "./plan-process.ts";

const before = planOf("s1", "s2 needs s1", "s3 needs s2");
const run: PlanRun = {
	...{ goal: "", started: 1, since: 1, decomposition: "", size: 3, status: "running" },
	steps: { s1: { status: "running", attempt: 0 } },
};
const amend = (amendment: PlanAmendment) => amended(run, before, amendment, ["look"]);
const stepOf = (id: string, needs: readonly string[] = [], tools: readonly string[] = []) => ({
	...{ id, description: `new ${id}`, depends_on: needs, tools },
});

test("a step that is put takes the place of the one of its id, or comes last; one that is described stays as it is else", () => {
	const { goal, steps } = amend({
		put: [stepOf("s3", ["s2", "s4"]), stepOf("s4", [], ["look"])],
		describe: { s2: "other" },
	});
	expect(goal).toBe(before.goal);
	expect(steps).toEqual([
		before.steps[0],
		{ ...before.steps[1], description: "other" },
		stepOf("s3", ["s2", "s4"]),
		stepOf("s4", [], ["look"]),
	]);
	expect(amend({ drop: ["s3"] }).steps).toEqual(before.steps.slice(0, 2));
});

test.each<[string, PlanAmendment, RegExp]>([
	["of nothing", {}, /nothing is changed.*; these can be changed: s2, s3$/],
	["of a step that runs", { describe: { s1: "x" } }, /step "s1" is running/],
	["that drops what is not there", { drop: ["s9"] }, /no step "s9" to drop/],
	["that describes what is not there", { describe: { constructor: "x" } }, /no step "constructor" to describe/],
	["that says two things of a step", { drop: ["s3"], describe: { s3: "x" } }, /step "s3" is named twice/],
	["that puts a step twice", { put: [stepOf("s4"), stepOf("s4")] }, /step "s4" is named twice/],
	["that makes a cycle", { put: [stepOf("s2", ["s3"])] }, /s2, s3 wait for each other/],
	["with a tool that is not there", { put: [stepOf("s3", ["s2"], ["rm"])] }, /wants the tool "rm"/],
	["with two last steps", { put: [stepOf("s4")] }, /exactly one step comes last/],
	["that drops what is needed", { drop: ["s2"] }, /step "s3" depends on "s2"/],
	["with too long a description", { describe: { s2: "x".repeat(501) } }, /steps.1.description/],
	["of one step that is left", { drop: ["s2", "s3"] }, /a plan has 2 to 7 steps/],
	["that is no step", { put: [null, "s2", 7] }, /steps.3/],
])("an amendment %s is refused, and says why", (_, amendment, why) => {
	expect(() => amend(amendment)).toThrow(
		expect.objectContaining({ code: "PLAN_INVALID", message: expect.stringMatching(why) }),
	);
});
