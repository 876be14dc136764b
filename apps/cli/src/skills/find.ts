/** Finds the skills that people have written in files, and gives them what they import. */
import { dirname } from "node:path";
import { type FoundSkills, SkillError, type SkillProblem } from "@reyn/skill-resume";
import { findSkills } from "@reyn/skill-resume/files";
import type { SkillsHere } from "./places.ts";
import { remember, trustedIn } from "./trusted.ts";

const isSource = import.meta.url.endsWith(".ts");
const beside = (name: string): string => new URL(`./${name}.${isSource ? "ts" : "js"}`, import.meta.url).href;

export async function find({ project, own, packages, taken, trust }: SkillsHere): Promise<FoundSkills> {
	if (trust) await remember(project);
	const isTrusted = trustedIn(project);
	const { skills, problems } = await findSkills({
		// A project takes no name away from what is yours.
		directories: [{ directory: own }, { directory: project, isTrusted }],
		packages: packages.map((name) => ({ name, from: dirname(own) })),
		taken,
		provides: { "@reyn/skill-resume": beside("skill-parts"), zod: beside("skill-zod") },
	});
	return { skills, problems: problems.map(withAdvice) };
}

function withAdvice(problem: SkillProblem): SkillProblem {
	const { code, message, detail } = problem.error;
	if (code !== "SKILL_UNTRUSTED") return problem;
	const more = { ...detail, skill: problem.name };
	return { ...problem, error: new SkillError(code, `${message}: read it, then say --trust`, more) };
}
