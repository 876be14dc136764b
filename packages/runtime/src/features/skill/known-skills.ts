/** The skills that there are: those that a program gives, and those that are found, which may change while it works. */
import { type FoundSkills, type Skill, skillNamed } from "@reyn/skill-resume";

/** Finds skills, such as those in files. It is called again to have what has changed since, and never throws. */
export type FindSkills = () => Promise<FoundSkills>;

export class KnownSkills {
	readonly #given: readonly Skill[];
	readonly #find: FindSkills | undefined;
	#found: FoundSkills = { skills: [], problems: [] };

	constructor(given: readonly Skill[], find?: FindSkills) {
		this.#given = given;
		this.#find = find;
	}

	/** As they were when it was looked last. */
	get now(): FoundSkills {
		return { skills: [...this.#given, ...this.#found.skills], problems: this.#found.problems };
	}

	async look(): Promise<FoundSkills> {
		if (this.#find) this.#found = await this.#find();
		return this.now;
	}

	/** @throws SkillError why it does not load, or `SKILL_UNKNOWN` */
	named(name: string): Skill {
		return skillNamed(this.now, name);
	}
}
