/** The configured policy for steps in doubt, by skill. Pure. */
import type { InDoubtPolicy } from "@reyn/journal";
import { entryAt } from "@reyn/snapshot";
import { z } from "zod";
import type { ResumePoint } from "./resume-point.ts";

const policy = z.enum(["retry", "skip", "discard_skill", "prompt"]);

/** `skill_resume` of the configuration. `prompt` is accepted and means retry: a resume never waits for a person. */
export const skillResumeSchema = z.strictObject({
	default: policy.default("retry"),
	per_skill: z.record(z.string(), policy).default({}),
});

export type SkillResume = z.infer<typeof skillResumeSchema>;

export type Decision =
	| { readonly kind: "resume"; readonly whenInDoubt: InDoubtPolicy }
	| { readonly kind: "discard"; readonly reason: string };

export function decide({ skill, inDoubt }: ResumePoint, resume: SkillResume): Decision {
	const chosen = entryAt(resume.per_skill, skill) ?? resume.default;
	if (chosen === "discard_skill") {
		if (inDoubt.length === 0) return { kind: "resume", whenInDoubt: "discard" };
		return {
			kind: "discard",
			reason: `nobody knows whether ${inDoubt.join(", ")} happened before the process ended, and skill_resume says discard_skill`,
		};
	}
	return { kind: "resume", whenInDoubt: chosen === "skip" ? "skip" : "retry" };
}
