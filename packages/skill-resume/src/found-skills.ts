/** What a search for skills has found: those that load, and why others do not. */
import type { Skill } from "./define-skill.ts";
import { SkillError } from "./errors.ts";

export interface FoundSkills {
	readonly skills: readonly Skill[];
	readonly problems: readonly SkillProblem[];
}

/** A file or a package that gives no skill. */
export interface SkillProblem {
	/** What the skill would be called, as its file says. */
	readonly name: string;
	/** The path of the file, or the name of the package. */
	readonly path: string;
	/** `SKILL_LOAD`, `SKILL_GRAPH`, `SKILL_TWICE` or `SKILL_UNTRUSTED`, with the file, and its line and the phase where they are known. */
	readonly error: SkillError;
}

/** @throws SkillError why it does not load, or `SKILL_UNKNOWN` naming the skills that there are */
export function skillNamed({ skills, problems }: FoundSkills, name: string): Skill {
	const skill = skills.find((each) => each.name === name);
	if (skill) return skill;
	const problem = problems.find((each) => each.name === name);
	if (problem) throw problem.error;
	const names = skills.map((each) => each.name).join(", ");
	const there = names === "" ? "there is none" : `there are ${names}`;
	throw new SkillError("SKILL_UNKNOWN", `no skill "${name}"; ${there}`, { skill: name });
}
