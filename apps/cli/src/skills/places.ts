/** Where skills lie: those of a project in its state directory, those of this user beside their configuration, and packages by name. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { FoundSkills, Skill } from "@reyn/skill-resume";
import { ownDirectory } from "../config/files.ts";

export interface SkillsHere {
	/** Of the project: it may come from a stranger. */
	readonly project: string;
	/** Of this user. */
	readonly own: string;
	readonly packages: readonly string[];
	/** Skills that there are already. */
	readonly taken: readonly Skill[];
	/** What lies there may run, as it is now: a person has said so with this command. */
	readonly trust: boolean;
}

/** @param state the state directory */
export const skillPlaces = (state: string): Pick<SkillsHere, "own" | "project"> => ({
	project: join(state, "skills"),
	own: join(ownDirectory(process.env), "skills"),
});

/** Most commands find none, and load nothing that reads one. */
export async function skillsHere(here: SkillsHere): Promise<FoundSkills> {
	const { project, own, packages } = here;
	if (packages.length === 0 && !existsSync(project) && !existsSync(own)) return { skills: [], problems: [] };
	return (await import("./find.ts")).find(here);
}
