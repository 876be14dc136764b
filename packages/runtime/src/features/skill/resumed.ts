/** Counts what becomes of the steps of a phase that a skill run goes on in, and tells it once. */
import type { StepEvent } from "@reyn/journal";
import { analyze, type Skill, type SkillRun } from "@reyn/skill-resume";
import type { Scope } from "@reyn/wal";
import type { InDoubtDecision, SkillResumed } from "./events.ts";
import { parentStep } from "./pieces.ts";

type About = Pick<SkillResumed, "scope" | "run" | "skill" | "phase" | "parent">;

export class Resumed {
	readonly #about: About;
	#replayed = 0;
	readonly #again: string[] = [];
	readonly #moved: string[] = [];
	readonly #inDoubt: { readonly name: string; readonly decision: InDoubtDecision }[] = [];
	#isTold = false;

	private constructor(about: About) {
		this.#about = about;
	}

	/** Undefined: the run has not gone through any phase yet, or only its end is left, so nothing of it goes on. */
	static of(scope: Scope, id: string, run: SkillRun, { name, start }: Skill): Resumed | undefined {
		const at = analyze(run, start);
		if (at.kind === "end" || Object.keys(run.visits).length === 0) return undefined;
		const parent = run.parent === undefined ? {} : { parent: parentStep(run.parent) };
		return new Resumed({ scope, run: id, skill: name, phase: at.phase, ...parent });
	}

	observe(event: StepEvent): void {
		if (this.#isTold) return;
		const { name, kind } = event;
		if (event.type === "ghost") this.#replayed++;
		if (event.type === "world_asked") this.#again.push(name);
		if (event.type === "world_asked" && event.moved) this.#moved.push(name);
		if (event.type === "in_doubt" && kind !== "ask") this.#inDoubt.push({ name, decision: event.decision });
	}

	/** The event; undefined: it was told. */
	told(): SkillResumed | undefined {
		if (this.#isTold) return undefined;
		this.#isTold = true;
		const counted = { replayed: this.#replayed, again: this.#again, moved: this.#moved, inDoubt: this.#inDoubt };
		return { type: "skill_resumed", ...this.#about, ...counted };
	}
}
