/** A process that runs skills over a real log, as a runtime would: it can be killed at any append, and another one goes on. */
import type { InDoubtPolicy, Model, ModelPart, ModelRequest } from "@reyn/journal";
import { defineProjection, type SnapshotStore } from "@reyn/snapshot";
import { defineRecord, isReynError, type Scope } from "@reyn/wal";
import { type MortalEngine, mortalEngine } from "@reyn/wal/testing";
import { z } from "zod";
import { type Life, MortalProcess, type Opened, openMortal, session } from "../../../tests/kit/mortal-process.ts";
import {
	policyFor,
	runSkill,
	type Skill,
	type SkillPorts,
	type SkillProblem,
	type SkillRun,
	skillChildren,
	skillRecords,
	skillResumeSchema,
	skillRunDiscarded,
	skillRunIn,
	skillRuns,
	startRun,
} from "../src/index.ts";

export { session };

const scope: Scope = { ...session, run: "r1" };

/** What the user was told, as the fold knows it: how a caller makes `deliver` do its work once. */
const told = defineRecord("told", z.object({ output: z.unknown().optional() }));
export const outbox = defineProjection<unknown[]>({
	name: "outbox",
	version: 1,
	schema: z.array(z.unknown()),
	init: () => [],
	handle: (on) => [on(told, (state, { output }) => [...state, output])],
});

export type Policy = "retry" | "skip" | "discard_skill" | "prompt";

export interface ProcessOptions extends Life {
	readonly disk?: MortalEngine;
	readonly model?: Model;
	readonly policy?: Policy;
	/** What phases may run as their children. */
	readonly skills?: readonly Skill[];
	/** Why others do not load. */
	readonly problems?: readonly SkillProblem[];
	readonly ask?: SkillPorts["ask"];
	readonly gate?: SkillPorts["gate"];
	/** Over all lives, where the log is truncated. */
	readonly snapshots?: SnapshotStore;
}

export class Process extends MortalProcess {
	readonly #options: ProcessOptions;
	readonly #own = new Set<string>();

	private constructor(opened: Opened, options: ProcessOptions) {
		super(opened, options);
		this.#options = options;
	}

	static async start(options: ProcessOptions = {}): Promise<Process> {
		const { disk = mortalEngine(), snapshots } = options;
		const kept = snapshots && { snapshots };
		const work = { records: [told, ...skillRecords], projections: [skillRuns, outbox], ...kept };
		return new Process(await openMortal(disk, work), options);
	}

	/** Another process over the same log. */
	async next(options: ProcessOptions = {}): Promise<Process> {
		await this[Symbol.asyncDispose]();
		const { appends: _, tailIsLost: __, ...same } = this.#options;
		return Process.start({ ...same, ...options, disk: this.disk });
	}

	run(): SkillRun {
		return skillRunIn(this.view.get(skillRuns), "r1") as SkillRun;
	}

	start<Input>(skill: Skill<Input>, input?: unknown): Promise<void> {
		return startRun("r1", skill, input, scope, this, "scripted");
	}

	/**
	 * Starts the run if the log does not know it, and goes on with it as the policy for steps in doubt allows. A run that
	 * is over already is left alone.
	 */
	async work<Input>(skill: Skill<Input>, input: unknown = {}, more: Partial<SkillPorts> = {}): Promise<unknown> {
		if (!this.run()) await this.start(skill, input);
		if (this.run().status !== "running") return this.run().last?.output;
		const whenInDoubt = policyFor(skill.name, skillResumeSchema.parse({ default: this.#options.policy ?? "retry" }));
		try {
			return await runSkill("r1", skill, scope, { ...this.#ports(whenInDoubt), ...more });
		} catch (error) {
			if (!isReynError(error, "STEP_DISCARDED")) throw error;
			await this.append(skillRunDiscarded({ run: "r1", reason: error.message }), scope).durable;
			return "discarded";
		}
	}

	#ports(whenInDoubt: InDoubtPolicy): SkillPorts {
		const { model = echo(), skills = [], problems = [], ask, gate } = this.#options;
		const runs = () => this.view.get(skillRuns);
		const children = skillChildren({
			...{
				found: { skills, problems },
				log: this,
				model: model.id,
				own: this.#own,
				childPurity: {},
				runs,
				scope: () => scope,
			},
			keep: async (_name, write) => write(),
			run: (id, at, signal) => {
				const run = (): SkillRun => skillRunIn(runs(), id) as SkillRun;
				const skill = skills.find(({ name }) => name === run().skill) as Skill;
				return runSkill(id, skill, at, { ...this.#ports(whenInDoubt), deliver: async () => {}, run, signal });
			},
		});
		return {
			...this.portsOver(model),
			whenInDoubt: () => whenInDoubt,
			children,
			ask,
			...(gate && { gate }),
			run: () => this.run(),
			deliver: async (output) => {
				if (this.view.get(outbox).length === 0) await this.append(told({ output }), session).durable;
			},
			onBoundary: async (kind, title) => {
				const isDurable = this.wal.durableTip === this.wal.tip;
				this.boundaries.push(`${kind} ${title}${isDurable ? "" : " (not durable)"}`);
			},
		};
	}
}

export interface Echo extends Model {
	/** What was asked and paid. */
	readonly paid: string[];
}

/** A model that answers `<question>!`. */
export function echo(): Echo {
	const paid: string[] = [];
	return {
		id: "echo",
		paid,
		async *generate({ messages }): AsyncIterable<ModelPart> {
			const [first] = messages;
			const text = first?.role === "user" ? first.text : "";
			paid.push(text);
			await new Promise(setImmediate);
			yield { type: "text", text: `${text}!` };
			yield { type: "usage", usage: { inputTokens: 10, outputTokens: 1 } };
		},
	};
}

export function question(text: string): ModelRequest {
	return { system: "Answer.", messages: [{ role: "user", text }], tools: [] };
}
