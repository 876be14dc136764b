/** Runs skills as children of calls of plan steps and of phases. */
import type { Tool } from "@reyn/journal";
import {
	type ChildPurity,
	childrenBelow,
	endChildrenBelow,
	type Skill,
	type SkillChildren,
	skillChildren,
	skillRuns,
	skillTools,
} from "@reyn/skill-resume";
import type { Scope } from "@reyn/wal";
import type { Frame, Kernel } from "../../kernel/feature.ts";
import { type ModelCost, sumOf } from "../../kernel/meter.ts";
import type { Session } from "../../kernel/session.ts";
import { childScope } from "./pieces.ts";

export interface ChildrenOptions {
	readonly skills: readonly Skill[];
	readonly childPurity: ChildPurity;
	/** Goes on with a run to its end. @returns its output. @throws JournalError `STEP_DISCARDED` by the policy for steps in doubt, and what a phase throws */
	run(session: Session, id: string, scope: Scope, signal: AbortSignal): Promise<unknown>;
}

export class Children {
	readonly #kernel: Kernel;
	readonly #options: ChildrenOptions;
	/** The children that this process has begun, or has gone on with. */
	readonly #own = new Set<string>();

	constructor(kernel: Kernel, options: ChildrenOptions) {
		this.#kernel = kernel;
		this.#options = options;
	}

	/** Offers each skill to steps, as a tool. Phases have theirs by {@link of}. */
	tools({ session, for: who, model }: Frame): readonly Tool[] {
		return who === "step" ? skillTools(this.of(session, model)) : [];
	}

	/** What calls of some work in a session may run. @param model the id of the model that children are begun with. Default: the agent's */
	of(session: Session, model?: string): SkillChildren {
		const { log, scope } = session;
		const { space } = this.#kernel;
		const { skills, childPurity, run } = this.#options;
		return skillChildren({
			...{ skills, childPurity, log, own: this.#own, model: this.#kernel.agent(scope, model).model.id },
			...recordsOf(session),
			keep: (name, write, signal) => space.keep(name, "said", write, signal),
			run: (id, at, signal) => run(session, id, at, signal),
		});
	}

	/** Ends the open children below a lane, since what is around them has ended. */
	endBelow(session: Session, lane: string, reason: string): void {
		endChildrenBelow({ log: session.log, ...recordsOf(session) }, lane, reason);
	}

	/** What the model calls of the children below a lane cost. */
	costBelow(session: Session, lane: string): ModelCost {
		return sumOf(childrenBelow(session.view.get(skillRuns), lane).flatMap(([, { cost }]) => cost ?? []));
	}
}

const recordsOf = (session: Session) => ({
	scope: (lane: string) => childScope(session, lane),
	runs: () => session.view.get(skillRuns),
});
