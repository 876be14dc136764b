/** Skill runs of a session: starting, resuming and discarding them. */
import { journal, type Model, spillText, type Using } from "@reyn/journal";
import {
	analyze,
	decide,
	findRun,
	runLane,
	runSkill,
	type Skill,
	SkillError,
	type SkillResume,
	type SkillRun,
	skillRunDiscarded,
	skillRunResumed,
	skillRuns,
	startRun,
} from "@reyn/skill-resume";
import { entryAt } from "@reyn/snapshot";
import { type Ids, isReynError, type Scope } from "@reyn/wal";
import {
	atOnce,
	type End,
	type Keep,
	type Show,
	sayEnd,
	sayOnce,
	shownWhenOver,
	stopReason,
	type Went,
} from "../../kernel/background.ts";
import type { Space } from "../../kernel/disk-space.ts";
import type { RuntimeEvent } from "../../kernel/events.ts";
import type { Session } from "../../kernel/session.ts";
import { skillWork } from "../../kernel/work.ts";
import { hasMessageFrom } from "../conversation/conversation.ts";

export interface SkillHostPorts {
	readonly model: Model;
	readonly skills: readonly Skill[];
	readonly resume: SkillResume;
	readonly ids: Ids;
	readonly space: Space;
	using(session: Session, signal: AbortSignal): Using;
	emit(event: RuntimeEvent): void;
	readonly show: Show;
}

export class SkillHost {
	readonly #ports: SkillHostPorts;

	constructor(ports: SkillHostPorts) {
		this.#ports = ports;
	}

	/**
	 * Starts a skill in the background and gives the id of the run.
	 *
	 * @throws SkillError `SKILL_UNKNOWN` naming the skills that there are, `SKILL_INVALID_INPUT`
	 */
	async start(session: Session, name: string, input: unknown): Promise<string> {
		const skill = this.#find(name);
		const run = `s${this.#ports.ids.hex(3)}`;
		await startRun(run, skill, input, runScope(session, run), session.log);
		this.launch(session, run);
		return run;
	}

	/**
	 * Goes on with a run from wherever it stands, as the policy for steps in doubt allows, or says that it was given up where a process
	 * died before it had.
	 */
	launch(session: Session, run: string): void {
		const work = skillWork(session.scope, run);
		const found = runOf(session, run);
		if (session.isRunning(work) || !(found?.status === "running" || found?.ended)) return;
		session.start(work, async (signal) => {
			const show = (): Promise<void> => this.#ports.show(session, run, signal);
			this.#emitEnd(session, run, await shownWhenOver(() => this.#work(session, run, signal), show, signal));
		});
	}

	/** Sets a paused run going again. */
	async resume(session: Session, run: string): Promise<void> {
		await session.log.append(skillRunResumed({ run }), runScope(session, run)).durable;
		this.launch(session, run);
	}

	/**
	 * Stops a run for a person, and says so in the conversation.
	 *
	 * @throws SkillError `SKILL_UNKNOWN_RUN` when it has ended by itself meanwhile
	 */
	async discard(session: Session, run: string, reason: string): Promise<void> {
		await session.stop(skillWork(session.scope, run), reason);
		findRun(session.view.get(skillRuns), run);
		const went = await this.#giveUp(session, run, reason, atOnce, { by: "person" });
		await this.#ports.show(session, run);
		this.#emitEnd(session, run, went);
	}

	async #work(session: Session, run: string, signal: AbortSignal): Promise<Went> {
		const keep: Keep = (write) => this.#ports.space.keep(`skill run ${run}`, "how it ended", write, signal);
		if (runOf(session, run)?.ended) return sayEnd(session, endOf(session, run), keep);
		try {
			return await this.#run(session, run, signal, keep);
		} catch (error) {
			if (!isReynError(error, "STEP_DISCARDED")) throw error;
			return this.#giveUp(session, run, stopReason(signal, error), keep);
		}
	}

	async #run(session: Session, id: string, signal: AbortSignal, keep: Keep): Promise<Went> {
		const current = (): SkillRun => runOf(session, id) as SkillRun;
		const skill = this.#find(current().skill);
		const decision = decide(analyze(id, current(), skill.start, session.view.get(journal)), this.#ports.resume);
		if (decision.kind === "discard") return this.#giveUp(session, id, decision.reason, keep);
		const using = this.#ports.using(session, signal);
		await runSkill(id, skill, runScope(session, id), {
			...using,
			whenInDoubt: () => decision.whenInDoubt,
			model: this.#ports.model,
			run: current,
			journal: () => session.view.get(journal),
			deliver: async (output) => {
				const text = typeof output === "string" ? output : JSON.stringify(output);
				const spill = () => spillText(text, using.results);
				const spilled = await this.#ports.space.keep(`skill run ${id}`, "what it gives", spill, signal);
				const said = await keep(() => sayOnce(session, { skill: id }, current().since, text, spilled));
				await said?.durable;
			},
			onBoundary: async (kind, title, at) => {
				const seq = await keep(() => session.checkpoint(kind, title, at));
				this.#ports.emit({ type: "checkpoint", seq, kind, title });
			},
		});
		return { outcome: "completed" };
	}

	/** Records that a run is over and what is to be said of it; nothing where its output has been said. */
	#giveUp(session: Session, run: string, reason: string, keep: Keep, who: { by?: "person" } = {}): Promise<Went> {
		const isAnswered = hasMessageFrom(session.conversation, run, runOf(session, run)?.since ?? 0);
		const tell = isAnswered ? {} : { tell: `The skill run ${run} was discarded: ${reason}.` };
		const discarded = skillRunDiscarded({ run, reason, ...who, ...tell });
		const giveUp = (): void => void session.log.append(discarded, runScope(session, run));
		return sayEnd(session, { ...endOf(session, run), giveUp }, keep);
	}

	#emitEnd({ scope }: Session, run: string, { outcome, reason }: Went): void {
		this.#ports.emit({ type: "skill_end", scope, run, outcome, ...(reason === undefined ? {} : { reason }) });
	}

	#find(name: string): Skill {
		const skill = this.#ports.skills.find((each) => each.name === name);
		if (skill) return skill;
		throw new SkillError(
			"SKILL_UNKNOWN",
			`no skill "${name}"; there are ${this.#ports.skills.map((each) => each.name).join(", ")}`,
			{ skill: name },
		);
	}
}

const runOf = ({ view }: Session, run: string): SkillRun | undefined => entryAt(view.get(skillRuns), run);

const endOf = (session: Session, run: string): End => ({
	from: { skill: run },
	scope: runScope(session, run),
	lane: runLane(run),
	ended: () => runOf(session, run)?.ended,
});

const runScope = ({ scope }: Session, run: string): Scope => ({ ...scope, run });
