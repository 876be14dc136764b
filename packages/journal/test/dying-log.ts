/** What steps run on in tests: a log that can be killed, and time that passes only when it is told to. */
import { View } from "@reyn/snapshot";
import type { Appended, Appender, Clock, Draft, Scope, Timers, WalRecord } from "@reyn/wal";
import { journal, recall, type Using } from "../src/index.ts";
import { firstBelow, recordedIn } from "../src/journal.ts";

export const scope: Scope = { agent: "default", session: "main" };

/** A log that folds what it is given, and dies with the process after a number of appends. */
export class DyingLog implements Appender {
	view = View.empty(scope, [journal]);
	records: WalRecord[] = [];
	readonly #clock: Clock;
	#left: number;

	constructor(appendsBeforeDeath = Number.POSITIVE_INFINITY, clock: Clock = { now: () => 0 }) {
		this.#left = appendsBeforeDeath;
		this.#clock = clock;
	}

	get kinds(): string[] {
		return this.records.map(({ kind }) => kind);
	}

	revive(appends = Number.POSITIVE_INFINITY): void {
		this.#left = appends;
	}

	append(draft: Draft, at: Scope): Appended {
		if (this.#left-- <= 0) throw new Error("killed");
		const { kind } = draft;
		const seq = this.view.seq + 1;
		const data = asRead(draft.data);
		const record = { seq, ts: this.#clock.now(), kind, scope: at, data, crc: "" };
		this.view = this.view.apply(record);
		this.records.push(record);
		return { seq, record, durable: Promise.resolve() };
	}
}

/** Data as a log gives it back: half a character is U+FFFD. */
export const asRead = (data: unknown): unknown =>
	JSON.parse(JSON.stringify(data), (_, value) => (typeof value === "string" ? value.toWellFormed() : value));

export function using(log: DyingLog, more: Partial<Using> = {}): Using {
	return {
		log,
		logId: "log",
		recall: (step, program) => recall(log.view.get(journal), step, program),
		firstBelow: (lane) => firstBelow(log.view.get(journal), lane),
		recordedIn: (lane) => recordedIn(log.view.get(journal), lane),
		stepsIn: (lane) => recordedIn(log.view.get(journal), lane),
		whenInDoubt: () => "retry",
		signal: new AbortController().signal,
		...more,
	};
}

/** Milliseconds that pass only when they are told to. */
export class SimulatedTime implements Clock, Timers {
	/** How long each wait was to be. */
	readonly waits: number[] = [];
	readonly #waiting = new Set<{ readonly at: number; readonly run: () => void }>();
	#now = 1_000_000;

	/** How many wait. */
	get waiting(): number {
		return this.#waiting.size;
	}

	now(): number {
		return this.#now;
	}

	after(ms: number, run: () => void): () => void {
		const timer = { at: this.#now + ms, run };
		this.waits.push(ms);
		this.#waiting.add(timer);
		return () => this.#waiting.delete(timer);
	}

	/** Lets so much time pass, and then all that came of it happen. */
	async pass(ms: number): Promise<void> {
		await quiet();
		this.#advance(this.#now + ms);
		await quiet();
	}

	/** The process that waits is killed. */
	kill(): void {
		this.#waiting.clear();
	}

	/** Lets time pass from one timer to the next until a promise is settled. */
	async until<T>(promise: Promise<T>): Promise<T> {
		let isSettled = false;
		const settled = (): void => {
			isSettled = true;
		};
		promise.then(settled, settled);
		for (await quiet(); !isSettled; await quiet()) this.#advance(Math.min(...[...this.#waiting].map(({ at }) => at)));
		return promise;
	}

	#advance(to: number): void {
		if (!Number.isFinite(to)) throw new Error("nothing waits for the time, so it would never be settled");
		this.#now = to;
		for (const timer of [...this.#waiting].filter(({ at }) => at <= to)) {
			this.#waiting.delete(timer);
			timer.run();
		}
	}
}

/** All that needs no time has happened. */
export const quiet = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
