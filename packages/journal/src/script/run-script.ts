/** Runs a script from wherever it stands: a fresh run and a resumed one take the same path. */
import { canonicalJson, type Scope, systemClock, systemTimers } from "@reyn/wal";
import { z } from "zod";
import { failureMessage, JournalError, type Reason, reasonOf } from "../errors.ts";
import type { Lane } from "../lane.ts";
import type { Model, Tool } from "../ports.ts";
import { pause } from "../retry.ts";
import type { Step, Using } from "../step.ts";
import { agentCall, agentStep, findTool } from "./agent.ts";
import { Branches } from "./branches.ts";
import type { ScriptModule } from "./load.ts";
import { type Bridge, openRealm } from "./realm.ts";

export interface ScriptPorts extends Using {
	readonly model: Model;
	readonly tools: readonly Tool[];
	/** Puts a question to a person. Undefined when there is nobody to ask now: the run then ends as waiting. */
	ask(question: Question): Promise<string | undefined>;
	/** A line that the script has printed. */
	print(line: string): void;
	/** Agents that ask the model at the same time; the others wait for their turn. Default: 8. */
	readonly concurrency?: number;
	/** How long the script may compute until it waits for something, in milliseconds. Default: 5000. */
	readonly stretchMs?: number;
}

export interface Question {
	readonly question: string;
	readonly choices?: readonly string[] | undefined;
	readonly signal: AbortSignal;
}

/** Gives a call its place; what that gives performs it there, or only looks it up. */
export type PlaceCall = <T>(lane: Lane, step: ScriptStep<T>) => () => Promise<T>;

export interface ScriptStep<T> extends Step<T> {
	/** Tokens that it may cost. */
	readonly estimate?: number;
	/** What a preview goes on with where nothing is recorded. */
	readonly assumed: T;
}

/**
 * Runs the default export of a script. What is recorded is not called again.
 *
 * @param run names the run: its lanes, and its random numbers
 * @param args JSON
 * @throws what the script throws; JournalError `SCRIPT_INVALID`, `SCRIPT_ARGS`, `SCRIPT_NOT_JSON`, `SCRIPT_WAITING`,
 * `SCRIPT_STUCK`, `SCRIPT_TIMEOUT`, `DETERMINISM`; the signal's reason when it is cancelled
 */
export async function runScript(
	module: ScriptModule,
	run: string,
	args: unknown,
	scope: Scope,
	ports: ScriptPorts,
): Promise<unknown> {
	// When somebody has to be asked first, the run ends here, and its questions stay open.
	const waiting = new AbortController();
	const signal = AbortSignal.any([ports.signal, waiting.signal]);
	const host = new ScriptHost(
		run,
		scope,
		{ ...ports, signal },
		(lane, step) => lane.place(step),
		(reason) => waiting.abort(reason),
	);
	return host.run(module, args);
}

/**
 * Reads a script and its arguments, and makes no call: what is wrong with them is known before anything is written.
 *
 * @throws JournalError `SCRIPT_INVALID`, `SCRIPT_ARGS`, `SCRIPT_TIMEOUT`, `DETERMINISM`
 */
export async function checkScript(module: ScriptModule, args: unknown): Promise<void> {
	const refuse = (): never => {
		throw new JournalError("SCRIPT_INVALID", `${module.file}: calls belong in the default export`, {
			file: module.file,
		});
	};
	const realm = await openRealm(module, {
		call: refuse,
		fork: refuse,
		enter: refuse,
		join: refuse,
		random: refuse,
		uuid: refuse,
		log() {},
	});
	assertArgs(module.file, realm.exports.args, args);
}

/** The calls of one script, on the side that makes them. */
export class ScriptHost {
	readonly #branches: Branches;
	readonly #ports: ScriptPorts;
	readonly #placeStep: PlaceCall;
	readonly #suspend: (reason: Error) => void;
	#underWay = 0;
	/** Those that wait for an answer that does not come in this life of the run. */
	readonly #questions = new Set<{ readonly question: string }>();
	readonly #turns: Turns;
	#isLooking = false;
	/** Aborted when the script has ended: what only waits need not wait any more. */
	readonly #over = new AbortController();
	#whenQuiet = (): void => {};

	constructor(run: string, scope: Scope, ports: ScriptPorts, place: PlaceCall, suspend: (reason: Error) => void) {
		this.#branches = new Branches(run, scope, ports);
		this.#ports = ports;
		this.#placeStep = place;
		this.#suspend = suspend;
		this.#turns = new Turns(ports.concurrency ?? 8);
	}

	/** Nothing of the script is under way any more when this is settled. */
	async run(module: ScriptModule, args: unknown): Promise<unknown> {
		const { signal } = this.#ports;
		signal.throwIfAborted();
		const bridge: Bridge = {
			call: (op, json) => this.#call(op, json),
			fork: (kind, name, branches) => this.#branches.fork(kind, name, branches),
			enter: (fork, branch, body) => this.#branches.enter(fork, branch, body),
			join: (fork) => this.#branches.join(fork),
			random: () => Number.parseInt(this.#branches.current.draw().slice(0, 13), 16) / 2 ** 52,
			uuid: () => uuidOf(this.#branches.current.draw()),
			log: (text) => this.#ports.print(text),
		};
		const realm = await openRealm(module, bridge, this.#ports.stretchMs);
		assertArgs(module.file, realm.exports.args, args);
		const { promise: stopped, reject } = Promise.withResolvers<never>();
		const stop = (): void => reject(signal.reason);
		signal.addEventListener("abort", stop, { once: true });
		try {
			const running = realm.run(canonicalJson(args ?? null));
			this.#lookWhenQuiet();
			const result = await Promise.race([running, stopped]);
			return result === undefined ? undefined : JSON.parse(result);
		} finally {
			signal.removeEventListener("abort", stop);
			this.#over.abort(new Error("the script has ended"));
			// What is paid for is kept, also where the script did not wait for it.
			if (!this.#isQuiet) await new Promise<void>((resolve) => (this.#whenQuiet = resolve));
		}
	}

	#call(op: string, json: string): () => Promise<string | undefined> {
		const branch = this.#branches.current;
		branch.settle();
		const { lane } = branch;
		try {
			const perform = this.#place(op, JSON.parse(json), lane);
			return () => this.#perform(perform, lane);
		} catch (error) {
			return () => Promise.reject(asFirstSeen(error, lane));
		}
	}

	async #perform(call: () => Promise<unknown>, lane: Lane): Promise<string | undefined> {
		this.#underWay++;
		try {
			const answer = await call();
			return answer === undefined ? undefined : JSON.stringify(answer);
		} catch (error) {
			if (isFatal(error)) this.#suspend(error as Error);
			throw asFirstSeen(error, lane);
		} finally {
			this.#underWay--;
			if (this.#isQuiet) this.#whenQuiet();
			this.#lookWhenQuiet();
		}
	}

	/** Gives a call its place in its lane. What is done at once is of this run alone: it may be cut in the middle. */
	#place(op: string, call: unknown, lane: Lane): () => Promise<unknown> {
		const { model, tools, clock = systemClock, timers = systemTimers, signal } = this.#ports;
		switch (op) {
			case "agent": {
				const step = agentStep(agentCall.parse(call), model, tools);
				// Only what is called takes a turn: what is recalled costs nothing.
				const limited = { ...step, call: this.#turns.limit(step.call, signal) };
				const perform = this.#placeStep(lane, limited);
				return async () => (await perform()).value;
			}
			case "tool": {
				const { name, args } = toolCall.parse(call);
				const { purity, call: run } = findTool(tools, name);
				return this.#placeStep(lane, {
					kind: "tool",
					name,
					args,
					purity,
					call: (context) => run(args, context),
					empty: "",
					assumed: "",
				});
			}
			case "ask":
				return this.#ask(lane, askCall.parse(call));
			case "now":
				// Kept as a model's answer is: once, and not asked again.
				return this.#placeStep(lane, {
					kind: "now",
					name: "now",
					args: {},
					purity: "llm",
					call: async () => clock.now(),
					assumed: 0,
				});
			case "sleep": {
				const { ms } = sleepCall.parse(call);
				const release = lane.hold("sleep");
				const woken = this.#placeStep(lane, {
					kind: "sleep",
					name: "sleep",
					args: { ms },
					purity: "llm",
					call: async () => clock.now() + ms,
					assumed: 0,
				});
				return async () => {
					try {
						await pause((await woken()) - clock.now(), timers, AbortSignal.any([signal, this.#over.signal]));
					} finally {
						release();
					}
				};
			}
			default:
				throw new JournalError("SCRIPT_INVALID", `a script has no call "${op}"`, { op });
		}
	}

	#ask(lane: Lane, { question, choices }: z.infer<typeof askCall>): () => Promise<string> {
		return this.#placeStep<string>(lane, {
			kind: "ask",
			name: "ask",
			label: question,
			args: { question, ...(choices ? { choices } : {}) },
			purity: "side_effect",
			assumed: choices?.[0] ?? "",
			// Nobody who was asked and has not answered is harmed by being asked again.
			reconcile: async () => ({ kind: "not_done" }),
			call: async ({ signal }) => {
				for (;;) {
					const answer = await this.#answerTo({ question, choices, signal });
					if (answer === undefined) return this.#wait(question, signal);
					if (!choices || choices.includes(answer)) return answer;
					this.#ports.print(`"${answer}" is none of ${choices.join(", ")}`);
				}
			},
		});
	}

	/** Undefined also when the script has ended meanwhile. */
	async #answerTo({ signal, ...question }: Question): Promise<string | undefined> {
		const over = this.#over.signal;
		const ended = AbortSignal.any([signal, over]);
		const { promise: stopped, reject } = Promise.withResolvers<never>();
		const stop = (): void => reject(ended.reason);
		ended.addEventListener("abort", stop, { once: true });
		try {
			// A person who is asked need not answer for the run to end.
			return await Promise.race([this.#ports.ask({ ...question, signal: ended }), stopped]);
		} catch (error) {
			if (over.aborted && !signal.aborted) return undefined;
			throw error;
		} finally {
			ended.removeEventListener("abort", stop);
		}
	}

	/** Never gives an answer: the run ends when nothing but questions is under way. */
	#wait(question: string, signal: AbortSignal): Promise<never> {
		const open = { question };
		this.#questions.add(open);
		if (this.#isQuiet) this.#whenQuiet();
		this.#lookWhenQuiet();
		return new Promise((_, reject) => {
			const stop = (): void => {
				this.#questions.delete(open);
				reject(signal.reason);
			};
			if (signal.aborted) stop();
			signal.addEventListener("abort", stop, { once: true });
		});
	}

	/** Is nothing but questions under way? */
	get #isQuiet(): boolean {
		return this.#underWay <= this.#questions.size;
	}

	/** Once nothing but questions is under way, the script can come no further by itself. */
	#lookWhenQuiet(): void {
		if (this.#isLooking || !this.#isQuiet) return;
		this.#isLooking = true;
		// It may make its next call as soon as it has seen the last answer.
		(this.#ports.timers ?? systemTimers).after(0, () => {
			this.#isLooking = false;
			if (this.#over.signal.aborted || !this.#isQuiet) return;
			const questions = [...this.#questions].map(({ question }) => question);
			this.#suspend(
				questions.length === 0
					? new JournalError(
							"SCRIPT_STUCK",
							"the script waits for a promise that nothing will settle; await calls of ctx",
						)
					: new JournalError("SCRIPT_WAITING", `the script waits for an answer: ${questions[0]}`, { questions }),
			);
		});
	}
}

/** So many at a time, in the order in which they came. */
class Turns {
	#free: number;
	readonly #waiting: (() => void)[] = [];

	constructor(size: number) {
		this.#free = size;
	}

	limit<Arg, T>(work: (arg: Arg) => Promise<T>, signal: AbortSignal): (arg: Arg) => Promise<T> {
		return async (arg) => {
			if (this.#free > 0) this.#free--;
			else await new Promise<void>((resolve) => this.#waiting.push(resolve));
			try {
				signal.throwIfAborted();
				return await work(arg);
			} finally {
				const next = this.#waiting.shift();
				if (next) next();
				else this.#free++;
			}
		};
	}
}

const toolCall = z.strictObject({ name: z.string(), args: z.record(z.string(), z.unknown()).default({}) });
const askCall = z.strictObject({ question: z.string(), choices: z.array(z.string()).optional() });
const sleepCall = z.strictObject({ ms: z.number().nonnegative() });

/** @throws JournalError `SCRIPT_ARGS` naming the field */
function assertArgs(file: string, schema: unknown, args: unknown): void {
	if (schema === undefined) return;
	let shape: z.ZodType;
	try {
		shape = z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]);
	} catch (error) {
		throw new JournalError(
			"SCRIPT_INVALID",
			`${file}: its export "args" is no JSON Schema: ${(error as Error).message}`,
			{
				file,
			},
		);
	}
	const result = shape.safeParse(args ?? null);
	if (result.success) return;
	const issues = result.error.issues.map(({ path, message }) => ({ path: path.map(String).join("."), message }));
	const [first] = issues;
	throw new JournalError(
		"SCRIPT_ARGS",
		`${file}: the arguments do not fit: ${issues.map(({ path, message }) => `${path || "args"}: ${message}`).join("; ")}`,
		{ file, path: first?.path, issues },
	);
}

/** Nothing that a script may handle: the run ends here, and stays open. */
function isFatal(error: unknown): boolean {
	const code = String((error as { code?: unknown }).code);
	return code === "STEP_DISCARDED" || code === "STALE_LINEAGE" || (code.startsWith("WAL_") && code !== "WAL_NOT_JSON");
}

/** The same failure for the script whether it comes from the call or from the log. */
function asFirstSeen(error: unknown, lane: Lane): unknown {
	const { code, detail } = error as { code?: unknown; detail?: unknown };
	const { reason } = (code === "STEP_FAILED" ? detail : {}) as { reason?: Reason };
	if (lane.signal.aborted) return error;
	const seen = reason ?? reasonOf(error);
	return Object.assign(new Error(lane.redact(failureMessage(error)), { cause: error }), {
		...(seen.code === undefined ? {} : { code: seen.code }),
		...(reason || detail === undefined ? {} : { detail }),
	});
}

function uuidOf(hex: string): string {
	const variant = ((Number.parseInt(hex.charAt(16), 16) & 3) | 8).toString(16);
	const text = `${hex.slice(0, 12)}4${hex.slice(13, 16)}${variant}${hex.slice(17)}`;
	return [text.slice(0, 8), text.slice(8, 12), text.slice(12, 16), text.slice(16, 20), text.slice(20)].join("-");
}
