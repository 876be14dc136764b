/** What was configured beforehand: for steps in doubt, by skill; and for children that a process left open, by purity. Pure. */
import { type InDoubtPolicy, purities } from "@reyn/journal";
import { entryAt } from "@reyn/snapshot";
import { z } from "zod";
import type { Skill } from "./define-skill.ts";
import { SkillError } from "./errors.ts";

const policy = z.enum(["retry", "skip", "discard_skill", "prompt"]);

/** `skill_resume` of the configuration. `prompt` is accepted and means retry: a resume never waits for a person. */
export const skillResumeSchema = z.strictObject({
	default: policy.default("retry"),
	per_skill: z.record(z.string(), policy).default({}),
});

export type SkillResume = z.infer<typeof skillResumeSchema>;

/** @throws SkillError `SKILL_POLICY`, naming the key */
export function readSkillResume(value: unknown): SkillResume {
	const read = skillResumeSchema.safeParse(value);
	if (read.success) return read.data;
	const wrong = read.error.issues.map(({ path, message }) => `${path.join(".") || "it"}: ${message}`).join("; ");
	throw new SkillError("SKILL_POLICY", `the policy for steps in doubt does not fit: ${wrong}`, {});
}

/** What becomes of a step in doubt of this skill, once its `reconcile` was asked and does not know. */
export function policyFor(skill: string, resume: SkillResume): InDoubtPolicy {
	const chosen = entryAt(resume.per_skill, skill) ?? resume.default;
	if (chosen === "discard_skill") return "discard";
	return chosen === "skip" ? "skip" : "retry";
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
