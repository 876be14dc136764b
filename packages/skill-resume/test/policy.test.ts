/** The configured policy for steps in doubt. */
import { expect, test } from "vitest";
import { decide, skillResumeSchema } from "../src/index.ts";

const plan = (inDoubt: readonly string[], skill = "report") => ({ skill, at: { kind: "end" } as const, inDoubt });

test.each([
	{ policy: "retry", inDoubt: [], decided: { kind: "resume", whenInDoubt: "retry" } },
	{ policy: "retry", inDoubt: ["send"], decided: { kind: "resume", whenInDoubt: "retry" } },
	{ policy: "prompt", inDoubt: [], decided: { kind: "resume", whenInDoubt: "retry" } },
	// A resume never waits for a person.
	{ policy: "prompt", inDoubt: ["send"], decided: { kind: "resume", whenInDoubt: "retry" } },
	{ policy: "skip", inDoubt: [], decided: { kind: "resume", whenInDoubt: "skip" } },
	{ policy: "skip", inDoubt: ["send"], decided: { kind: "resume", whenInDoubt: "skip" } },
	{ policy: "discard_skill", inDoubt: [], decided: { kind: "resume", whenInDoubt: "discard" } },
	{
		policy: "discard_skill",
		inDoubt: ["send", "pay"],
		decided: { kind: "discard", reason: expect.stringContaining("send, pay") },
	},
] as const)(
	"under $policy, with $inDoubt in doubt: $decided.kind $decided.whenInDoubt",
	({ policy, inDoubt, decided }) => {
		expect(decide(plan(inDoubt), skillResumeSchema.parse({ default: policy }))).toEqual(decided);
	},
);

test("a skill's own policy comes before the default, and holds for no other", () => {
	const resume = skillResumeSchema.parse({ default: "skip", per_skill: { report: "discard_skill" } });
	expect(decide(plan(["send"]), resume).kind).toBe("discard");
	for (const other of ["other", "constructor"])
		expect(decide(plan(["send"], other), resume)).toEqual({ kind: "resume", whenInDoubt: "skip" });
	const quick = skillResumeSchema.parse({ default: "discard_skill" });
	expect(decide(plan(["send"], "toString"), quick).kind).toBe("discard");
});

test("without a configuration, steps in doubt are made again", () => {
	expect(skillResumeSchema.parse({})).toEqual({ default: "retry", per_skill: {} });
});

test.each([{ default: "ask" }, { per_skill: { report: "never" } }, { defaults: "retry" }])("%o is refused", (wrong) => {
	expect(skillResumeSchema.safeParse(wrong).success).toBe(false);
});
