/** What a script computes at a stretch, from an answer until it waits again: for so long nothing else of the process runs. */
import { type Context, Script } from "node:vm";
import { JournalError } from "../errors.ts";

/** How long a stretch may be. What computes for longer belongs in a tool. */
export const STRETCH_MS = 5000;

/** Of what a stretch without an end has printed, so much is shown. */
const SHOWN_LINES = 100;

/**
 * Node 22 follows promises with hooks, and is left in the middle of one where a stretch is cut: the process then ends in an
 * assertion. There a stretch has no limit.
 */
export const hasLimit = Number.parseInt(process.versions.node, 10) >= 24;

/** The microtasks of the context run whenever a script in it ends, whatever the script is; and the limit is for both. */
const nothing = new Script("0", { filename: "reyn:realm" });

/**
 * The stretches of one script. It may be cut in the middle of a function of the host, so what those do at once has to be
 * of this script alone; all else is begun when the stretch is over, and not at all when it was cut.
 */
export class Stretches {
	readonly #context: Context;
	readonly #file: string;
	readonly #limitMs: number;
	readonly #print: (line: string) => void;
	#begun: (() => void)[] = [];
	#printed: string[] = [];
	#isCut = false;

	/** @param context with microtasks of its own (`microtaskMode: "afterEvaluate"`) */
	constructor(context: Context, file: string, limitMs: number, print: (line: string) => void) {
		this.#context = context;
		this.#file = file;
		this.#limitMs = limitMs;
		this.#print = print;
	}

	/**
	 * One stretch, and then what was asked for in it. After one that was cut there is none.
	 *
	 * @param wake settles what the script waits for
	 * @throws JournalError `SCRIPT_TIMEOUT`
	 */
	run(wake: () => void): void {
		if (this.#isCut) return;
		wake();
		try {
			nothing.runInContext(this.#context, hasLimit ? { timeout: this.#limitMs } : {});
		} catch (error) {
			if ((error as { code?: unknown }).code !== "ERR_SCRIPT_EXECUTION_TIMEOUT") throw error;
			this.#isCut = true;
			for (const line of this.#printed.slice(0, SHOWN_LINES)) this.#print(line);
			throw new JournalError(
				"SCRIPT_TIMEOUT",
				`${this.#file} computed for ${this.#limitMs} ms without waiting for anything, and was stopped: mend the loop, or do such work in a tool`,
				{ file: this.#file, limitMs: this.#limitMs },
			);
		}
		for (const line of this.#printed.splice(0)) this.#print(line);
		for (const begin of this.#begun.splice(0)) begin();
	}

	/** To be called in a stretch. */
	after(begin: () => void): void {
		this.#begun.push(begin);
	}

	print(line: string): void {
		this.#printed.push(line);
	}
}
