/** Runs skills that models call: in a step of a plan and in a phase as a child of the call, in a turn in the background. */
import type { Tool, ToolAnswer } from "@reyn/journal";
import {
	type ChildPurity,
	childrenBelow,
	endChildrenBelow,
	type Skill,
	type SkillCalls,
	type SkillChildren,
	skillChildren,
	skillRunIn,
	skillRuns,
	skillTool,
	skillTools,
	startRun,
} from "@reyn/skill-resume";
import type { Scope, Seq } from "@reyn/wal";
import type { Frame, Kernel } from "../../kernel/feature.ts";
import { type ModelCost, sumOf } from "../../kernel/meter.ts";
import type { Session } from "../../kernel/session.ts";
import type { KnownSkills } from "./known-skills.ts";
import { childScope } from "./pieces.ts";

export interface ChildrenOptions {
	readonly skills: KnownSkills;
	readonly childPurity: ChildPurity;
	/** Goes on with a run to its end. @returns its output. @throws JournalError `STEP_DISCARDED` by the policy for steps in doubt, and what a phase throws */
	run(session: Session, id: string, scope: Scope, signal: AbortSignal): Promise<unknown>;
	/** Sets a run going in the background, which is no child. */
	launch(session: Session, run: string): void;
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

	/** Offers each skill as a tool: a step waits for its output, and a turn does not. Phases have theirs by {@link of}. */
	tools({ session, for: who, model }: Frame): readonly Tool[] {
		if (who === "step") return skillTools(this.of(session, model));
		return this.#options.skills.now.skills.flatMap((skill) => {
			const calls: SkillCalls = {
				run: (input, { started }) => this.#begun(session, skill, model, input, started),
				answer: (started) => begunAnswer(skill, begunRun(session, started)),
			};
			return skillTool(skill, calls) ?? [];
		});
	}

	/** What calls of some work in a session may run. @param model the id of the model that children are begun with. Default: the agent's */
	of(session: Session, model?: string): SkillChildren {
		const { log, scope } = session;
		const { space } = this.#kernel;
		const { skills, childPurity, run } = this.#options;
		return skillChildren({
			...{ childPurity, log, own: this.#own, model: this.#kernel.agent(scope, model).model.id },
			found: skills.now,
			...recordsOf(session),
			keep: (name, write, signal) => space.keep(name, "said", write, signal),
			run: (id, at, signal) => run(session, id, at, signal),
		});
	}

	/** Starts the run of a call of a turn, unless it is there: then it goes on by itself. @throws SkillError `SKILL_INVALID_INPUT` */
	async #begun(
		session: Session,
		skill: Skill,
		model: string | undefined,
		input: unknown,
		started: Seq,
	): Promise<ToolAnswer> {
		const id = begunId(started);
		if (!begunRun(session, started)) {
			const { id: asked } = this.#kernel.agent(session.scope, model).model;
			await startRun(id, skill, input, { ...session.scope, run: id }, session.log, asked);
		}
		this.#options.launch(session, id);
		return begunAnswer(skill, id) as ToolAnswer;
	}

	/** Ends the open children below a lane, since what is around them has ended. */
	endBelow(session: Session, lane: string, reason: string): void {
		endChildrenBelow({ log: session.log, ...recordsOf(session) }, lane, reason);
	}

	/** What the model calls of the children below a lane cost, of those begun before a seq. */
	costBelow(session: Session, lane: string, before: Seq = Number.POSITIVE_INFINITY): ModelCost {
		const begun = childrenBelow(session.view.get(skillRuns), lane).filter(([, { started }]) => started < before);
		return sumOf(begun.flatMap(([, { cost }]) => cost ?? []));
	}
}

const recordsOf = (session: Session) => ({
	scope: (lane: string) => childScope(session, lane),
	runs: () => session.view.get(skillRuns),
});

/** Names a run by the call of a turn that has started it. */
const begunId = (started: Seq): string => `t${started}`;

const begunRun = (session: Session, started: Seq): string | undefined => {
	const id = begunId(started);
	return skillRunIn(session.view.get(skillRuns), id) && id;
};

/** What a call in a turn is told of its run; undefined: there is none yet. */
const begunAnswer = ({ name }: Skill, run: string | undefined): ToolAnswer | undefined =>
	run === undefined
		? undefined
		: { text: `The skill ${name} works in the background as run ${run}. Its output is told here when it is there.` };
