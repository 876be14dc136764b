/** A process that runs skills over a real log, as a runtime would: it can be killed at any append, and another one goes on. */
import {
	type InDoubtPolicy,
	journal,
	journalRecords,
	type Model,
	type ModelPart,
	type ModelRequest,
	recall,
	type StepEvent,
} from "@reyn/journal";
import { firstBelow, recordedIn } from "@reyn/journal/internal";
import { defineProjection, memorySnapshots, restore, straightPath, type View } from "@reyn/snapshot";
import {
	type Appended,
	type Appender,
	type Draft,
	defineRecord,
	openWal,
	type Scope,
	type Wal,
	type WalRecord,
} from "@reyn/wal";
import { type MortalEngine, mortalEngine } from "@reyn/wal/testing";
import { z } from "zod";
import {
	analyze,
	decide,
	runSkill,
	type Skill,
	type SkillPorts,
	type SkillRun,
	skillRecords,
	skillResumeSchema,
	skillRunDiscarded,
	skillRuns,
	startRun,
} from "../src/index.ts";

export const session: Scope = { agent: "default", session: "main" };
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

export interface ProcessOptions {
	readonly disk?: MortalEngine;
	readonly model?: Model;
	readonly policy?: Policy;
	/** Appends that it lives for. */
	readonly appends?: number;
	/** Is what was appended but not durable lost when it dies? Default: it just made it to the disk. */
	readonly tailIsLost?: boolean;
}

export class Process implements Appender, AsyncDisposable {
	readonly disk: MortalEngine;
	readonly events: StepEvent[] = [];
	readonly boundaries: string[] = [];
	view: View;
	readonly #wal: Wal;
	readonly #options: ProcessOptions;
	readonly #controller = new AbortController();
	#left: number;

	private constructor(wal: Wal, disk: MortalEngine, view: View, options: ProcessOptions) {
		this.#wal = wal;
		this.disk = disk;
		this.view = view;
		this.#options = options;
		this.#left = options.appends ?? Number.POSITIVE_INFINITY;
	}

	static async start(options: ProcessOptions = {}): Promise<Process> {
		const { disk = mortalEngine() } = options;
		disk.revive();
		const wal = await openWal(disk, { records: [told, ...journalRecords, ...skillRecords] });
		const sources = { wal, snapshots: memorySnapshots(), projections: [journal, skillRuns, outbox] };
		return new Process(wal, disk, await restore(sources, straightPath(wal.tip, session)), options);
	}

	/** Another process over the same log. */
	async next(options: ProcessOptions = {}): Promise<Process> {
		await this[Symbol.asyncDispose]();
		const { appends: _, tailIsLost: __, ...same } = this.#options;
		return Process.start({ ...same, ...options, disk: this.disk });
	}

	async [Symbol.asyncDispose](): Promise<void> {
		await this.#wal.close().catch(() => undefined);
	}

	get isDead(): boolean {
		return this.#left < 0;
	}

	append(draft: Draft, at: Scope): Appended {
		if (--this.#left < 0) throw this.#die();
		const appended = this.#wal.append(draft, at);
		this.view = this.view.apply(appended.record);
		return appended;
	}

	cancel(reason: string): void {
		this.#controller.abort(new Error(reason));
	}

	run(): SkillRun {
		return this.view.get(skillRuns).r1 as SkillRun;
	}

	async records(): Promise<readonly WalRecord[]> {
		const records: WalRecord[] = [];
		for await (const record of this.#wal.read()) if (!record.kind.startsWith("wal_")) records.push(record);
		return records;
	}

	async kinds(): Promise<readonly string[]> {
		return (await this.records()).map(({ kind }) => kind);
	}

	start<Input>(skill: Skill<Input>, input?: unknown): Promise<void> {
		return startRun("r1", skill, input, scope, this);
	}

	/**
	 * Starts the run if the log does not know it, and goes on with it as the policy for steps in doubt allows. A run that
	 * is over already is left alone.
	 */
	async work<Input>(skill: Skill<Input>, input: unknown = {}, more: Partial<SkillPorts> = {}): Promise<unknown> {
		if (!this.run()) await this.start(skill, input);
		if (this.run().status !== "running") return this.run().last?.output;
		const plan = analyze("r1", this.run(), skill.start, this.view.get(journal));
		const decision = decide(plan, skillResumeSchema.parse({ default: this.#options.policy ?? "retry" }));
		if (decision.kind === "discard") {
			await this.append(skillRunDiscarded({ run: "r1", reason: decision.reason }), scope).durable;
			return "discarded";
		}
		return runSkill("r1", skill, scope, { ...this.#ports(decision.whenInDoubt), ...more });
	}

	#ports(whenInDoubt: InDoubtPolicy): SkillPorts {
		const { model = echo() } = this.#options;
		return {
			log: this,
			logId: this.#wal.id,
			model: {
				id: model.id,
				generate: (request, options) => {
					// A dead process pays for nothing.
					if (this.isDead) throw new Error("killed");
					return model.generate(request, options);
				},
			},
			signal: this.#controller.signal,
			journal: () => this.view.get(journal),
			recall: (step, program) => recall(this.view.get(journal), step, program),
			recordedIn: (lane) => recordedIn(this.view.get(journal), lane),
			firstBelow: (lane) => firstBelow(this.view.get(journal), lane),
			whenInDoubt: () => whenInDoubt,
			observe: (event) => this.events.push(event),
			run: () => this.run(),
			deliver: async (output) => {
				if (this.view.get(outbox).length === 0) await this.append(told({ output }), session).durable;
			},
			onBoundary: async (kind, title) => {
				const isDurable = this.#wal.durableTip === this.#wal.tip;
				this.boundaries.push(`${kind} ${title}${isDurable ? "" : " (not durable)"}`);
			},
		};
	}

	#die(): Error {
		const killed = new Error("killed");
		if (this.#options.tailIsLost) this.disk.die();
		this.#controller.abort(killed);
		return killed;
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
