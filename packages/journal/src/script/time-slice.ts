/** What a script computes in one time slice, from an answer until it waits again: for so long nothing else of the process runs. */
import { AsyncResource } from "node:async_hooks";
import { type Context, createContext, Script } from "node:vm";
import type { Bridge } from "./realm.ts";
import { withOwnTexts } from "./stack-texts.ts";
import { standing } from "./standing.ts";

/** How long a time slice may be. What computes for longer belongs in a tool. */
export const SLICE_MS = 5000;

/** Of what one time slice prints, so much is shown: to show it is work of its host, which no limit of time ends. */
const PRINTED_LINES = 1000;
const PRINTED_CHARACTERS = 2 ** 20;

/** Of what a time slice without an end has printed, so much is shown. */
const SHOWN_LINES = 100;

/**
 * Node 22 follows promises with hooks, and is left in the middle of one where a time slice is cut: the process then ends in an
 * assertion. There a time slice has no limit.
 */
export const hasLimit = Number.parseInt(process.versions.node, 10) >= 24;

type TimeSliceHost = Pick<Bridge, "log" | "error" | "isAlone" | "watchTimeSlice">;

/** The microtasks of the context run whenever a script in it ends, whatever the script is; and the limit is for both. */
const nothing = new Script("0", { filename: "reyn:realm" });

const root = new AsyncResource("reyn:realm");

/** Node 22 puts on each promise of a script what the stores of its host hold: there it runs where they hold nothing. */
const withoutStores = (work: () => void): void => (hasLimit ? work() : root.runInAsyncScope(work));

/** So long recorded answers are given under one limit, in milliseconds: to set one takes longer than an answer. */
const BURST_MS = 25;

/** A context of the host's own: what runs in it, and what that runs elsewhere, is under one limit. */
const limited = createContext({ work: () => {} });
const work = new Script("work()", { filename: "reyn:realm" });

/**
 * The time slices of one script. It may be cut in the middle of a function of the host, so what those do at once has to be
 * of this script alone; all else is begun when the time slice is over, and not at all when it was cut.
 */
export class TimeSlices {
	readonly #context: Context;
	readonly #file: string;
	readonly #limitMs: number;
	readonly #place: symbol;
	readonly #host: TimeSliceHost;
	#begun: (() => void)[] = [];
	#printed: string[] = [];
	/** What may still be printed in this time slice. */
	#room = PRINTED_CHARACTERS;
	/** Lines that are not shown, or not all of it. */
	#unshown = 0;
	/** What a burst leaves to be done after it. */
	#held: (() => void)[] | undefined;
	#isCut = false;

	/**
	 * @param context with microtasks of its own (`microtaskMode: "afterEvaluate"`)
	 * @param place where the script stands
	 */
	constructor(context: Context, file: string, limitMs: number, place: symbol, host: TimeSliceHost) {
		this.#context = context;
		this.#file = file;
		this.#limitMs = limitMs;
		this.#place = place;
		this.#host = host;
	}

	/**
	 * One time slice, and then what was asked for in it. After one that was cut there is none.
	 *
	 * @param wake settles what the script waits for
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
	 * Several time slices, one after the other, under one limit.
	 *
	 * @param work runs time slices while `isShort` says so; all that is not of this script alone it has to {@link say}
	 * @throws JournalError `SCRIPT_TIMEOUT`
	 */
	burst(timeSlices: (isShort: () => boolean) => void): void {
		const until = performance.now() + BURST_MS;
		const held: (() => void)[] = [];
		this.#held = held;
		try {
			limited.work = () => timeSlices(() => performance.now() < until);
			const within = (): void => this.#within(this.#limitMs + BURST_MS, (limit) => work.runInContext(limited, limit));
			// Where a time slice of it is cut, nothing is put back there: neither the store nor who makes texts.
			standing.run(standing.getStore(), withOwnTexts, within);
		} finally {
			this.#held = undefined;
			for (const say of held) say();
		}
	}

	/** Does what is not of this script alone: at once, or after the burst that is under way. */
	say(what: () => void): void {
		if (this.#held) this.#held.push(what);
		else what();
	}

	/** To be called in a time slice. */
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
