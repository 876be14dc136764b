/** Runs a script in time slices, each from an answer until the script waits again, with a limit: nothing else of the process runs meanwhile. */
import { AsyncResource } from "node:async_hooks";
import { type Context, createContext, Script } from "node:vm";
import type { Bridge } from "./realm.ts";
import { withOwnTexts } from "./stack-texts.ts";
import { standing } from "./standing.ts";

/** The default limit of a time slice, in milliseconds. Longer computations belong in a tool. */
export const SLICE_MS = 5000;

/** How much of the output of one time slice is shown: showing it is work of the host, which the time limit does not cover. */
const PRINTED_LINES = 1000;
const PRINTED_CHARACTERS = 2 ** 20;

/** How many lines are shown of a time slice that was cut. */
const SHOWN_LINES = 100;

/**
 * Does a time slice have a limit here? Not in Node 22: it tracks promises with hooks, and cutting a time slice in the middle of one ends
 * the process in an assertion.
 */
export const hasLimit = Number.parseInt(process.versions.node, 10) >= 24;

type TimeSliceHost = Pick<Bridge, "log" | "error" | "isAlone" | "watchTimeSlice">;

/** An empty program: running it in the context also runs the context's microtasks, and the time limit covers both. */
const nothing = new Script("0", { filename: "reyn:realm" });

const root = new AsyncResource("reyn:realm");

/** Runs work without the async stores of the host, since Node 22 puts their values on each promise of a script. */
const withoutStores = (work: () => void): void => (hasLimit ? work() : root.runInAsyncScope(work));

/** How long recorded answers are given under one limit, in milliseconds: setting a limit takes longer than giving an answer. */
const BURST_MS = 25;

/** A context of the host's own: the time limit of a program in it also covers what that program calls elsewhere. */
let limited: Context | undefined;
const work = new Script("work()", { filename: "reyn:realm" });

/**
 * The time slices of one script. A slice may be cut in the middle of a function of the host, so such functions may only touch state of
 * this script; all other work begins when the slice is over, and not at all if it was cut.
 */
export class TimeSlices {
	readonly #context: Context;
	readonly #file: string;
	readonly #limitMs: number;
	readonly #place: symbol;
	readonly #host: TimeSliceHost;
	#begun: (() => void)[] = [];
	#printed: string[] = [];
	/** How many characters may still be printed in this time slice. */
	#room = PRINTED_CHARACTERS;
	/** How many lines were cut or not shown. */
	#unshown = 0;
	/** Work to do after the burst that is under way. */
	#held: (() => void)[] | undefined;
	#isCut = false;

	/**
	 * @param context with microtasks of its own (`microtaskMode: "afterEvaluate"`)
	 * @param place the place of the script's code; see `standing.ts`
	 */
	constructor(context: Context, file: string, limitMs: number, place: symbol, host: TimeSliceHost) {
		this.#context = context;
		this.#file = file;
		this.#limitMs = limitMs;
		this.#place = place;
		this.#host = host;
	}

	/**
	 * Runs one time slice, then begins the calls that were asked for in it. After a slice that was cut, nothing runs.
	 *
	 * @param wake settles the promise that the script waits for
	 * @throws JournalError `SCRIPT_TIMEOUT`
	 */
	run(wake: () => void): void {
		if (this.#isCut) return;
		const work = (): void => {
			wake();
			if (this.#held) nothing.runInContext(this.#context);
			else this.#within(this.#limitMs, (limit) => nothing.runInContext(this.#context, limit));
		};
		withoutStores(() => standing.run(this.#place, withOwnTexts, work));
		this.#show();
		for (const begin of this.#begun.splice(0)) begin();
	}

	/**
	 * Runs several time slices, one after the other, under one limit.
	 *
	 * @param work runs time slices as long as `isShort` returns true; work that is not of this script alone has to go through {@link say}
	 * @throws JournalError `SCRIPT_TIMEOUT`
	 */
	burst(timeSlices: (isShort: () => boolean) => void): void {
		const until = performance.now() + BURST_MS;
		const held: (() => void)[] = [];
		this.#held = held;
		try {
			limited ??= createContext({});
			const context = limited;
			context.work = () => timeSlices(() => performance.now() < until);
			const within = (): void => this.#within(this.#limitMs + BURST_MS, (limit) => work.runInContext(context, limit));
			// Wrapped here, since a slice that is cut restores nothing inside: neither the async store nor the formatting of stacks.
			standing.run(standing.getStore(), withOwnTexts, within);
		} finally {
			this.#held = undefined;
			for (const say of held) say();
		}
	}

	/** Runs work that is not of this script alone: at once, or after the burst that is under way. */
	say(what: () => void): void {
		if (this.#held) this.#held.push(what);
		else what();
	}

	/** Registers work for the end of the present time slice. */
	after(begin: () => void): void {
		this.#begun.push(begin);
	}

	print(line: string): void {
		if (line.length > this.#room || this.#printed.length >= PRINTED_LINES) this.#unshown++;
		if (this.#room === 0 || this.#printed.length >= PRINTED_LINES) return;
		const shown = line.slice(0, this.#room);
		this.#room -= shown.length;
		this.#printed.push(shown);
	}

	#show(): void {
		for (const line of this.#printed.splice(0)) this.say(() => this.#host.log(line));
		const unshown = this.#unshown;
		if (unshown > 0)
			this.say(() =>
				this.#host.log(
					`${this.#file} printed more than ${PRINTED_LINES} lines or ${PRINTED_CHARACTERS} characters without waiting for anything: ${unshown} lines are cut or left out`,
				),
			);
		this.#room = PRINTED_CHARACTERS;
		this.#unshown = 0;
	}

	#within(ms: number, run: (limit: { timeout?: number }) => void): void {
		const isLimited = hasLimit || this.#host.isAlone;
		const over = isLimited ? this.#host.watchTimeSlice?.(ms) : undefined;
		try {
			run(isLimited ? { timeout: ms } : {});
		} catch (error) {
			if ((error as { code?: unknown }).code !== "ERR_SCRIPT_EXECUTION_TIMEOUT") throw error;
			this.#isCut = true;
			for (const line of this.#printed.slice(0, SHOWN_LINES)) this.say(() => this.#host.log(line));
			throw this.#host.error(
				"SCRIPT_TIMEOUT",
				`${this.#file} computed for ${this.#limitMs} ms without waiting for anything, and was stopped: mend the loop, or do such work in a tool`,
				{ file: this.#file, limitMs: this.#limitMs },
			);
		} finally {
			over?.();
		}
	}
}
