/** Runs skills that models call: in a step of a plan as a child of the call, in a turn in the background. One run a call, wherever its process is killed. */
import { laneClosed, type Tool, type ToolAnswer } from "@reyn/journal";
import { isBeneath, reasonOf } from "@reyn/journal/internal";
import {
	type ChildPurity,
	childrenBelow,
	decideChild,
	isLive,
	runLane,
	type Skill,
	type SkillRun,
	skillRunDiscarded,
	skillRuns,
	startRun,
} from "@reyn/skill-resume";
import { entryAt } from "@reyn/snapshot";
import { isReynError, type Scope, type Seq } from "@reyn/wal";
import type { Frame, Kernel } from "../../kernel/feature.ts";
import { type ModelCost, sumOf } from "../../kernel/meter.ts";
import type { Session } from "../../kernel/session.ts";
import type { KnownSkills } from "./known-skills.ts";
import { childScope, runText } from "./pieces.ts";
import { type ChildCall, skillTool } from "./skill-tool.ts";

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

	/** Offers each skill as a tool: a step waits for its output, and a turn does not. */
	tools({ session, for: who, model }: Frame): readonly Tool[] {
		return this.#options.skills.now.skills.flatMap((skill) => {
			if (who === "turn") {
				const ports = {
					run: (input: unknown, { started }: ChildCall) => this.#begun(session, skill, model, input, started),
					answer: (started: Seq) => begunAnswer(skill, begunRun(session, started)),
				};
				return skillTool(skill, ports) ?? [];
			}
			const ports = {
				run: (input: unknown, call: ChildCall) => this.#run(session, skill, model, input, call),
				answer: (started: Seq) => answerOf(newest(session, started)?.run),
			};
			return skillTool(skill, ports) ?? [];
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
		for (const [id, run] of childrenBelow(session.view.get(skillRuns), lane))
			if (isLive(run)) end(session, id, run, reason, { by: "parent" });
	}

	/** What the model calls of the children below a lane cost. */
	costBelow(session: Session, lane: string): ModelCost {
		return sumOf(childrenBelow(session.view.get(skillRuns), lane).flatMap(([, { cost }]) => cost ?? []));
	}

	async #run(
		session: Session,
		skill: Skill,
		model: string | undefined,
		input: unknown,
		call: ChildCall,
	): Promise<string | ToolAnswer> {
		const { space } = this.#kernel;
		const { lane, signal } = call;
		const begin = () => this.#begin(session, skill, model, input, call);
		const id = await space.keep(`skill ${skill.name}`, "said", begin, signal);
		try {
			return runText(await this.#options.run(session, id, childScope(session, lane), signal));
		} catch (error) {
			// It was cut, or waits for somebody, and goes on with its call.
			const isLeft = signal.aborted || (isBeneath(error) && !isReynError(error, "STEP_DISCARDED"));
			if (isLeft) throw error;
			const run = (): SkillRun => entryAt(session.view.get(skillRuns), id) as SkillRun;
			const { message } = reasonOf(error);
			await space.keep(`skill run ${id}`, "end", () => end(session, id, run(), message), signal);
			return answerOf(run()) as ToolAnswer;
		}
	}

	/** The child to go on with: the open one of the call, or another. @throws SkillError `SKILL_INVALID_INPUT` */
	async #begin(
		session: Session,
		skill: Skill,
		model: string | undefined,
		input: unknown,
		{ lane, started }: ChildCall,
	): Promise<string> {
		const before = newest(session, started);
		const isOpen = before !== undefined && isLive(before.run);
		if (isOpen && (this.#own.has(before.id) || decideChild(skill, this.#options.childPurity) === "adopt")) {
			this.#own.add(before.id);
			return before.id;
		}
		const why = `its process ended, and child_purity says cancel for ${skill.purity}`;
		if (isOpen) void end(session, before.id, before.run, why, { by: "parent" });
		const next = childId(started, (before?.times ?? 0) + 1);
		this.#own.add(next);
		const { id: asked } = this.#kernel.agent(session.scope, model).model;
		await startRun(next, skill, input, childScope(session, lane), session.log, asked, lane);
		return next;
	}
}

/** Names a run by the call of a turn that has started it. */
const begunId = (started: Seq): string => `t${started}`;

const begunRun = (session: Session, started: Seq): string | undefined => {
	const id = begunId(started);
	return entryAt(session.view.get(skillRuns), id) && id;
};

/** What a call in a turn is told of its run; undefined: there is none yet. */
const begunAnswer = ({ name }: Skill, run: string | undefined): ToolAnswer | undefined =>
	run === undefined
		? undefined
		: { text: `The skill ${name} works in the background as run ${run}. Its output is told here when it is there.` };

/** Names a child by its call: the second one of a call is there only if the first was ended by what is around it. */
const childId = (started: Seq, times: number): string => `c${started}${times > 1 ? `.${times}` : ""}`;

/** The newest child of a call. */
function newest(
	session: Session,
	started: Seq,
): { readonly times: number; readonly id: string; readonly run: SkillRun } | undefined {
	const runs = session.view.get(skillRuns);
	for (let times = 1, found: ReturnType<typeof newest>; ; times++) {
		const id = childId(started, times);
		const run = entryAt(runs, id);
		if (!run) return found;
		found = { times, id, run };
	}
}

/** What a child that is over answers its call; undefined: it is open, or was ended by what is around it. */
function answerOf(run: SkillRun | undefined): string | ToolAnswer | undefined {
	if (run?.status === "completed") return runText(run.last?.output);
	if (run?.status !== "discarded" || run.ended?.by === "parent") return undefined;
	return { text: `${run.skill} has failed: ${run.ended?.reason ?? "it was discarded"}`, isError: true };
}

/** Ends a child by its records, and with it what it has left in its lane. */
function end(
	session: Session,
	run: string,
	{ parent = "" }: SkillRun,
	reason: string,
	who: { readonly by?: "parent" } = {},
): Promise<void> {
	const scope = childScope(session, parent);
	session.log.append(skillRunDiscarded({ run, reason, ...who }), scope);
	return session.log.append(laneClosed({ lane: runLane(run, parent) }), scope).durable;
}
