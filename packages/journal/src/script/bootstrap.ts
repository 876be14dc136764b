/** Runs inside the realm of a script: makes `ctx` and the console, and holds the only ways to the host and back. */
import type { ScriptCalls, ScriptContext } from "./context.ts";
import type { ErrorText } from "./error-text.ts";
import type { guardRealm } from "./guards.ts";
import type { RealmErrors } from "./realm-errors.ts";
import type { realmJson } from "./realm-json.ts";

/** The functions of the host that the realm calls. Each may throw. */
export interface Outside {
	/** Calls `answer` with JSON text, or `fail` with an error of the host. */
	call(
		op: keyof ScriptCalls,
		args: string,
		answer: (text: string | undefined) => void,
		fail: (error: unknown) => void,
	): void;
	fork(kind: "parallel" | "pipeline" | "phase", name: string, branches: number): number;
	enter(fork: number, branch: number, body: () => void): void;
	join(fork: number): void;
	random(): number;
	uuid(): string;
	log(text: string): void;
	/** What an error of the host says: {@link ErrorText} as JSON text. */
	describe(error: unknown): string;
}

/** The functions of the realm that the host calls. Each only queues a microtask, so that the script runs in a time slice. */
export interface Inside {
	/** Runs the top level of a script. Gives the exports beside the default one as JSON text; `fail` is told as of `run`. */
	load(
		script: (clean: RealmErrors["clean"]) => void,
		done: (exports: string) => void,
		fail: (said: string) => void,
	): void;
	/** Runs the default export. `fail` is told {@link ErrorText} as JSON text, the host's error where it was one, and those that it came from. */
	run(
		args: string,
		done: (result: string | undefined) => void,
		fail: (said: string, origin: unknown, causes: readonly unknown[]) => void,
	): void;
	/** What a value that was thrown in the realm says: {@link ErrorText} as JSON text. */
	describe(error: unknown, told: (said: string) => void): void;
}

/** Makes an error of the realm. */
export type Fail = (code: string | undefined, message: string, detail?: unknown) => Error;

/**
 * The text of this function runs in the realm before the script, so it may use nothing from outside itself.
 *
 * No value of the host may reach the script: its `constructor.constructor` would be the way out. So only texts and
 * numbers cross, functions of the host are called by functions of the realm and never handed on, promises of the host
 * stay there, and what the host throws is made anew. And since the script may have changed every prototype by the time
 * that this runs, nothing here is looked up on one: what is needed is kept from before, lists are read by index and
 * written by definition, and objects that are read have no prototype.
 */
export function bootstrap(
	host: Outside,
	json: typeof realmJson,
	guard: typeof guardRealm,
	errors: RealmErrors,
): Inside {
	type Body = () => unknown;
	type Script = (clean: RealmErrors["clean"]) => void;
	type Check = readonly [expected: string, is: (value: unknown) => boolean];

	interface Outcome {
		value?: unknown;
		failed?: boolean;
	}

	/** So many calls may have no answer yet, and so many branches be under way: each costs the host about 20 KB. */
	const MOST_AT_A_TIME = 10_000;

	const { parse } = JSON;
	const { apply } = Reflect;
	const { isArray } = Array;
	const { isInteger, isFinite: isFiniteNumber } = Number;
	const { defineProperty, freeze, keys } = Object;
	const { then } = Promise.prototype;
	const { isWellFormed } = String.prototype;
	const { get: getOf, set: setOf } = WeakMap.prototype;
	const NativeError = Error;
	const NativePromise = Promise;
	const toText = String;
	const { clean } = errors;

	/** The errors of the host, by those that the script was given in place of them. */
	const origins = new WeakMap<object, unknown>();
	/** What the branches failed with, by the error that says that they did. */
	const parts = new WeakMap<object, unknown>();
	const underWay = { __proto__: null, calls: 0, branches: 0 };
	let isOver = false;
	let main: ((ctx: ScriptContext, args: unknown) => unknown) | undefined;

	const fail: Fail = (code, message, detail) => {
		const error = new NativeError(message);
		if (code !== undefined) define(error, "code", code);
		if (detail !== undefined) define(error, "detail", detail);
		return error;
	};
	const write = json(fail);
	const ctx = context();

	define(globalThis, "console", printer());
	define(globalThis, "queueMicrotask", queueMicrotask);
	errors.guard(fail);
	guard(fail);

	return {
		load: (script, done, failed) => void load(script, done, failed),
		run: (args, done, failed) => void run(args, done, failed),
		describe: (error, told) => void tell(error, told),
	};

	async function tell(error: unknown, told: (said: string) => void): Promise<void> {
		await undefined;
		told(describe(error));
	}

	async function load(script: Script, done: (exports: string) => void, failed: (said: string) => void): Promise<void> {
		await undefined;
		let exports: string;
		try {
			exports = exportsOf(script);
		} catch (error) {
			failed(describe(error));
			return;
		}
		done(exports);
	}

	function exportsOf(script: Script): string {
		const module = { __proto__: null } as { main?: unknown; exports?: Readonly<Record<string, unknown>> };
		apply(script, module, [clean]);
		if (typeof module.main !== "function")
			throw fail(
				"SCRIPT_INVALID",
				`expected a default export that is a function; found ${kindOf(module.main)}: write "export default async (ctx, args) => …"`,
			);
		main = module.main as typeof main;
		try {
			return write(module.exports, "exports");
		} catch (error) {
			const { message, detail } = parse(describe(error));
			throw fail("SCRIPT_INVALID", `${message}: what a script exports beside its function has to be data`, detail);
		}
	}

	async function run(
		args: string,
		done: (result: string | undefined) => void,
		failed: (said: string, origin: unknown, causes: readonly unknown[]) => void,
	): Promise<void> {
		await undefined;
		let text: string | undefined;
		try {
			const result = await main?.(ctx, parse(args));
			if (result !== undefined) text = write(result, "result");
		} catch (error) {
			isOver = true;
			const causes: unknown[] = [];
			addCauses(error, causes, 0);
			failed(describe(error), apply(getOf, origins, [error]), causes);
			return;
		}
		isOver = true;
		done(text);
	}

	function context(): ScriptContext {
		const text: Check = ["a string", (value) => typeof value === "string"];
		const texts: Check = ["a list of strings", (value) => isArray(value) && all(value, text[1])];
		const count: Check = ["a whole number above 0", (value) => isInteger(value) && (value as number) > 0];
		const tokens: Check = ["a whole number from 0", (value) => isInteger(value) && (value as number) >= 0];
		const object: Check = ["an object", (value) => kindOf(value) === "an object"];
		const duration: Check = ["a number from 0", (value) => isFiniteNumber(value) && (value as number) >= 0];
		const agentOptions = {
			__proto__: null,
			label: text,
			system: text,
			tools: texts,
			maxTurns: count,
			estimate: tokens,
			schema: object,
		};
		const askOptions = { __proto__: null, choices: texts };

		return freeze({
			__proto__: null,
			agent: (...given: unknown[]) => {
				begin("agent", given, 1, 2);
				need("agent", "the prompt", given[0], text);
				return leave("agent", write({ prompt: given[0], ...optionsOf("agent", given[1], agentOptions) }, "agent()"));
			},
			tool: (...given: unknown[]) => {
				begin("tool", given, 1, 2);
				need("tool", "the name", given[0], text);
				const args = given[1] === undefined ? {} : given[1];
				need("tool", "the arguments", args, object);
				return leave("tool", `{"name":${write(given[0], "name")},"args":${write(args, "args")}}`);
			},
			ask: (...given: unknown[]) => {
				begin("ask", given, 1, 2);
				need("ask", "the question", given[0], text);
				return leave("ask", write({ question: given[0], ...optionsOf("ask", given[1], askOptions) }, "ask()"));
			},
			now: (...given: unknown[]) => {
				begin("now", given, 0, 0);
				return leave("now", "{}");
			},
			sleep: (...given: unknown[]) => {
				begin("sleep", given, 1, 1);
				need("sleep", "the milliseconds", given[0], duration);
				return leave("sleep", write({ ms: given[0] }, "sleep()"));
			},
			random: (...given: unknown[]) => {
				begin("random", given, 0, 0);
				return outside(() => host.random());
			},
			uuid: (...given: unknown[]) => {
				begin("uuid", given, 0, 0);
				return outside(() => host.uuid());
			},
			parallel: (...given: unknown[]) => {
				begin("parallel", given, 1, 1);
				const tasks = functionsOf("parallel", "the tasks", given[0]);
				return quiet(() => branches("parallel", tasks));
			},
			pipeline: (...given: unknown[]) => {
				begin("pipeline", given, 2);
				const items = stagesOf(given);
				return quiet(() => branches("pipeline", items));
			},
			phase: (...given: unknown[]) => {
				begin("phase", given, 2, 2);
				need("phase", "the name", given[0], text);
				// It becomes part of the place of each call in it, of which nothing else could be made.
				if (!apply(isWellFormed, given[0], []))
					throw wrong("phase", "the name to have whole characters", "half of one: cut texts with Array.from(text)");
				// It stands in each record of these calls.
				if ((given[0] as string).length > 1000)
					throw wrong("phase", "the name to have at most 1000 characters", `${(given[0] as string).length}`);
				need("phase", "the body", given[1], ["a function", (value) => typeof value === "function"]);
				return quiet(() => phase(given[0] as string, given[1] as Body));
			},
		}) as unknown as ScriptContext;
	}

	/** Sends a call out, and gives the answer to the script. */
	function leave(op: keyof ScriptCalls, args: string): Promise<unknown> {
		assertRoom(op, "calls", 1);
		underWay.calls++;
		return quiet(async () => {
			let answer: unknown;
			let failed = false;
			await new NativePromise<void>((resume) => {
				const end = (isFailure: boolean, value: unknown): void => {
					failed = isFailure;
					answer = value;
					resume();
				};
				try {
					host.call(
						op,
						args,
						(text) => end(false, text),
						(error) => end(true, error),
					);
				} catch (error) {
					end(true, error);
				}
			});
			underWay.calls--;
			if (failed) throw foreign(answer);
			return answer === undefined ? undefined : parse(answer as string);
		});
	}

	async function branches(kind: "parallel" | "pipeline", bodies: readonly Body[]): Promise<unknown[]> {
		const outcomes = await runBranches(kind, "", bodies);
		const results: unknown[] = [];
		const failures: unknown[] = [];
		const values: unknown[] = [];
		for (let i = 0; i < outcomes.length; i++) {
			const { failed, value } = outcomes[i] as Outcome;
			if (!failed) push(results, value);
			else {
				push(failures, failureAt(i, value));
				push(values, value);
			}
		}
		if (failures.length === 0) return results;
		const first = failures[0] as { message: string };
		const error = fail(
			"SCRIPT_BRANCH_FAILED",
			`${failures.length} of ${bodies.length} branches of ctx.${kind}() failed, the first with: ${first.message}`,
			{ failed: failures, branches: bodies.length },
		);
		apply(setOf, parts, [error, values]);
		throw error;
	}

	async function phase(name: string, body: Body): Promise<unknown> {
		const { failed, value } = (await runBranches("phase", name, [body]))[0] as Outcome;
		if (failed) throw value;
		return value;
	}

	/** Starts all, in order, and waits until each is over. */
	async function runBranches(
		kind: "parallel" | "pipeline" | "phase",
		name: string,
		bodies: readonly Body[],
	): Promise<readonly Outcome[]> {
		assertRoom(kind, "branches", bodies.length);
		const fork = outside(() => host.fork(kind, name, bodies.length));
		underWay.branches += bodies.length;
		const outcomes: Outcome[] = [];
		const running: Promise<void>[] = [];
		for (let i = 0; i < bodies.length; i++) {
			const outcome: Outcome = { __proto__: null } as Outcome;
			push(outcomes, outcome);
			push(running, enter(fork, i, bodies[i] as Body, outcome));
		}
		for (let i = 0; i < running.length; i++) await running[i];
		outside(() => host.join(fork));
		underWay.branches -= bodies.length;
		return outcomes;
	}

	async function enter(fork: number, branch: number, body: Body, outcome: Outcome): Promise<void> {
		try {
			let ended: Promise<void> | undefined;
			outside(() =>
				host.enter(fork, branch, () => {
					ended = runBody(body, outcome);
				}),
			);
			await ended;
		} catch (error) {
			outcome.failed = true;
			outcome.value = error;
		}
	}

	async function runBody(body: Body, outcome: Outcome): Promise<void> {
		try {
			outcome.value = await body();
		} catch (error) {
			outcome.failed = true;
			outcome.value = error;
		}
	}

	function failureAt(position: number, error: unknown): unknown {
		const { message, code } = parse(describe(error));
		return { position, message, code };
	}

	/** The tasks of `parallel`, or the stages of `pipeline`. */
	function functionsOf(call: string, what: string, list: unknown): Body[] {
		if (!isArray(list)) throw wrong(call, `${what} to be a list of functions`, kindOf(list));
		const functions: Body[] = [];
		const { length } = list;
		assertRoom(call, "branches", length);
		for (let i = 0; i < length; i++) {
			const each = list[i];
			if (typeof each !== "function") {
				const advice = each instanceof NativePromise ? ": write () => before the call" : "";
				throw wrong(call, `${what} to be functions`, `${kindOf(each)} at position ${i}${advice}`);
			}
			push(functions, each as Body);
		}
		return functions;
	}

	function stagesOf(given: readonly unknown[]): Body[] {
		const items = given[0];
		if (!isArray(items)) throw wrong("pipeline", "the items to be a list", kindOf(items));
		const list: unknown[] = [];
		for (let i = 1; i < given.length; i++) push(list, given[i]);
		const stages = functionsOf("pipeline", "the stages", list) as unknown as ((
			previous: unknown,
			item: unknown,
			index: number,
		) => unknown)[];
		const bodies: Body[] = [];
		const { length } = items;
		assertRoom("pipeline", "branches", length);
		for (let i = 0; i < length; i++) {
			const item = items[i];
			push(bodies, async () => {
				let previous = item;
				for (let stage = 0; stage < stages.length; stage++) previous = await stages[stage]?.(previous, item, i);
				return previous;
			});
		}
		return bodies;
	}

	function begin(call: string, given: readonly unknown[], least: number, most?: number): void {
		if (isOver)
			throw fail("DETERMINISM", `ctx.${call}() was called after the script had ended; await all that it starts`, {
				name: `ctx.${call}()`,
			});
		const { length } = given;
		if (length < least || (most !== undefined && length > most)) {
			const expected = most === undefined ? `${least} or more` : least === most ? `${least}` : `${least} to ${most}`;
			throw wrong(call, `${expected} arguments`, `${length}`);
		}
	}

	function assertRoom(call: string, what: "calls" | "branches", more: number): void {
		const found = underWay[what] + more;
		if (found > MOST_AT_A_TIME)
			throw fail(
				"SCRIPT_INVALID",
				`ctx.${call}(): expected at most ${MOST_AT_A_TIME} ${what} under way at a time; found ${found}: await some before more are begun, as in groups of 1000`,
				{ call, limit: MOST_AT_A_TIME, found },
			);
	}

	function need(call: string, what: string, value: unknown, check: Check): void {
		if (!check[1](value)) throw wrong(call, `${what} to be ${check[0]}`, kindOf(value));
	}

	/** A copy of options, read once: what is checked is what is sent. */
	function optionsOf(call: string, given: unknown, known: object): object {
		if (given === undefined) return {};
		if (kindOf(given) !== "an object") throw wrong(call, "the options to be an object", kindOf(given));
		const options = parse(write(given, "options")) as Record<string, unknown>;
		const names = keys(options);
		for (let i = 0; i < names.length; i++) {
			const name = names[i] as string;
			const check = (known as Record<string, Check>)[name];
			if (!check) throw wrong(call, `options out of ${listed(keys(known))}`, `"${name}"`);
			need(call, `the option "${name}"`, options[name], check);
		}
		return options;
	}

	function wrong(call: string, expected: string, found: string): Error {
		return fail("SCRIPT_INVALID", `ctx.${call}(): expected ${expected}; found ${found}`, { call });
	}

	function kindOf(value: unknown): string {
		if (value === null) return "null";
		if (isArray(value)) return "a list";
		if (typeof value !== "object") return value === undefined ? "undefined" : `a ${typeof value}`;
		return value instanceof NativePromise ? "a promise" : "an object";
	}

	function outside<T>(reach: () => T): T {
		try {
			return reach();
		} catch (error) {
			throw foreign(error);
		}
	}

	/** An error of the realm in place of one of the host. */
	function foreign(origin: unknown): Error {
		let said: ErrorText;
		try {
			said = parse(host.describe(origin));
		} catch {
			// Where the stack is used up, not even that works.
			said = { message: "a call out of the script failed" };
		}
		const error = fail(said.code, said.message, said.detail);
		if (said.name !== undefined) define(error, "name", said.name);
		apply(setOf, origins, [error, origin]);
		return error;
	}

	/** The errors of the host that one of the realm came from: itself, its cause, those of its branches, those that it gathers. */
	function addCauses(error: unknown, causes: unknown[], depth: number): void {
		if (typeof error !== "object" || error === null || depth > 8 || causes.length >= 100) return;
		const origin = apply(getOf, origins, [error]);
		if (origin !== undefined) {
			push(causes, origin);
			return;
		}
		const branches = apply(getOf, parts, [error]) as unknown[] | undefined;
		if (branches) for (let i = 0; i < branches.length; i++) addCauses(branches[i], causes, depth + 1);
		try {
			const { cause, errors } = error as { cause?: unknown; errors?: unknown };
			addCauses(cause, causes, depth + 1);
			if (isArray(errors)) for (let i = 0; i < errors.length && i < 100; i++) addCauses(errors[i], causes, depth + 1);
		} catch {
			// A getter of the script's own.
		}
	}

	/** A script may throw anything: a text, or an object whose getters throw again. */
	function describe(error: unknown): string {
		try {
			if (typeof error !== "object" || error === null) return write({ message: toText(error) }, "error");
			clean(error);
			const { name, message, stack, code, detail } = error as Record<string, unknown>;
			const said = {
				name: textOf(name),
				message: textOf(message) ?? "something without a message was thrown",
				stack: textOf(stack),
				code: textOf(code),
			};
			try {
				return write({ ...said, detail }, "error");
			} catch {
				return write(said, "error");
			}
		} catch {
			return '{"message":"something unreadable was thrown"}';
		}
	}

	function textOf(value: unknown): string | undefined {
		return typeof value === "string" ? value : undefined;
	}

	function printer(): object {
		const print = (...given: unknown[]): void => {
			let line = "";
			for (let i = 0; i < given.length; i++) line += `${i > 0 ? " " : ""}${shown(given[i])}`;
			outside(() => host.log(line));
		};
		return freeze({ __proto__: null, log: print, info: print, warn: print, error: print, debug: print });
	}

	function shown(value: unknown): string {
		if (typeof value === "string") return value;
		try {
			if (!(value instanceof NativeError)) return write(value, "value");
			return textOf(value.stack) ?? value.message;
		} catch {
			return typeof value === "object" ? kindOf(value) : toText(value);
		}
	}

	function queueMicrotask(task: unknown): void {
		if (typeof task !== "function") throw wrongTask(task);
		apply(then, new NativePromise<void>((resume) => resume()), [() => (task as Body)()]);
	}

	function wrongTask(task: unknown): Error {
		return fail("SCRIPT_INVALID", `queueMicrotask(): expected a function; found ${kindOf(task)}`);
	}

	/**
	 * A promise for the script, which may leave it alone: its rejection is then silent, since the host has seen what
	 * failed. Node is told so at the last moment, for a promise that two wait for ends the trace of a stack.
	 */
	function quiet<T>(work: () => Promise<T>): Promise<T> {
		const promise = settled();
		return promise;

		async function settled(): Promise<T> {
			try {
				return await work();
			} catch (error) {
				apply(then, promise, [undefined, () => {}]);
				throw error;
			}
		}
	}

	function all(list: readonly unknown[], is: (value: unknown) => boolean): boolean {
		for (let i = 0; i < list.length; i++) if (!is(list[i])) return false;
		return true;
	}

	function listed(names: readonly string[]): string {
		let text = "";
		for (let i = 0; i < names.length; i++) text += `${i > 0 ? ", " : ""}${names[i]}`;
		return text;
	}

	function push(list: unknown[], value: unknown): void {
		define(list, list.length, value);
	}

	function define(target: object, name: PropertyKey, value: unknown): void {
		defineProperty(target, name, {
			__proto__: null,
			value,
			writable: true,
			enumerable: true,
			configurable: true,
		} as PropertyDescriptor);
	}
}
