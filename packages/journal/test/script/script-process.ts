/** A process that runs scripts over a log, as a runtime would: it can be killed at any append, and another one goes on. */
import type { Appended, Appender, Clock, Draft, Scope, Seq, Timers, WalRecord } from "@reyn/wal";
import { endedBy } from "../../src/failure.ts";
import type { Identity, InDoubtPolicy, Model, ModelPart, ModelRequest, Recall, Tool } from "../../src/index.ts";
import { eventOfStep } from "../../src/script/events.ts";
import {
	type EndStatus,
	explain,
	loadScript,
	type Question,
	type Reuse,
	runScript,
	type ScriptEvent,
	ScriptMemo,
	type ScriptModule,
	type ScriptPorts,
	scriptCompleted,
	scriptFailed,
	scriptResumed,
	scriptStarted,
} from "../../src/script/index.ts";
import { asRead } from "../dying-log.ts";

export const run = "r1";
export const scope: Scope = { agent: "default", session: "main", run };

/** What outlives a process. */
export class Log {
	#records: readonly WalRecord[] = [];
	#next: Seq = 1;

	get records(): readonly WalRecord[] {
		return this.#records;
	}

	append({ kind, data }: Draft, at: Scope, ts: number): Appended {
		const seq = this.#next++;
		const record = { seq, ts, kind, scope: at, data: asRead(data), crc: "" };
		this.#records = [...this.#records, record];
		return { seq, record, durable: Promise.resolve() };
	}

	/** Loses its last records. */
	tear(count: number): void {
		this.#records = this.#records.slice(0, Math.max(1, this.#records.length - count));
		this.#next = (this.#records.at(-1)?.seq ?? 0) + 1;
	}

	/** Loses records out of its middle, as no log of ours does. */
	lose(isLost: (record: WalRecord, i: number) => boolean): void {
		this.#records = this.#records.filter((record, i) => !isLost(record, i));
	}
}

export interface ProcessOptions {
	readonly log?: Log;
	readonly model?: Model;
	readonly tools?: readonly Tool[];
	/** Who is there to be asked. Default: nobody. */
	readonly ask?: (question: Question) => Promise<string | undefined>;
	readonly time?: Clock & Timers;
	readonly policy?: InDoubtPolicy;
	readonly redact?: (text: string) => string;
	readonly gate?: ScriptPorts["gate"];
	readonly sliceMs?: number;
	readonly isolate?: boolean;
	/** Are records missing? Then nobody knows what the script is to do. */
	readonly isTorn?: boolean;
	/** Appends that it lives for, after the one that begins the run. */
	readonly appends?: number;
}

export type Ended =
	| { readonly status: "completed"; readonly result: unknown }
	| { readonly status: Exclude<EndStatus, "completed"> | "killed"; readonly error: Error & Failure };

interface Failure {
	readonly code?: string;
	readonly detail?: Readonly<Record<string, unknown>>;
}

type Preview = Awaited<ReturnType<typeof explain>>;

export interface How {
	/** Default: `{}`. */
	readonly args?: unknown;
	readonly reuse?: Reuse;
}

export class Process implements Appender {
	readonly log: Log;
	readonly events: ScriptEvent[] = [];
	readonly printed: string[] = [];
	/** What was looked up, in that order, and what was known of it. */
	readonly recalled: { readonly id: Identity; readonly known: Recall }[] = [];
	/** What models and tools were called with. */
	readonly made: string[] = [];
	readonly memo: ScriptMemo;
	readonly #options: ProcessOptions;
	readonly #controller = new AbortController();
	/** Tokens. */
	#recalled = 0;
	#left = Number.POSITIVE_INFINITY;

	constructor(options: ProcessOptions = {}) {
		this.#options = options;
		this.log = options.log ?? new Log();
		this.memo = new ScriptMemo(this.log.records);
	}

	/** Another process over the same log, that does not die of itself. This one is over, whatever it still waits for. */
	next(options: ProcessOptions = {}): Process {
		this.#die();
		const { appends, ...same } = this.#options;
		return new Process({ ...same, ...options, log: this.log });
	}

	get isDead(): boolean {
		return this.#left < 0;
	}

	get kinds(): string[] {
		return this.log.records.map(({ kind }) => kind);
	}

	get ports(): ScriptPorts {
		const { model = echo(), tools = [], ask = async () => undefined, policy = "retry", time } = this.#options;
		const { redact, sliceMs, isolate, gate } = this.#options;
		return {
			log: this,
			logId: "log",
			recall: (id) => {
				const known = this.memo.recall(id);
				this.recalled.push({ id, known });
				return known;
			},
			stepsIn: (lane) => this.memo.stepsIn(lane),
			expected: this.#options.isTorn ? undefined : this.memo.expected(),
			whenInDoubt: () => policy,
			signal: this.#controller.signal,
			observe: (event) => {
				const shown = eventOfStep(event);
				if (shown) this.events.push(shown);
				if (event.type === "ghost" && event.usage) this.#recalled += event.usage.inputTokens + event.usage.outputTokens;
			},
			model: {
				id: model.id,
				generate: (request, options) => {
					this.assertAlive();
					this.made.push(promptOf(request));
					return model.generate(request, options);
				},
			},
			tools: tools.map((tool) => ({
				...tool,
				call: (args, context) => {
					this.assertAlive();
					this.made.push(`${tool.name} ${JSON.stringify(args)}`);
					return tool.call(args, context);
				},
			})),
			ask,
			print: (line) => this.printed.push(line),
			...(redact ? { redact } : {}),
			...(sliceMs === undefined ? {} : { sliceMs }),
			isolate,
			gate,
			...(time ? { clock: time, timers: time } : {}),
		};
	}

	append(draft: Draft, at: Scope): Appended {
		this.assertAlive();
		if (this.#left-- === 0) throw this.#die();
		const appended = this.log.append(draft, at, this.#options.time?.now() ?? 0);
		this.memo.record(appended.record);
		return appended;
	}

	/** Somebody stops it, or it is killed while nothing is written. */
	stop(reason = "killed"): void {
		this.#controller.abort(new Error(reason));
	}

	/** @throws once the process is dead */
	assertAlive(): void {
		if (this.isDead) throw new Error("killed");
	}

	/** Writes that the run begins, or goes on. */
	begin(version: ScriptModule["version"], { args = {}, reuse = "prefix" }: How = {}): void {
		const isFirst = this.log.records.length === 0;
		const what = { run, ...version, args: JSON.stringify(args) };
		this.append(isFirst ? scriptStarted({ ...what, name: "s.ts" }) : scriptResumed({ ...what, reuse }), scope);
		this.events.push({ type: "begun", ...(isFirst ? { name: "s.ts" } : {}), isResumed: !isFirst });
		this.#left = this.#options.appends ?? Number.POSITIVE_INFINITY;
	}

	/** Starts a run, or goes on with it, until it ends in this process. */
	async work(source: string, how: How = {}): Promise<Ended> {
		const module = loadScript(source, "s.ts");
		this.begin(module.version, how);
		return this.end(() => runScript(module, run, how.args ?? {}, scope, this.ports));
	}

	/** Does the work of a run and writes how it ends. */
	async end(work: () => Promise<unknown>): Promise<Ended> {
		const ended = await this.#outcomeOf(work);
		try {
			if (ended.status === "completed") this.append(scriptCompleted({ run, recalled: this.#recalled }), scope);
			if (ended.status === "failed") {
				const { message, code } = ended.error;
				const reason = { message, ...(code === undefined ? {} : { code }) };
				this.append(scriptFailed({ run, reason, ...endedBy(ended.error), recalled: this.#recalled }), scope);
			}
		} catch (error) {
			return { status: "killed", error: error as Error };
		}
		const { status } = ended;
		if (status !== "killed")
			this.events.push({ type: "ended", status, ...("error" in ended ? { reason: ended.error.message } : {}) });
		return ended;
	}

	async #outcomeOf(work: () => Promise<unknown>): Promise<Ended> {
		try {
			return { status: "completed", result: await work() };
		} catch (thrown) {
			const error = thrown as Error & Failure;
			if (this.isDead) return { status: "killed", error };
			if (this.#controller.signal.aborted || ["STEP_DISCARDED", "SCRIPT_LOST"].includes(String(error.code)))
				return { status: "stopped", error };
			return { status: error.code === "SCRIPT_WAITING" ? "waiting" : "failed", error };
		}
	}

	/** What a resume would do. */
	explain(source: string, how: How = {}, earlier: readonly Log[] = []): Promise<Preview> {
		const { args = {}, reuse } = how;
		const module = loadScript(source, "s.ts");
		const memo = new ScriptMemo(this.log.records);
		memo.begin({ run, ...module.version, args: JSON.stringify(args), reuse });
		return this.#preview(module, args, memo, { earlier, isOver: false });
	}

	/** Where a script does something else than a run that is over. */
	async verify(source: string): Promise<Preview["divergences"]> {
		const memo = new ScriptMemo(this.log.records);
		return (
			await this.#preview(loadScript(source, "s.ts"), {}, memo, {
				earlier: [],
				isOver: this.kinds.at(-1) === "script_completed",
			})
		).divergences;
	}

	#preview(
		module: ScriptModule,
		args: unknown,
		memo: ScriptMemo,
		{ earlier, isOver }: { readonly earlier: readonly Log[]; readonly isOver: boolean },
	): Promise<Preview> {
		const before = earlier.map(({ records }) => new ScriptMemo(records));
		return explain(module, run, args, scope, { ...this.ports, memo, isOver, earlier: before });
	}

	#die(): Error {
		this.#left = -1;
		const killed = new Error("killed");
		this.#controller.abort(killed);
		return killed;
	}
}

/** The text of a script whose function has this body. */
export const script = (body: string): string => `export default async (ctx, args) => {\n${body}\n};\n`;

/** A model that gives an answer for a prompt, at 11 tokens each. */
export function echo(
	answer: (prompt: string) => string | Promise<string> = (prompt) => `${prompt}!`,
	tokens: (prompt: string) => number = () => 11,
): Model {
	return {
		id: "echo",
		async *generate(request): AsyncIterable<ModelPart> {
			const prompt = promptOf(request);
			yield { type: "text", text: await answer(prompt) };
			yield { type: "usage", usage: { inputTokens: tokens(prompt) - 1, outputTokens: 1 } };
		},
	};
}

/** A tool that writes, and gives what is to be heard of it. */
export function writer(
	answer: (args: Readonly<Record<string, unknown>>) => string | Promise<string> = () => "written",
): Tool {
	return {
		name: "write",
		description: "Writes.",
		parameters: { type: "object" },
		purity: "side_effect",
		call: async (args) => answer(args as Record<string, unknown>),
	};
}

const promptOf = ({ messages: [first] }: ModelRequest): string => (first?.role === "user" ? first.text : "");
