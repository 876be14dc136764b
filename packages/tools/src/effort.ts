/** What one call of a file tool may use, so that no directory holds it up or fills the memory, and what it said when that was used up. */
import { setImmediate } from "node:timers/promises";
import type { Timers } from "@reyn/wal";
import { showBytes, showCount } from "./text-file.ts";

export interface Limits {
	/** Files, directories and links. */
	readonly maxFiles: number;
	/** What a search may read. */
	readonly maxBytes: number;
	readonly maxMs: number;
	/** Comparisons of a character with a pattern of a .gitignore. */
	readonly maxCompared: number;
}

// About a millisecond of work: then others have their turn.
const turnEvery = 100_000;
const maxNotes = 5;

export class Effort implements Disposable {
	readonly signal: AbortSignal;
	readonly #limits: Limits;
	readonly #cancelTimer: () => void;
	readonly #notes: string[] = [];
	#moreNotes = 0;
	#stopped: string | undefined;
	#over = false;
	#files = 0;
	#bytes = 0;
	#allRead = false;
	#compared = 0;
	#sinceTurn = 0;

	constructor(limits: Limits, signal: AbortSignal, timers: Timers) {
		this.#limits = limits;
		this.signal = signal;
		this.#cancelTimer = timers.after(limits.maxMs, () => this.stop(`${showCount(limits.maxMs / 1000)} s`), false);
	}

	/** After what the work stopped early; undefined while it may go on. What was admitted before is still to be done, unless it is `over`. */
	get stopped(): string | undefined {
		return this.#stopped;
	}

	/** Nothing more is to be done at all. */
	get over(): boolean {
		return this.#over;
	}

	stop(after: string): void {
		this.#stopped ??= after;
		this.#over = true;
	}

	/** May one more file be looked at? */
	admit(): boolean {
		if (this.#over) return false;
		if (this.#files >= this.#limits.maxFiles) {
			this.#stopped ??= `${showCount(this.#limits.maxFiles)} files and directories`;
			return false;
		}
		this.#files++;
		return true;
	}

	/** May so many bytes more be read? After the first no, nothing. */
	mayRead(bytes: number): boolean {
		if (this.#bytes + bytes > this.#limits.maxBytes) {
			this.#stopped ??= `reading ${showBytes(this.#bytes)}`;
			this.#allRead = true;
		}
		if (this.#over || this.#allRead) return false;
		this.#bytes += bytes;
		return true;
	}

	/** Patterns were compared: is it time for `turn`? */
	compared(steps: number): boolean {
		this.#compared += steps;
		if (this.#compared > this.#limits.maxCompared) {
			this.stop("comparing too many names with too many patterns of .gitignore files");
		}
		return this.worked(steps);
	}

	/** Work was done: is it time for `turn`? */
	worked(steps: number): boolean {
		this.#sinceTurn += steps;
		return this.#sinceTurn >= turnEvery;
	}

	/** Lets the rest of the process have its turn. @throws the reason of the signal */
	async turn(): Promise<void> {
		this.#sinceTurn = 0;
		await setImmediate();
		this.signal.throwIfAborted();
	}

	/** Something that the reader should know about the answer. */
	note(text: string): void {
		if (this.#notes.length < maxNotes) this.#notes.push(text);
		else this.#moreNotes++;
	}

	/** What was cut, for the end of an answer. */
	remarks(): readonly string[] {
		return [
			...this.#notes,
			...(this.#moreNotes > 0 ? [`… and ${showCount(this.#moreNotes, "more remark")} of this kind`] : []),
			...(this.#stopped === undefined
				? []
				: [`Stopped after ${this.#stopped}; for the rest give a narrower "path", a directory or a file`]),
		];
	}

	[Symbol.dispose](): void {
		this.#cancelTimer();
	}
}
