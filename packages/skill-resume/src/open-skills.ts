/** Skill runs over a directory, an engine or a log that is open: starts them, goes on with those in flight, and delivers each output. */
import { laneClosed, type StepPorts } from "@reyn/journal";
import { type OwnLogOptions, OwnWork, openOwnLog, type WorkingSession } from "@reyn/journal/internal";
import { type Appended, type BlobStore, type Draft, isReynError, type LogEngine, type Scope } from "@reyn/wal";
import type { z } from "zod";
import type { AnySkill, Skill } from "./define-skill.ts";
import { endsRun, SkillError } from "./errors.ts";
import { skillNamed } from "./found-skills.ts";
import { policyFor, readSkillResume, type SkillResume, type skillResumeSchema } from "./policy.ts";
import { skillRecords, skillRunDiscarded, skillRunResumed } from "./records.ts";
import { runLane } from "./resume-point.ts";
import { runSkill, type SkillPorts } from "./run-skill.ts";
import { portsIn, type SkillInPorts, type SkillSession } from "./run-skill-in.ts";
import { findRun, isLive, type SkillRun, type SkillRuns, skillRunIn, skillRuns, skillRunsOf } from "./skill-runs.ts";
import { startRun } from "./start-run.ts";

/** A log, and the session in it whose runs these are. */
export interface SkillLog {
	readonly wal: { readonly id: string };
	readonly session: SkillSession & WorkingSession;
	/** For results of more than 1 KiB. Absent: they lie in the log. */
	readonly results?: BlobStore | undefined;
}

export interface OpenSkillsOptions
	extends OwnLogOptions,
		Pick<StepPorts, "gate" | "observe" | "modelPolicy">,
		Pick<SkillInPorts, "ask" | "childPurity" | "model" | "tools"> {
	/** What can be started, also by phases as their children. */
	readonly skills: readonly AnySkill[];
	/** What becomes of steps in doubt, once their `reconcile` does not know. Default: they are made again. */
	readonly policy?: z.input<typeof skillResumeSchema>;
	/**
	 * Gets the end of each run. What it gets is durable before; that it was told is durable once this has resolved. A crash between
	 * tells it again, with the same `key`. If it throws, the run is told at the next start, or when it is resumed.
	 */
	deliver(end: SkillEnd): void | Promise<void>;
	/** Gets why work on a run has stopped before its end: a phase has thrown, a call waits for somebody, the log is broken. It is kept. */
	failed?(run: string, why: Error): void;
	/** Stops all work. It goes on at the next start. */
	readonly signal?: AbortSignal;
}

/** The end of a run. */
export interface SkillEnd {
	readonly run: string;
	readonly skill: string;
	/** The same whenever this end is told. */
	readonly key: string;
	/** `rewound`: the log was moved to before its start, and it is not there any more. */
	readonly outcome: "completed" | "discarded" | "rewound";
	/** What its last phase gave; undefined: it has none, as one that did not complete. */
	readonly output?: unknown;
	/** Of a run without an output, why. */
	readonly reason?: string;
}

export interface Skills extends AsyncDisposable {
	/**
	 * Starts a run in the background. It is durable when this resolves. A run of this id that is known is left as it is, so call this again
	 * after a crash.
	 *
	 * @param run its id: letters, digits, `.`, `_` and `-`
	 * @throws SkillError `SKILL_UNKNOWN`, `SKILL_INVALID_INPUT`, `SKILL_INVALID_RUN`: nothing is written then; WalError `WAL_FULL`
	 */
	start(run: string, skill: string, input: unknown): Promise<void>;
	/** All runs but children, oldest first. */
	list(): readonly (readonly [run: string, state: SkillRun])[];
	/** Goes on with a run that is paused, or whose work has stopped. @throws SkillError `SKILL_UNKNOWN_RUN` when it is over */
	resume(run: string): Promise<void>;
	/** Ends a run; `deliver` has been told when this resolves. @throws SkillError `SKILL_UNKNOWN_RUN` when it is over */
	discard(run: string, reason: string): Promise<void>;
	/**
	 * To be called after the log was moved: goes on with what is in flight on the line that it has come to, and tells the end of runs that
	 * are not there any more. Those at work do so by themselves.
	 */
	moved(): void;
	/** Resolves when no run is at work. */
	idle(): Promise<void>;
	/** Stops all work and frees the log, if it was opened here. */
	close(): Promise<void>;
}

/**
 * Opens the skill runs in a directory, which is made when it is missing, in an engine, or in a log that somebody else has opened. Those
 * in flight go on at once, and what was not told yet is.
 *
 * @throws SkillError `SKILL_POLICY`; WalError `WAL_LOCKED`, `WAL_CORRUPT`, `WAL_NEWER_FORMAT`, `WAL_IO`
 */
export async function openSkills(at: string | LogEngine | SkillLog, options: OpenSkillsOptions): Promise<Skills> {
	const resume = readSkillResume(options.policy ?? {});
	if (typeof at !== "string" && "session" in at) return new OpenedSkills(at, options, resume, async () => {});
	const log = await openOwnLog(at, { records: skillRecords, projection: skillRuns }, options);
	return new OpenedSkills(log, options, resume, () => log.close());
}

class OpenedSkills implements Skills {
	readonly #log: SkillLog;
	readonly #options: OpenSkillsOptions;
	readonly #resume: SkillResume;
	readonly #free: () => Promise<void>;
	readonly #work: OwnWork;
	readonly #starting = new Map<string, Promise<void>>();
	/** The runs whose end is still to be told, as they were begun or resumed. */
	readonly #untold = new Map<string, SkillRun>();

	constructor(log: SkillLog, options: OpenSkillsOptions, resume: SkillResume, free: () => Promise<void>) {
		this.#log = log;
		this.#options = options;
		this.#resume = resume;
		this.#free = free;
		this.#work = new OwnWork({
			kind: "skill",
			session: log.session,
			goOn: (run, signal) => this.#goOn(run, signal),
			failed: (run, why) => options.failed?.(run, why),
			signal: options.signal,
			closed: "these skill runs are closed; open them again with openSkills",
		});
		this.moved();
	}

	start(run: string, skill: string, input: unknown): Promise<void> {
		const under = this.#starting.get(run);
		if (under) return under;
		const starting = this.#start(run, skill, input).finally(() => this.#starting.delete(run));
		this.#starting.set(run, starting);
		return starting;
	}

	list(): readonly (readonly [run: string, state: SkillRun])[] {
		return skillRunsOf(this.#runs).filter(([, { parent }]) => parent === undefined);
	}

	async resume(run: string): Promise<void> {
		if (findRun(this.#runs, run).status === "paused") await this.#append(skillRunResumed({ run }), run).durable;
		this.#launch(run);
	}

	async discard(run: string, reason: string): Promise<void> {
		findRun(this.#runs, run);
		await this.#work.stop(run, reason);
		// It may have ended by itself meanwhile.
		findRun(this.#runs, run);
		await this.#giveUp(run, reason, "person");
		this.#launch(run);
		await this.#work.over(run);
	}

	moved(): void {
		const open = this.list().flatMap(([run, state]) => (isLive(state) || state.ended ? [run] : []));
		for (const run of new Set([...this.#untold.keys(), ...open])) this.#launch(run);
	}

	idle(): Promise<void> {
		return this.#work.idle();
	}

	async close(): Promise<void> {
		this.#work.close();
		await Promise.allSettled(this.#starting.values());
		await this.idle();
		await this.#free();
	}

	[Symbol.asyncDispose](): Promise<void> {
		return this.close();
	}

	async #start(run: string, name: string, input: unknown): Promise<void> {
		this.#work.signal.throwIfAborted();
		if (!isRunId.test(run)) {
			const found = JSON.stringify(run);
			const why = `the id of a run has up to 64 letters, digits, ".", "_" and "-", and begins with a letter or a digit; found ${found}`;
			throw new SkillError("SKILL_INVALID_RUN", why, { run });
		}
		const known = skillRunIn(this.#runs, run);
		if (known?.parent !== undefined)
			throw new SkillError("SKILL_INVALID_RUN", `${run} is a run that another one has started; take another id`, {
				run,
			});
		if (known) return;
		const { log } = this.#log.session;
		await startRun(run, this.#find(name), input, this.#scopeOf(run), log, this.#options.model.id);
		this.#launch(run);
	}

	/** Goes on with a run in the background, wherever it stands. */
	#launch(run: string): void {
		const state = skillRunIn(this.#runs, run);
		if (state) this.#untold.set(run, state);
		this.#work.launch(run);
	}

	async #goOn(id: string, signal: AbortSignal): Promise<void> {
		const state = skillRunIn(this.#runs, id);
		if (!state) {
			const before = this.#untold.get(id);
			const reason = "it is not there any more: the log was rewound to before its start";
			return before && this.#tell(id, before, before.started, { outcome: "rewound", reason });
		}
		if (state.ended) return this.#tellEnd(id);
		if (state.status !== "running") return;
		const skill = this.#find(state.skill);
		const current = (): SkillRun => skillRunIn(this.#runs, id) as SkillRun;
		try {
			await runSkill(id, skill, this.#scopeOf(id), {
				...this.#portsOf(id, skill, signal),
				deliver: (output) => this.#tell(id, current(), current().since, { outcome: "completed", output }),
			});
		} catch (error) {
			if (!endsRun(error)) throw error;
			await this.#giveUp(id, error.message);
			await this.#tellEnd(id);
		}
	}

	/** Records that a run has no output, and ends its children by that. It is told afterwards, also after a crash. */
	async #giveUp(run: string, reason: string, by?: "person"): Promise<void> {
		await this.#append(skillRunDiscarded({ run, reason, ...(by && { by }) }), run).durable;
	}

	async #tellEnd(id: string): Promise<void> {
		const run = skillRunIn(this.#runs, id);
		if (!run?.ended) return;
		const { seq, reason } = run.ended;
		await this.#tell(id, run, seq, { outcome: "discarded", reason });
		await this.#append(laneClosed({ lane: runLane(id) }), id).durable;
	}

	async #tell(
		run: string,
		{ skill }: SkillRun,
		at: number,
		end: Pick<SkillEnd, "outcome" | "output" | "reason">,
	): Promise<void> {
		await this.#options.deliver({ run, skill, key: `${this.#log.wal.id}:${at}`, ...end });
		this.#untold.delete(run);
	}

	#find(name: string): Skill {
		return skillNamed({ skills: this.#skills, problems: [] }, name);
	}

	/** Their inputs are checked by their own schemas, before they are begun and when they go on. */
	get #skills(): readonly Skill[] {
		return this.#options.skills as readonly Skill[];
	}

	get #runs(): SkillRuns {
		return this.#log.session.view.get(skillRuns);
	}

	#portsOf(id: string, { name }: Skill, signal: AbortSignal): SkillPorts {
		const { wal, session, results } = this.#log;
		const { model, tools = [], ask, childPurity, gate, observe, modelPolicy, clock, timers } = this.#options;
		const inDoubt = policyFor(name, this.#resume);
		const ports = portsIn(session, id, {
			...{ wal, signal, results, model, tools, ask, skills: this.#skills },
			...{ gate, modelPolicy, clock, timers, whenInDoubt: () => inDoubt },
			...(childPurity && { childPurity }),
			...(observe && { observe }),
		});
		return {
			...ports,
			onBoundary: async (kind, title, at) => {
				// A snapshot only saves reading: without it the run goes on.
				await ports.onBoundary(kind, title, at).catch((why) => {
					if (!isReynError(why, "SNAPSHOT_NOT_STORED")) throw why;
				});
			},
		};
	}

	#append(draft: Draft, run: string): Appended {
		return this.#log.session.log.append(draft, this.#scopeOf(run));
	}

	#scopeOf(run: string): Scope {
		return { ...this.#log.session.scope, run };
	}
}

/** It is a part of the path of a lane. */
const isRunId = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
