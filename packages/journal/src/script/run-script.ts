/** Runs a script from wherever it stands: a fresh run and a resumed one take the same path. */
import { canonicalJson, isReynError, type Scope } from "@reyn/wal";
import { z } from "zod";
import { toolStepThatThrows } from "../call-tool.ts";
import { nowStep, sleepStep } from "../clock-steps.ts";
import type { Recall } from "../entry.ts";
import { type Divergence, JournalError, ReplayDivergenceError } from "../errors.ts";
import { endsBy, failureOf, isBeneath, ProgramEnded } from "../failure.ts";
import type { Lane } from "../lane.ts";
import { Order } from "../order.ts";
import type { Asked } from "../perform.ts";
import type { Model, Tool } from "../ports.ts";
import type { Step, Using } from "../step.ts";
import { agentCall, agentStep, findTool } from "./agent.ts";
import { askCall, askStep, type Question } from "./ask.ts";
import { Branches } from "./branches.ts";
import { openIsolated } from "./isolated.ts";
import type { ScriptModule } from "./load.ts";
import type { Expected } from "./memo.ts";
import { type Bridge, openRealm, type Realm, type Reply } from "./realm.ts";
import { scriptLane } from "./records.ts";
import { fit, shapeOf } from "./schemas.ts";
import { assertWhole } from "./whole-texts.ts";

export interface ScriptPorts extends Using {
	readonly model: Model;
	readonly tools: readonly Tool[];
	/** Puts a question to a person. Undefined: nobody can be asked now, and the run ends as waiting. */
	ask(question: Question): Promise<string | undefined>;
	/** A line that the script has printed. */
	print(line: string): void;
	/** How many agents may ask the model at the same time; others wait for their turn. Default: 8. */
	readonly concurrency?: number;
	/** Run the script in a process of its own, which has nothing but its calls. Default: false. */
	readonly isolate?: boolean | undefined;
	/** How long the script may compute until it waits for something, in milliseconds. Default: 5000. */
	readonly sliceMs?: number;
	/**
	 * Called when a script of this process begins to compute, with the milliseconds that it may take; the function that it returns is
	 * called when the script is done. Some functions of JavaScript cannot be stopped by V8, and block the whole process: a watching
	 * thread can notice that, and end the process. Default: nothing is called.
	 */
	readonly watchTimeSlice?: ((limitMs: number) => () => void) | undefined;
	/** The calls that the script has to make, from its memo: it is stopped if it makes others. Absent: it may make any. */
	readonly expected?: readonly Expected[] | undefined;
}

/** Gives a call its place. @returns a function that asks for it, to perform it or, in a preview, to look it up */
export type PlaceCall = <T>(lane: Lane, step: ScriptStep<T>, order: Order) => () => Asked<T>;

export interface ScriptStep<T> extends Step<T> {
	/** The tokens that the call is expected to cost. */
	readonly estimate?: number;
	/** The answer that a preview assumes if nothing is recorded. */
	readonly assumed: T;
}

/**
 * Runs the default export of a script. Recorded calls are not made again.
 *
 * @param run the id of the run, which its lanes and its random numbers are made of
 * @param args JSON
 * @throws what the script throws; JournalError `SCRIPT_INVALID`, `SCRIPT_ARGS`, `SCRIPT_NOT_JSON`, `SCRIPT_WAITING`,
 * `SCRIPT_STUCK`, `SCRIPT_TIMEOUT`, `DETERMINISM`, `REPLAY_DIVERGENCE` (before anything is called); where it is isolated
 * `SCRIPT_ISOLATION`, `SCRIPT_LOST`; the signal's reason when it is cancelled
 */
export async function runScript(
	module: ScriptModule,
	run: string,
	args: unknown,
	scope: Scope,
	ports: ScriptPorts,
): Promise<unknown> {
	// Aborted when only a person could help the run on: it ends then, and its questions stay open.
	const waiting = new AbortController();
	const signal = AbortSignal.any([ports.signal, waiting.signal]);
	const host = new ScriptHost(
		run,
		scope,
		{ ...ports, signal },
		{
			place: (lane, step) => lane.place(step),
			suspend: (reason) => waiting.abort(reason),
			diverged: (divergence) => waiting.abort(new ReplayDivergenceError(divergence, UNCHANGED)),
		},
	);
	return host.run(module, args);
}

const UNCHANGED =
	"Its text and its arguments are those that it had, so something else has changed: a model or a tool, say. Nothing was called; bring that back, or edit the script to go on with what is found in it: a comment is no edit, a statement such as `void 0;` is";

/**
 * Parses a script and checks its arguments, without making a call, so that mistakes are known before anything is written.
 *
 * @throws JournalError `SCRIPT_INVALID`, `SCRIPT_ARGS`, `SCRIPT_TIMEOUT`, `DETERMINISM`; where it is isolated
 * `SCRIPT_ISOLATION`, `SCRIPT_LOST`
 */
export async function checkScript(module: ScriptModule, args: unknown, how: How = {}): Promise<void> {
	const refuse = (): never => {
		throw new JournalError("SCRIPT_INVALID", `${module.file}: calls belong in the default export`, {
			file: module.file,
		});
	};
	const bridge: Bridge = {
		call: refuse,
		fork: refuse,
		enter: refuse,
		join: refuse,
		draws: refuse,
		rested() {},
		log() {},
		error: journalError,
		watchTimeSlice: how.watchTimeSlice,
	};
	const realm = await open(module, bridge, how);
	try {
		assertArgs(module.file, realm.exports.args, args);
	} finally {
		realm.close();
	}
}

/** How a script runs. */
type How = Pick<ScriptPorts, "isolate" | "sliceMs" | "watchTimeSlice"> & { readonly signal?: AbortSignal };

const open = (module: ScriptModule, bridge: Bridge, how: How): Promise<Realm> =>
	how.isolate ? openIsolated(module, bridge, how) : openRealm(module, bridge, how.sliceMs);

const journalError: Bridge["error"] = (...given) => new JournalError(...given);

/** How the calls of a script are made: for real, or looked up for a preview. */
export interface HostOf {
	readonly place: PlaceCall;
	/** Ends the run for now: the script cannot go on in this attempt. */
	suspend(reason: Error): void;
	/** Called when the script asks for something else than is recorded. @param goOn lets it go on */
	diverged(divergence: Divergence, goOn: () => void): void;
}

/** The calls of one script, on the side that makes them. */
export class ScriptHost {
	readonly #branches: Branches;
	readonly #ports: ScriptPorts;
	readonly #of: HostOf;
	readonly #order: Order;
	/** Calls that are being made, or looked up. */
	#underWay = 0;
	/** Calls whose answer cannot come in this attempt: questions to a person, and calls that wait for a permit. */
	readonly #questions = new Set<{ readonly question: string }>();
	readonly #turns: Turns;
	/** Aborted when the script has ended, so that calls which only wait end too. */
	readonly #over = new AbortController();
	#whenDone = (): void => {};
	/** Are recorded answers being given, one after the other? */
	#isHurrying = false;
	#realm: Realm | undefined;

	constructor(run: string, scope: Scope, ports: ScriptPorts, of: HostOf) {
		this.#ports = ports;
		this.#of = of;
		this.#order = new Order({
			program: scriptLane(run),
			recorded: ports.expected,
			onDivergence: (divergence) => of.diverged(divergence, () => this.#order.goOn()),
			onIdle: () => this.#advanceWhenIdle(),
		});
		// The recorded steps come from the memo, which has those of this revision; a journal has those of all revisions.
		const using = { ...ports, order: this.#order, recordedIn: undefined, firstBelow: undefined };
		this.#branches = new Branches(run, scope, using);
		this.#turns = new Turns(ports.concurrency ?? 8);
	}

	/** Runs the script. No call of it is under way any more when this settles. */
	async run(module: ScriptModule, args: unknown): Promise<unknown> {
		const { signal } = this.#ports;
		signal.throwIfAborted();
		const bridge: Bridge = {
			call: (op, json) => this.#call(op, json),
			fork: (kind, name, branches) => this.#branches.fork(kind, name, branches),
			enter: (fork, branch, body) => this.#branches.enter(fork, branch, body),
			join: (fork) => this.#branches.join(fork),
			draws: () => this.#branches.current.draws,
			// Its top level makes no calls.
			rested: () => this.#realm && this.#order.rest(),
			log: (text) => this.#ports.print(text),
			error: journalError,
			watchTimeSlice: this.#ports.watchTimeSlice,
		};
		const realm = await open(module, bridge, this.#ports);
		this.#realm = realm;
		const { promise: stopped, reject } = Promise.withResolvers<never>();
		const stop = (): void => reject(signal.reason);
		signal.addEventListener("abort", stop, { once: true });
		try {
			signal.throwIfAborted();
			assertArgs(module.file, realm.exports.args, args);
			const result = await Promise.race([realm.run(canonicalJson(args ?? null)), stopped]);
			return result === undefined ? undefined : JSON.parse(result);
		} catch (error) {
			endsBy(error, this.#order.lastFailures);
			throw error;
		} finally {
			signal.removeEventListener("abort", stop);
			realm.close();
			const ended = new ProgramEnded("the script has ended");
			this.#over.abort(ended);
			this.#order.end(ended);
			// Calls under way are waited for, even if the script did not: their answers are paid for, and have to be recorded.
			if (this.#underWay > 0) await new Promise<void>((resolve) => (this.#whenDone = resolve));
		}
	}

	#call(op: string, json: string): (reply: Reply) => void {
		const branch = this.#branches.current;
		branch.joinEnded();
		const { lane } = branch;
		try {
			const call = this.#place(op, JSON.parse(json), lane);
			return (reply) => this.#perform(call, lane, reply);
		} catch (error) {
			return (reply) => this.#refuse(op, error, lane, reply);
		}
	}

	/** Fails a call that cannot be asked for, such as one with a wrong argument. It is told before all others, since it is not recorded. */
	#refuse(op: string, error: unknown, lane: Lane, reply: Reply): void {
		const asked = { lane: lane.path, fp: "", occ: 0, kind: op, name: op, isUnheardOf: false, describe: () => op };
		const ticket = this.#order.ask(asked, undefined, 0);
		ticket.atHand(() => {
			ticket.done();
			reply.fail(asFirstSeen(error, lane));
		});
	}

	#perform({ ask, shape }: Placed, lane: Lane, reply: Reply): void {
		let asked: Asked<unknown>;
		try {
			asked = ask();
		} catch (error) {
			// The script must not handle a failure of the log or a stop: the run ends here, and stays open.
			if (isBeneath(error)) this.#of.suspend(error as Error);
			reply.fail(error);
			return;
		}
		const { known } = asked;
		const hand = (value: unknown): void => {
			asked.done();
			reply.answer(value === undefined ? undefined : JSON.stringify(value));
		};
		if (known.kind === "ghost" && isAtHand(known)) {
			const { usage } = known;
			const tell = (): void => {
				this.#realm?.say(() => asked.observe({ type: "ghost", ...(usage ? { usage } : {}) }));
				hand(shape(known.kept.result));
			};
			asked.atHand(() => {
				if (this.#isHurrying) return tell();
				this.#isHurrying = true;
				this.#realm?.burst((isShort) => {
					tell();
					this.#order.hurry(isShort);
				});
				this.#isHurrying = false;
			});
			return;
		}
		this.#underWay++;
		const done = (): void => {
			if (--this.#underWay === 0) this.#whenDone();
		};
		asked.told().then(
			(value) => {
				hand(shape(value));
				done();
			},
			(error) => {
				// The script is not told: the run ends once only such calls are under way.
				if (isReynError(error, "CALL_WAITING")) {
					this.#questions.add({ question: error.message });
					this.#order.advance();
					return done();
				}
				if (isBeneath(error)) this.#of.suspend(error as Error);
				asked.done();
				reply.fail(asFirstSeen(error, lane));
				done();
			},
		);
	}

	/** Gives a call its place in its lane. This runs within a time slice, which may be cut anywhere: it may touch only this run's state. */
	#place(op: string, call: unknown, lane: Lane): Placed {
		const { model, tools, signal } = this.#ports;
		const { signal: over } = this.#over;
		switch (op) {
			case "agent": {
				const step = agentStep(agentCall.parse(call), model, tools, (text) => lane.redact(text));
				// Only calls that are made take a turn; recalled ones cost nothing.
				const limited = { ...step, call: this.#turns.limit(step.call, AbortSignal.any([signal, over])) };
				return this.#placeStep(lane, limited, ({ value }) => value);
			}
			case "tool": {
				const { name, args } = toolCall.parse(call);
				return this.#placeStep(lane, { ...toolStepThatThrows(findTool(tools, name), args), assumed: "" });
			}
			case "ask":
				return this.#ask(lane, askCall.parse(call));
			case "now":
				return this.#placeStep(lane, { ...nowStep(this.#ports), assumed: 0 });
			case "sleep": {
				const { ms } = sleepCall.parse(call);
				return this.#placeStep(lane, { ...sleepStep(ms, this.#ports, over), assumed: 0 }, () => undefined);
			}
			default:
				throw new JournalError("SCRIPT_INVALID", `a script has no call "${op}"`, { op });
		}
	}

	#placeStep<T>(lane: Lane, step: ScriptStep<T>, shape: (value: T) => unknown = (value) => value): Placed {
		return { ask: this.#of.place(lane, step, this.#order), shape: shape as (value: unknown) => unknown };
	}

	#ask(lane: Lane, call: z.infer<typeof askCall>): Placed {
		assertWhole("ask", "choices", call.choices);
		return this.#placeStep<string>(
			lane,
			askStep(call, async (asked) => {
				for (;;) {
					const answer = await this.#answerTo(asked);
					if (answer === undefined) return this.#wait(asked.question, asked.signal);
					if (!asked.choices || asked.choices.includes(answer)) return answer;
					this.#ports.print(`"${answer}" is none of ${asked.choices.join(", ")}`);
				}
			}),
		);
	}

	/** Asks a person. @throws ProgramEnded when the script has ended meanwhile: the question is withdrawn then */
	async #answerTo({ signal, ...question }: Question): Promise<string | undefined> {
		const ended = AbortSignal.any([signal, this.#over.signal]);
		ended.throwIfAborted();
		const { promise: stopped, reject } = Promise.withResolvers<never>();
		const stop = (): void => reject(ended.reason);
		ended.addEventListener("abort", stop, { once: true });
		try {
			// The run may end before the person answers.
			return await Promise.race([this.#ports.ask({ ...question, signal: ended }), stopped]);
		} finally {
			ended.removeEventListener("abort", stop);
		}
	}

	/** Waits for ever: the run ends once only questions are under way. */
	#wait(question: string, signal: AbortSignal): Promise<never> {
		const open = { question };
		const ended = AbortSignal.any([signal, this.#over.signal]);
		this.#questions.add(open);
		this.#order.advance();
		return new Promise((_, reject) => {
			const stop = (): void => {
				this.#questions.delete(open);
				reject(ended.reason);
			};
			if (ended.aborted) return stop();
			ended.addEventListener("abort", stop, { once: true });
		});
	}

	/** Ends the run once only questions are open: the script cannot go on by itself. */
	#advanceWhenIdle(): void {
		if (this.#over.signal.aborted || this.#order.open > this.#questions.size) return;
		const questions = [...this.#questions].map(({ question }) => question);
		this.#of.suspend(
			questions.length === 0
				? new JournalError(
						"SCRIPT_STUCK",
						"the script waits for a promise that nothing will settle; await calls of ctx",
					)
				: new JournalError("SCRIPT_WAITING", `the script waits for an answer: ${questions[0]}`, { questions }),
		);
	}
}

/** A call that has its place. */
interface Placed {
	ask(): Asked<unknown>;
	/** The part of a result that the script gets. */
	shape(value: unknown): unknown;
}

/** Is the result plain JSON in its record, so that it can be given without a wait? */
const isAtHand = ({ from, kept }: Recall & { kind: "ghost" }): boolean =>
	from === undefined && !kept.spilled && !kept.binary;

/** Limits how many calls run at a time; the others wait in order. */
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
const sleepCall = z.strictObject({ ms: z.number().nonnegative() });

/** @throws JournalError `SCRIPT_ARGS` naming the field */
function assertArgs(file: string, schema: unknown, args: unknown): void {
	if (schema === undefined) return;
	let result: z.ZodSafeParseResult<unknown>;
	try {
		result = fit(shapeOf(schema), args ?? null);
	} catch (error) {
		const why = `its export "args" is no JSON Schema that arguments can be held against: ${(error as Error).message}`;
		throw new JournalError("SCRIPT_INVALID", `${file}: ${why}`, { file });
	}
	if (result.success) return;
	const issues = result.error.issues.map(({ path, message }) => ({ path: path.map(String).join("."), message }));
	const [first] = issues;
	throw new JournalError(
		"SCRIPT_ARGS",
		`${file}: the arguments do not fit: ${issues.map(({ path, message }) => `${path || "args"}: ${message}`).join("; ")}`,
		{ file, path: first?.path, issues },
	);
}

/** The failure as the script sees it: the same from the call and from the log. */
function asFirstSeen(error: unknown, lane: Lane): unknown {
	if (lane.signal.aborted) return error;
	const { message, code, name, detail } = failureOf(error, (text) => lane.redact(text));
	return Object.assign(
		new Error(message, { cause: error }),
		code === undefined ? {} : { code },
		name === undefined ? {} : { name },
		detail === undefined ? {} : { detail },
	);
}
