/** A process that works on plans over a real log: it can be killed at any append, and another one goes on. */
import type { Model, ModelPart, ModelRequest, Tool, ToolCall } from "@reyn/journal";
import { defineProjection, entryAt, type SnapshotStore } from "@reyn/snapshot";
import { type Clock, type Draft, defineRecord, type Timers } from "@reyn/wal";
import { type MortalEngine, mortalEngine } from "@reyn/wal/testing";
import { z } from "zod";
import { type Life, MortalProcess, type Opened, openMortal, session } from "../../../tests/kit/mortal-process.ts";
import { defaultPlanLimits } from "../src/execute.ts";
import {
	type Decomposition,
	execute,
	type PlanLimits,
	type PlanPorts,
	type PlanProgress,
	type PlanResult,
	type PlanRun,
	parseDecomposition,
	planIn,
	planRecords,
	planRuns,
	planStarted,
} from "../src/index.ts";

export { session };

/** What the user was told, as the fold knows it: how a caller makes `deliver` do its work once. `since`: what the answer is of. */
const message = z.object({ plan: z.string(), text: z.string(), since: z.int().optional() });
export const told = defineRecord("told", message);
export const outbox = defineProjection<z.infer<typeof message>[]>({
	name: "outbox",
	version: 1,
	schema: z.array(message),
	init: () => [],
	handle: (on) => [on(told, (state, message) => [...state, message])],
});

export interface ProcessOptions extends Life {
	readonly disk?: MortalEngine;
	readonly model?: Model;
	readonly tools?: readonly Tool[];
	readonly limits?: Partial<PlanLimits>;
	/** Over all lives: so a pause that a death cut goes on. */
	readonly time?: PauselessTime;
	/** Over all lives, where the log is truncated. */
	readonly snapshots?: SnapshotStore;
}

/** Time that is over as soon as somebody waits for it. The limit of a model call is never reached. */
export class PauselessTime implements Clock, Timers {
	/** How long the pauses were to be. */
	readonly waits: number[] = [];
	#now = 1_000_000;

	now(): number {
		return this.#now;
	}

	pass(ms: number): void {
		this.#now += ms;
	}

	after(ms: number, run: () => void): () => void {
		if (ms === 600_000) return () => {};
		this.waits.push(ms);
		const timer = setImmediate(() => {
			this.pass(ms);
			run();
		});
		return () => clearImmediate(timer);
	}
}

export class Process extends MortalProcess {
	readonly progress: PlanProgress[] = [];
	readonly time: PauselessTime;
	readonly #options: ProcessOptions;

	private constructor(opened: Opened, options: ProcessOptions & { readonly time: PauselessTime }) {
		super(opened, options);
		this.#options = options;
		this.time = options.time;
	}

	static async start(options: ProcessOptions = {}): Promise<Process> {
		const { disk = mortalEngine(), time = new PauselessTime(), snapshots } = options;
		const kinds = { records: [told, ...planRecords], projections: [planRuns, outbox] };
		const work = { ...kinds, clock: time, ...(snapshots && { snapshots }) };
		return new Process(await openMortal(disk, work), { ...options, time });
	}

	/** Another process over the same log. */
	async next(options: ProcessOptions = {}): Promise<Process> {
		await this[Symbol.asyncDispose]();
		const { appends: _, tailIsLost: __, ...same } = this.#options;
		return Process.start({ time: this.time, ...same, ...options, disk: this.disk });
	}

	/** Is all that was appended on disk? */
	get isDurable(): boolean {
		return this.wal.durableTip === this.wal.tip;
	}

	write(...drafts: readonly Draft[]): void {
		for (const draft of drafts) this.append(draft, { ...session, run: "p1" });
	}

	run(plan = "p1"): PlanRun {
		return planIn(this.view.get(planRuns), plan) as PlanRun;
	}

	/** Starts the plan if the log does not know it, and executes it from wherever it stands. */
	async execute(decomposition: Decomposition, more: Partial<PlanPorts> = {}): Promise<PlanResult> {
		if (!this.run())
			this.write(
				planStarted({ plan: "p1", goal: decomposition.goal, steps: decomposition.steps.length, decomposition: "" }),
			);
		return execute("p1", decomposition, { ...session, run: "p1" }, { ...this.#ports(), ...more });
	}

	#ports(): PlanPorts {
		const { model = scripted({}), tools = [], limits } = this.#options;
		return {
			...this.portsOver(model),
			tools,
			limits: { ...defaultPlanLimits, ...limits },
			whenInDoubt: () => "retry",
			run: () => this.run(),
			progress: (change) => this.progress.push(change),
			deliver: async (text) => {
				if (this.view.get(outbox).length === 0) await this.append(told({ plan: "p1", text }), session).durable;
			},
			onBoundary: async (kind, title) => {
				const isDurable = this.wal.durableTip >= this.view.seq - 1;
				this.boundaries.push(`${kind} ${title}${isDurable ? "" : " (not durable)"}`);
			},
			clock: this.time,
			timers: this.time,
			random: () => 0,
		};
	}
}

/** What a scripted model answers: text, tools to call, or a failure. */
export type Answer = string | { readonly calls: readonly (readonly [tool: string, args: unknown])[] } | Error;

export interface Script extends Model {
	/** The calls that were made and paid, as `step/turn`, in the order in which they began. */
	readonly paid: string[];
	readonly requests: ModelRequest[];
	/** The most that were open at the same time. */
	readonly widest: number;
}

type Answers = Answer | readonly Answer[] | ((turn: number, request: ModelRequest) => Answer | Promise<Answer>);

/** A model that answers each step turn by turn. A step that it has no answer for says `<step> done`. */
export function scripted(steps: Readonly<Record<string, Answers>>): Script {
	const paid: string[] = [];
	const requests: ModelRequest[] = [];
	let open = 0;
	let widest = 0;
	return {
		id: "scripted",
		paid,
		requests,
		get widest() {
			return widest;
		},
		async *generate(request): AsyncIterable<ModelPart> {
			const step = stepIn(request);
			const turn = request.messages.filter(({ role }) => role === "assistant").length;
			requests.push(request);
			paid.push(`${step}/${turn}`);
			widest = Math.max(widest, ++open);
			try {
				await new Promise(setImmediate);
				const answer = await answerOf(entryAt(steps, step) ?? `${step} done`, turn, request);
				if (answer instanceof Error) throw answer;
				if (typeof answer === "string") yield { type: "text", text: answer };
				else
					for (const [i, [name, args]] of answer.calls.entries()) {
						const call: ToolCall = { id: `${step}-${turn}-${i}`, name, args };
						yield { type: "toolCall", call };
					}
				yield { type: "usage", usage: { inputTokens: 100, outputTokens: 10 } };
			} finally {
				open--;
			}
		},
	};
}

function answerOf(answers: Answers, turn: number, request: ModelRequest): Answer | Promise<Answer> {
	if (typeof answers === "function") return answers(turn, request);
	if (typeof answers === "string" || answers instanceof Error || "calls" in answers) return answers;
	return answers[Math.min(turn, answers.length - 1)] as Answer;
}

/** The text that a step's model was asked with. */
export function promptOf(request: ModelRequest): string {
	const [first] = request.messages;
	return first?.role === "user" ? first.text : "";
}

/** The step that a request is for. */
export function stepIn(request: ModelRequest): string {
	return /^Step (\w+):/m.exec(promptOf(request))?.[1] ?? "";
}

/** A plan from lines such as `"s3 needs s1 s2"` or `"s1 uses search"`. */
export function planOf(...lines: readonly string[]): Decomposition {
	const steps = lines.map((line) => {
		const [, id, uses, needs] = /^(\w+)(?: uses ([\w ]+?))?(?: needs ([\w ]+))?$/.exec(line) ?? [];
		const words = (list: string | undefined) => list?.split(" ") ?? [];
		return { id, description: `Do ${id}`, tools: words(uses), depends_on: words(needs) };
	});
	return parseDecomposition(
		{ goal: "Find out", steps },
		steps.flatMap(({ tools }) => tools),
	);
}

export const failing = (message: string, more: { retryable?: boolean } = {}): Error =>
	Object.assign(new Error(message), more);
