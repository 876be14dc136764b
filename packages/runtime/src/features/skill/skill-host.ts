/** Hosts skill runs: starts, resumes and discards them. */
import { type InDoubtPolicy, type StepEvent, spillText, type Tool } from "@reyn/journal";
import {
	type ChildPurity,
	endsRun,
	findRun,
	policyFor,
	runLane,
	runSkill,
	runText,
	type Skill,
	type SkillQuestion,
	type SkillResume,
	type SkillRun,
	skillRunDiscarded,
	skillRunIn,
	skillRunResumed,
	skillRuns,
	startRun,
} from "@reyn/skill-resume";
import { isReynError, type Scope, type Seq } from "@reyn/wal";
import { atOnce, type End, type Keep, sayEnd, shownWhenOver, stopReason, type Went } from "../../kernel/background.ts";
import type { FeatureHost, Frame, Kernel, Piece } from "../../kernel/feature.ts";
import type { ModelCost } from "../../kernel/meter.ts";
import {
	asker,
	type BackgroundMessages,
	backgroundMessages,
	type From,
	type Served,
	serve,
	skillStarter,
	startKey,
} from "../../kernel/services.ts";
import type { Session } from "../../kernel/session.ts";
import { Children } from "./children.ts";
import type { SkillEnd } from "./events.ts";
import type { KnownSkills } from "./known-skills.ts";
import { parentStep, SKILL, skillWork } from "./pieces.ts";
import { Resumed } from "./resumed.ts";
import { starterOf } from "./starter.ts";

export interface SkillOptions {
	readonly skills: KnownSkills;
	readonly resume: SkillResume;
	readonly childPurity: ChildPurity;
}

export class SkillHost implements FeatureHost {
	readonly #kernel: Kernel;
	readonly #options: SkillOptions;
	readonly #messages: BackgroundMessages;
	readonly #children: Children;
	readonly services: readonly Served[];

	constructor(kernel: Kernel, options: SkillOptions) {
		this.#kernel = kernel;
		this.#options = options;
		this.#messages = kernel.get(backgroundMessages);
		this.services = [
			serve(
				skillStarter,
				starterOf(
					(name) => this.#found(name),
					(...started) => this.start(...started),
				),
			),
		];
		this.#children = new Children(kernel, {
			...options,
			run: (...child) => this.#runChild(...child),
			launch: (session, run) => this.#launch(session, run),
		});
	}

	/** The skills that there are now, and what does not load. */
	get skills(): KnownSkills {
		return this.#options.skills;
	}

	/** What becomes of a step in doubt of this skill, once its `reconcile` was asked and does not know. */
	inDoubt(skill: string): InDoubtPolicy {
		return policyFor(skill, this.#options.resume);
	}

	costBelow(session: Session, lane: string, before?: Seq): ModelCost {
		return this.#children.costBelow(session, lane, before);
	}

	tools(frame: Frame): readonly Tool[] {
		return this.#children.tools(frame);
	}

	endBelow(session: Session, lane: string, reason: string): void {
		this.#children.endBelow(session, lane, reason);
	}

	/**
	 * Starts a skill in the background.
	 *
	 * @returns the id of the run
	 * @throws SkillError `SKILL_UNKNOWN` naming the skills that there are, why it does not load, `SKILL_INVALID_INPUT`
	 */
	async start(
		session: Session,
		name: string,
		input: unknown,
		run: string = `s${this.#kernel.ids.hex(3)}`,
	): Promise<string> {
		const skill = await this.#found(name);
		const { model } = this.#kernel.agent(session.scope);
		await startRun(run, skill, input, runScope(session, run), session.log, model.id);
		this.#launch(session, run);
		return run;
	}

	/** As it is now. @throws SkillError why it does not load, or `SKILL_UNKNOWN` */
	async #found(name: string): Promise<Skill> {
		await this.skills.look();
		return this.skills.named(name);
	}

	/**
	 * Goes on with a run from wherever it stands, as the policy for steps in doubt allows. For a run that was given up, it delivers the
	 * notice that a crash cut.
	 */
	goOn(session: Session, { id }: Piece): void {
		this.#launch(session, id);
	}

	#launch(session: Session, run: string): void {
		const work = skillWork(session.scope, run);
		const found = runOf(session, run);
		if (session.isRunning(work) || !(found?.status === "running" || found?.ended)) return;
		session.start(work, async (signal) => {
			const show = (): Promise<void> => this.#messages.show(session, fromOf(run), signal);
			this.#emitStop(session, run, await shownWhenOver(() => this.#work(session, run, signal), show, signal));
		});
	}

	/** Sets a paused run going again. */
	async resume(session: Session, run: string): Promise<void> {
		await this.skills.look();
		await session.log.append(skillRunResumed({ run }), runScope(session, run)).durable;
		this.#launch(session, run);
	}

	/**
	 * Stops a run for a person, and says so in the conversation.
	 *
	 * @throws SkillError `SKILL_UNKNOWN_RUN` when it has ended by itself meanwhile
	 */
	async discard(session: Session, run: string, reason: string): Promise<void> {
		await session.stop(skillWork(session.scope, run), reason);
		findRun(session.view.get(skillRuns), run);
		await this.#giveUp(session, run, reason, atOnce, { by: "person" });
		await this.#messages.show(session, fromOf(run));
	}

	async #work(session: Session, run: string, signal: AbortSignal): Promise<Went> {
		const keep: Keep = (write) => this.#kernel.space.keep(`skill run ${run}`, "end", write, signal);
		if (runOf(session, run)?.ended) return sayEnd(session, endOf(session, run), this.#messages, keep);
		try {
			return await this.#run(session, run, signal, keep);
		} catch (error) {
			if (!endsRun(error)) throw error;
			return this.#giveUp(session, run, stopReason(signal, error), keep);
		}
	}

	async #run(session: Session, id: string, signal: AbortSignal, keep: Keep): Promise<Went> {
		const { skill, current, ports, tellResumed } = this.#ready(session, id, signal, keep);
		const deliver = async (output: unknown): Promise<void> => {
			const text = runText(output);
			const spill = () => spillText(text, ports.results);
			const spilled = await this.#kernel.space.keep(`skill run ${id}`, "result", spill, signal);
			const said = await keep(() => this.#messages.record(session, fromOf(id), current().since, text, spilled));
			await said?.durable;
		};
		try {
			await runSkill(id, skill, runScope(session, id), { ...ports, deliver });
		} catch (error) {
			// One that has died too often does not go on.
			if (!isReynError(error, "SKILL_PAUSED")) tellResumed();
			throw error;
		}
		tellResumed();
		return { outcome: "completed" };
	}

	/** Runs a child to its end: its call gives the output to the model that has asked for it, and nothing is said. */
	async #runChild(session: Session, id: string, scope: Scope, signal: AbortSignal) {
		const keep: Keep = (write) => this.#kernel.space.keep(`skill run ${id}`, "end", write, signal);
		const { skill, ports, tellResumed } = this.#ready(session, id, signal, keep);
		try {
			return await runSkill(id, skill, scope, { ...ports, deliver: async () => {} });
		} finally {
			tellResumed();
		}
	}

	/** What it takes to go on with a run from where it stands. */
	#ready(session: Session, id: string, signal: AbortSignal, keep: Keep) {
		const current = (): SkillRun => runOf(session, id) as SkillRun;
		const skill = this.skills.named(current().skill);
		const { model: begunWith, parent } = current();
		const agent = this.#kernel.agentFor(session.scope, fromOf(id), begunWith);
		const { kind, id: work } = parent === undefined ? fromOf(id) : parentStep(parent);
		const piece = this.#kernel.find({ kind, id: work });
		const whenInDoubt = this.inDoubt(skill.name);
		const using = this.#kernel.using(session, signal);
		const resumed = Resumed.of(session.scope, id, current(), skill);
		const tellResumed = (): void => {
			const event = resumed?.told();
			if (event) this.#kernel.emit(event);
		};
		const ports = {
			...using,
			observe: (event: StepEvent): void => {
				resumed?.observe(event);
				using.observe?.(event);
			},
			model: agent.model,
			tools: piece ? this.#kernel.tools({ session, piece, for: "phase", model: agent.model.id }) : agent.tools,
			children: this.#children.of(session, agent.model.id),
			ask: async ({ seq, lane, question, choices, signal: open }: SkillQuestion) => {
				const asking = { key: startKey(seq), lane, from: { kind, id: work }, question, ...(choices && { choices }) };
				const answer = await this.#kernel.get(asker).ask(session, { ...asking, waits: true }, open);
				return answer.kind === "answered" ? answer.text : undefined;
			},
			run: current,
			whenInDoubt: () => whenInDoubt,
			onBoundary: async (kind: "phase", title: string, at: Scope) => {
				tellResumed();
				await keep(() => session.checkpoint(kind, title, at));
			},
		};
		return { skill, current, ports, tellResumed };
	}

	/** Records that a run is given up, and the notice to deliver; no notice if its output was delivered already. */
	#giveUp(session: Session, run: string, reason: string, keep: Keep, who: { by?: "person" } = {}): Promise<Went> {
		const isAnswered = this.#messages.hasRecorded(session, fromOf(run), runOf(session, run)?.since ?? 0);
		const tell = isAnswered ? {} : { tell: `The skill run ${run} was discarded: ${reason}.` };
		const discarded = skillRunDiscarded({ run, reason, ...who, ...tell });
		const giveUp = (): void => void session.log.append(discarded, runScope(session, run));
		return sayEnd(session, { ...endOf(session, run), giveUp }, this.#messages, keep);
	}

	/** Tells that a run has stopped. Its end, or that it has failed or died too often, is told from its record instead. */
	#emitStop(session: Session, run: string, { outcome, reason }: Went): void {
		if (outcome !== "stopped" || runOf(session, run)?.why !== undefined) return;
		const end = { type: "skill_end", scope: session.scope, run, outcome } as const;
		const stopped: SkillEnd = { ...end, ...(reason === undefined ? {} : { reason }) };
		this.#kernel.emit(stopped);
	}
}

const runOf = ({ view }: Session, run: string): SkillRun | undefined => skillRunIn(view.get(skillRuns), run);

const endOf = (session: Session, run: string): End => ({
	from: fromOf(run),
	scope: runScope(session, run),
	lane: runLane(run),
	ended: () => runOf(session, run)?.ended,
});

const fromOf = (run: string): From => ({ kind: SKILL, id: run });

const runScope = ({ scope }: Session, run: string): Scope => ({ ...scope, run });
