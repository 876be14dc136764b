/**
 * The realm that a script runs in: a context of its own in this thread, where everything that differs between runs throws, and the
 * world is one object. It guards against accidents and is no sandbox against malice: a script may use up the time and the memory of
 * its process, which is that of its host, or its own if it is isolated.
 */
import { type Context, constants, createContext, Script } from "node:vm";
import { bootstrap, type Inside, type Outside } from "./bootstrap.ts";
import type { ScriptCalls } from "./context.ts";
import type { Draws } from "./draws.ts";
import { errorOfText, lineOf, type MakeError, textOfError } from "./error-text.ts";
import { guardRealm } from "./guards.ts";
import type { ScriptCode } from "./load.ts";
import { realmErrors } from "./realm-errors.ts";
import { realmJson } from "./realm-json.ts";
import { placeOf, standsHere } from "./rejections.ts";
import { SLICE_MS, TimeSlices } from "./time-slice.ts";

/** The host's side of a realm: the functions that a script's calls reach. */
export interface Bridge {
	/**
	 * Gives a call of the script its place. `args` is JSON text of {@link ScriptCalls}. The function that it returns begins the call, and
	 * runs when the script waits. An error that is thrown reaches the script with its `message`, `code` and `detail`.
	 */
	call(op: keyof ScriptCalls, args: string): (reply: Reply) => void;
	/** Says that the script waits, and that all its calls are asked for. */
	rested(): void;
	/** Opens branches in the branch of the caller. @returns the number of the fork. May throw */
	fork(kind: "parallel" | "pipeline" | "phase", name: string, branches: number): number;
	/** Runs `body` in a branch (the host keeps track with AsyncLocalStorage). */
	enter<T>(fork: number, branch: number, body: () => T): T;
	/** Says that all branches of a fork are over. */
	join(fork: number): void;
	/** The random numbers of the branch of the caller. */
	draws(): Pick<Draws, "seed" | "random" | "uuid">;
	/** A line that the script has printed. */
	log(text: string): void;
	readonly error: MakeError;
	/** Does the script have this process to itself? Then the process may end when a time slice is cut. */
	readonly isAlone?: boolean;
	/** {@link ScriptPorts.watchTimeSlice} */
	readonly watchTimeSlice?: ((limitMs: number) => () => void) | undefined;
}

/** Answers a call, once, while the script waits. The script has run on, and waits again, when a method returns. */
export interface Reply {
	/** JSON text. */
	answer(text: string | undefined): void;
	/** Fails the call: the script gets the `message`, `code` and `detail` of the error. */
	fail(error: unknown): void;
}

export interface Realm {
	/** The exports beside the default one: `description`, `args` (a JSON Schema). */
	readonly exports: Readonly<Record<string, unknown>>;
	/**
	 * Runs the default export, once. Arguments and result are JSON text. An error of the bridge that the script lets through is thrown
	 * unchanged. After this settles the script gets no more answers.
	 *
	 * @throws JournalError `DETERMINISM`, `SCRIPT_BRANCH_FAILED`, `SCRIPT_INVALID`, `SCRIPT_NOT_JSON` and `SCRIPT_TIMEOUT`,
	 * and an Error with name, message, `code` and `detail` of what else the script throws; the stack has the lines of the script
	 */
	run(args: string): Promise<string | undefined>;
	/** Several answers under one limit of time: {@link TimeSlices.burst}. */
	burst(answers: (isShort: () => boolean) => void): void;
	/** Runs work that is not of the script alone, once a burst is over. */
	say(what: () => void): void;
	/** Ends the realm: nothing runs in it any more. */
	close(): void;
}

/**
 * Makes a realm and runs the top level of the script in it.
 *
 * @param sliceMs how long the script may compute until it waits, in milliseconds
 * @throws JournalError `SCRIPT_INVALID` (no default export that is a function; the top level throws; exports that are
 * not JSON), `DETERMINISM`, `SCRIPT_TIMEOUT`
 */
export async function openRealm(module: ScriptCode, bridge: Bridge, sliceMs = SLICE_MS): Promise<Realm> {
	const { file } = module;
	// A context without a sandbox object: there is no object of the host to be reached.
	const context = createContext(constants.DONT_CONTEXTIFY, {
		name: file,
		codeGeneration: { strings: false, wasm: false },
		microtaskMode: "afterEvaluate",
	});
	const tell = (reasons: readonly unknown[], more: number): void => {
		const print = (said: string): void =>
			timeSlices.print(
				`nobody waited for what failed here: ${errorOfText(JSON.parse(said), file, bridge.error).stack}`,
			);
		goOn(life, () => {
			for (const reason of reasons) inside.describe(reason, print);
		});
		if (more > 0) timeSlices.say(() => bridge.log(`nobody waited for what failed here: and ${more} more`));
	};
	const timeSlices = new TimeSlices(context, file, sliceMs, placeOf(tell), bridge);
	const life: Life = { isOver: false, timeSlices, tell, rested: () => bridge.rested() };
	const compiled = <T>(inner: T): T =>
		new Script(`"use strict"; (${inner})`, { filename: "reyn:realm" }).runInContext(context);
	const errors = compiled(realmErrors)(file, JSON.stringify(module.moved));
	const inside = compiled(bootstrap)(outsideOf(bridge, life), compiled(realmJson), compiled(guardRealm), errors);
	return {
		exports: await load(module, context, inside, life, bridge),
		run: (args) => run(args, inside, life, file, bridge),
		burst: (answers) => guarded(life, () => timeSlices.burst(answers)),
		say: (what) => timeSlices.say(what),
		close() {},
	};
}

interface Life {
	/** Then nobody answers the script any more. */
	isOver: boolean;
	/** Told where a time slice was cut. */
	failed?: (error: unknown) => void;
	/** Why that was. Who waits for nothing any more, since the exports are there, is told of it when the function is to be run. */
	cut?: { readonly error: unknown };
	readonly timeSlices: TimeSlices;
	/** Told of what fails while nobody waits for it. */
	tell(reasons: readonly unknown[], more: number): void;
	rested(): void;
}

function goOn(life: Life, wake: () => void): void {
	guarded(life, () => life.timeSlices.run(wake));
	if (!life.isOver) life.rested();
}

/** Once it is over, nobody answers the script any more. */
function goOnWith(life: Life, wake: () => void): void {
	if (!life.isOver) goOn(life, wake);
}

/** Where a time slice is cut, the script is over. */
function guarded(life: Life, work: () => void): void {
	try {
		work();
	} catch (error) {
		life.isOver = true;
		life.cut = { error };
		life.failed?.(error);
	}
}

/** The bridge without promises, values or errors of the host: whatever the realm is given here is text. */
function outsideOf(bridge: Bridge, life: Life): Outside {
	return {
		call(op, args, answer, fail) {
			const begin = bridge.call(op, args);
			life.timeSlices.after(() =>
				begin({
					answer: (text) => goOnWith(life, () => answer(text)),
					fail: (error) => goOnWith(life, () => fail(error)),
				}),
			);
		},
		fork: (kind, name, branches) => bridge.fork(kind, name, branches),
		enter: (fork, branch, body) =>
			bridge.enter(fork, branch, () => {
				standsHere(life.tell);
				body();
			}),
		join: (fork) => bridge.join(fork),
		random: () => bridge.draws().random(),
		uuid: () => bridge.draws().uuid(),
		log: (text) => life.timeSlices.print(text),
		describe: textOfError,
	};
}

function load(
	{ file, code, clean }: ScriptCode,
	context: Context,
	inside: Inside,
	life: Life,
	{ error: make }: Bridge,
): Promise<Readonly<Record<string, unknown>>> {
	let script: Parameters<Inside["load"]>[0];
	try {
		// The first line is this one, so the script begins at line 1.
		script = new Script(`"use strict"; (function (${clean}) {\n${code}\n})`, {
			filename: file,
			lineOffset: -1,
		}).runInContext(context);
	} catch (error) {
		throw make("SCRIPT_INVALID", `${file}: ${(error as Error).message}`, { file });
	}
	return new Promise((resolve, reject) => {
		life.failed = reject;
		goOn(life, () =>
			inside.load(
				script,
				(exports) => resolve(JSON.parse(exports)),
				(said) => reject(loadError(errorOfText(JSON.parse(said), file, make), file, make)),
			),
		);
	});
}

/** What it says to who has written the script that its top level failed. */
function loadError(error: Error, file: string, make: MakeError): Error {
	const { code, detail } = error as { readonly code?: unknown; readonly detail?: object };
	if (code === "DETERMINISM") return error;
	if (code === "SCRIPT_INVALID") return make(code, `${file}: ${error.message}`, { file, ...detail });
	const at = lineOf(error);
	return make(
		"SCRIPT_INVALID",
		`${file}${at ? `:${at.line}:${at.column}` : ""}: the script failed before its function was called: ${error.message}`,
		{ file, ...at },
		{ cause: error },
	);
}

/** @param causes errors of the host in a list of the realm, which the script may have taught to be read otherwise than by index */
function errorFrom(error: Error, causes: readonly unknown[]): Error {
	const all: unknown[] = [];
	for (let i = 0; i < causes.length; i++) all.push(causes[i]);
	if (all.length > 0) error.cause = new AggregateError(all);
	return error;
}

function run(
	args: string,
	inside: Inside,
	life: Life,
	file: string,
	{ error: make }: Bridge,
): Promise<string | undefined> {
	return new Promise((resolve, reject) => {
		life.failed = reject;
		if (life.cut) return reject(life.cut.error);
		goOn(life, () =>
			inside.run(
				args,
				(result) => {
					life.isOver = true;
					resolve(result);
				},
				(said, origin, causes) => {
					life.isOver = true;
					reject(origin ?? errorFrom(errorOfText(JSON.parse(said), file, make), causes));
				},
			),
		);
	});
}
