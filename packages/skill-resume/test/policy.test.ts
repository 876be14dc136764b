/** The configured policy for steps in doubt. */
import { expect, test } from "vitest";
import { policyFor, skillResumeSchema } from "../src/index.ts";

test.each([
	["retry", "retry"],
	// A resume never waits for a person.
	["prompt", "retry"],
	["skip", "skip"],
	["discard_skill", "discard"],
] as const)("%s, for a step in doubt that nobody knows of, is %s", (policy, then) => {
	expect(policyFor("report", skillResumeSchema.parse({ default: policy }))).toBe(then);
});

test("a skill's own policy comes before the default, and holds for no other", () => {
	const resume = skillResumeSchema.parse({ default: "skip", per_skill: { report: "discard_skill" } });
	expect(policyFor("report", resume)).toBe("discard");
	for (const other of ["other", "constructor"]) expect(policyFor(other, resume)).toBe("skip");
	expect(policyFor("toString", skillResumeSchema.parse({ default: "discard_skill" }))).toBe("discard");
});

test("without a configuration, steps in doubt are made again", () => {
	expect(skillResumeSchema.parse({})).toEqual({ default: "retry", per_skill: {} });
});

test.each([{ default: "ask" }, { per_skill: { report: "never" } }, { defaults: "retry" }])("%o is refused", (wrong) => {
	expect(skillResumeSchema.safeParse(wrong).success).toBe(false);
});
