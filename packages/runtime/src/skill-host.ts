/** Skill runs of a session: starting, resuming and discarding them. */
import { journal, laneClosed, type Model, type Using } from "@reyn/journal";
import {
	analyze,
	decide,
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
import type { Ids, Scope } from "@reyn/wal";
import { type Deliver, sayOnce, stopReason } from "./background.ts";
import type { RuntimeEvent } from "./events.ts";
import type { Session } from "./session.ts";
import { skillWork } from "./work.ts";

export interface SkillHostPorts {
	readonly model: Model;
	readonly skills: readonly Skill[];
	readonly resume: SkillResume;
	readonly ids: Ids;
	using(session: Session, signal: AbortSignal): Using;
	emit(event: RuntimeEvent): void;
	readonly deliver: Deliver;
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

	/** Goes on with a run from wherever it stands, as the policy for steps in doubt allows. */
	launch(session: Session, run: string): void {
		const work = skillWork(session.scope, run);
		if (session.isRunning(work) || session.view.get(skillRuns)[run]?.status !== "running") return;
		session.start(work, async (signal) => {
			try {
				await this.#run(session, run, signal);
			} catch (error) {
				const reason = stopReason(signal, error);
				if ((error as { code?: unknown } | undefined)?.code === "STEP_DISCARDED")
					await this.#drop(session, run, reason);
				else this.#ports.emit({ type: "skill_end", scope: session.scope, run, outcome: "stopped", reason });
			}
		});
	}

	/** Sets a paused run going again. */
	async resume(session: Session, run: string): Promise<void> {
		await session.log.append(skillRunResumed({ run }), runScope(session, run)).durable;
		this.launch(session, run);
	}

	/** Stops a run for a person. */
	async discard(session: Session, run: string, reason: string): Promise<void> {
		await session.stop(skillWork(session.scope, run), reason);
		await this.#drop(session, run, reason, { by: "person" });
	}

	async #run(session: Session, id: string, signal: AbortSignal): Promise<void> {
		const current = (): SkillRun => session.view.get(skillRuns)[id] as SkillRun;
		const skill = this.#find(current().skill);
		const decision = decide(analyze(id, current(), skill.start, session.view.get(journal)), this.#ports.resume);
		if (decision.kind === "discard") return this.#drop(session, id, decision.reason);
		await runSkill(id, skill, runScope(session, id), {
			...this.#ports.using(session, signal),
			whenInDoubt: () => decision.whenInDoubt,
			model: this.#ports.model,
			run: current,
			journal: () => session.view.get(journal),
			deliver: (output) => this.#say(session, id, typeof output === "string" ? output : JSON.stringify(output)),
			onBoundary: async (kind, title, at) => {
				const seq = await session.checkpoint(kind, title, at);
				this.#ports.emit({ type: "checkpoint", seq, kind, title });
			},
		});
		this.#ports.emit({ type: "skill_end", scope: session.scope, run: id, outcome: "completed" });
	}

	async #drop(session: Session, run: string, reason: string, who: { by?: "person" } = {}): Promise<void> {
		// Of the line of history that this run was discarded on: no later one is told.
		const { log } = session;
		await this.#say(session, run, `The skill run ${run} was discarded: ${reason}.`);
		log.append(skillRunDiscarded({ run, reason, ...who }), runScope(session, run));
		await log.append(laneClosed({ lane: runLane(run) }), runScope(session, run)).durable;
		this.#ports.emit({ type: "skill_end", scope: session.scope, run, outcome: "discarded", reason });
	}

	#say(session: Session, run: string, text: string): Promise<void> {
		const { since } = session.view.get(skillRuns)[run] as SkillRun;
		return sayOnce(session, { skill: run }, since, text, this.#ports.deliver);
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

const runScope = ({ scope }: Session, run: string): Scope => ({ ...scope, run });
