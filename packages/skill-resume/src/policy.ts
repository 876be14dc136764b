/** What was configured beforehand: for steps in doubt, by skill; and for children that a process left open, by purity. Pure. */
import { type InDoubtPolicy, purities } from "@reyn/journal";
import { entryAt } from "@reyn/snapshot";
import { z } from "zod";
import type { Skill } from "./define-skill.ts";
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

/** `plan_resume.child_purity` of the configuration: by what the skill does to the world. */
export const childPuritySchema = z.partialRecord(z.enum(purities), z.enum(["cancel", "adopt"]));

export type ChildPurity = z.infer<typeof childPuritySchema>;

/**
 * What becomes of a child that a former process left open, when the call around it is made again. `cancel`: it is ended, and run anew.
 * `adopt`: it goes on where it stands. Default: a pure one is cancelled, since what it did cost nothing but time.
 */
export const decideChild = ({ purity }: Pick<Skill, "purity">, said: ChildPurity): "cancel" | "adopt" =>
	said[purity] ?? (purity === "pure" ? "cancel" : "adopt");
