/**
 * One pump: it follows the durable records, in the writer and in who only reads, and tells what they say, in their order. What no
 * record says, which this process alone knows, comes in its place among them.
 */
import type { View } from "@reyn/snapshot";
import type { Lineage, Timeline } from "@reyn/timetravel";
import type { BlobStore, Seq, Wal, WalRecord } from "@reyn/wal";
import type { KernelEvent } from "./events.ts";
import { StatesBefore } from "./states-before.ts";

/** What is told: with `seq`, the durable record that it is derived from; without, it comes in the process that works alone. */
export interface Told {
	readonly type: string;
	readonly seq?: Seq;
}

/** What a record is looked at with, beside itself. It is the same for whoever reads the log. */
export interface TellContext {
	/** The state of the record's session just before it, on the record's own line of history. */
	before(): Promise<View>;
	/** What lies beside the log: under its hash, so that it is what the record means. */
	blobs(area: string): BlobStore;
}

/** What a record tells; its events get the seq of the record. Of the record and what is looked up alone: no clock, no memory. */
export type Tell = (record: WalRecord, context: TellContext) => readonly Told[] | Promise<readonly Told[]>;

export interface Subscription {
	/** What was told of the records up to here is known. Those after it are told first, where they count. Default: all that there are now. */
	readonly after?: Seq | undefined;
	/** Ends it. */
	readonly signal?: AbortSignal | undefined;
}

export interface PumpPorts {
	readonly wal: Wal;
	readonly timeline: Timeline;
	readonly tells: readonly Tell[];
	blobs(area: string): BlobStore;
	/** Has the log no space? What no record says waits for none then. */
	isFull(): boolean;
}

export class Pump {
	readonly #ports: PumpPorts;
	readonly #listeners = new Set<Listener>();
	#isOver = false;

	constructor(ports: PumpPorts) {
		this.#ports = ports;
	}

	/** Tells what no record says, once all is told that was recorded before it. */
	say(event: Told): void {
		const at = this.#ports.wal.tip;
		for (const listener of this.#listeners) listener.hear({ at, event });
	}

	/** Tells at once what cannot wait for the log: that the log waits. */
	sayAtOnce(event: Told): void {
		for (const listener of this.#listeners) listener.hear({ at: 0, event });
	}

	/** From a seq on; what is recorded comes once, and nothing of it is lost, however slow the listener. */
	subscribe({ after = this.#ports.wal.tip, signal }: Subscription = {}): AsyncGenerator<Told> {
		const left = new AbortController();
		const until = signal ? AbortSignal.any([signal, left.signal]) : left.signal;
		const events = this.#listen(new Listener(after, MAX_LIVE, this.#ports.isFull), this.#ports.timeline.lineage, until);
		const leave = events.return.bind(events);
		// Also while it waits for the next one.
		events.return = (value) => {
			left.abort();
			return leave(value);
		};
		return events;
	}

	/**
	 * Has one listener told of all from now on, and gives a way to wait until it has been told of a seq.
	 *
	 * @param hear never throws
	 */
	attach(hear: (event: Told) => void): (seq: Seq) => Promise<void> {
		const listener = new Listener(this.#ports.wal.tip, Number.POSITIVE_INFINITY, this.#ports.isFull);
		const whenLost = (error: unknown): Told => untold({ reason: (error as Error).message });
		const events = this.#listen(listener, this.#ports.timeline.lineage, undefined, whenLost);
		const work = async (): Promise<void> => {
			try {
				for await (const event of events) hear(event);
			} finally {
				listener.end();
			}
		};
		// It never rejects: what cannot be read is said, and a listener throws nothing.
		void work();
		return (seq) => listener.reaches(seq);
	}

	/** The log is closed, and nothing is said any more: whoever listens is told the rest, and that it is over. */
	end(): void {
		this.#isOver = true;
		for (const listener of this.#listeners) listener.wake();
	}

	/** @param whenLost what is said where the log cannot be read; absent: it is thrown */
	async *#listen(
		listener: Listener,
		known: Lineage,
		signal: AbortSignal | undefined,
		whenLost?: (error: unknown) => Told,
	): AsyncGenerator<Told> {
		const { wal } = this.#ports;
		const stop = new AbortController();
		const wake = (): void => listener.wake();
		signal?.addEventListener("abort", wake);
		const following = signal ? AbortSignal.any([signal, stop.signal]) : stop.signal;
		const records = wal.follow({ after: listener.told, signal: following })[Symbol.asyncIterator]();
		const states = new StatesBefore(this.#ports, known);
		this.#listeners.add(listener);
		let next: Promise<IteratorResult<WalRecord>> | undefined;
		let isEnded = false;
		try {
			for (;;) {
				for (let live = listener.due(); live && !signal?.aborted; live = listener.due()) yield live;
				if (signal?.aborted || (isEnded && this.#isOver)) return;
				const woken = listener.woken();
				if (!isEnded)
					next ??= records.next().catch((error: unknown) => {
						if (!whenLost) throw error;
						listener.hear({ at: 0, event: whenLost(error) });
						return { done: true, value: undefined };
					});
				const found = await (next ? Promise.race([next, woken]) : woken);
				if (!found) continue;
				next = undefined;
				if (found.done) {
					// What is not durable by now is told by nobody; what was said meanwhile waits for no record any more.
					isEnded = true;
					listener.reached(Number.POSITIVE_INFINITY);
					continue;
				}
				const record = found.value;
				for (const event of await this.#eventsOf(record, states)) {
					if (signal?.aborted) return;
					yield event;
				}
				listener.reached(record.seq);
			}
		} finally {
			this.#listeners.delete(listener);
			listener.end();
			signal?.removeEventListener("abort", wake);
			stop.abort();
			next?.catch(() => {});
		}
	}

	async #eventsOf(record: WalRecord, states: StatesBefore): Promise<readonly Told[]> {
		const { tells, blobs } = this.#ports;
		const { seq } = record;
		const events: Told[] = [];
		const context: TellContext = { before: () => states.before(record), blobs };
		if (states.counts(record))
			for (const tell of tells) {
				try {
					for (const event of await tell(record, context)) events.push({ ...event, seq });
				} catch (error) {
					events.push({ ...untold({ kind: record.kind, reason: (error as Error).message }), seq });
				}
			}
		states.pass(record);
		return events;
	}
}

type Untold = Extract<KernelEvent, { type: "untold" }>;

const untold = (of: Omit<Untold, "type">): Untold => ({ type: "untold", ...of });

/** What may wait for a slow listener that no log has. */
const MAX_LIVE = 1000;

/** Said by this process, when the log had come to `at`. */
interface Live {
	readonly at: Seq;
	readonly event: Told;
}

/** How far somebody has been told, and what waits until the records before it are. */
class Listener {
	readonly #most: number;
	readonly #isFull: () => boolean;
	#told: Seq;
	#waiting: Live[] = [];
	#missed = 0;
	#wake: (() => void) | undefined;
	#isEnded = false;
	#reaching: { readonly seq: Seq; readonly resolve: () => void }[] = [];

	/** @param most how much may wait that no log has */
	constructor(after: Seq, most: number, isFull: () => boolean) {
		this.#told = after;
		this.#isFull = isFull;
		this.#most = most;
	}

	get told(): Seq {
		return this.#told;
	}

	/** The oldest is given up where too much waits: it is in no log. */
	hear(live: Live): void {
		if (this.#waiting.length >= this.#most) {
			this.#waiting.shift();
			this.#missed++;
		}
		this.#waiting.push(live);
		this.wake();
	}

	/** What may be told by now. */
	due(): Told | undefined {
		const at = this.#waiting.findIndex((live) => live.at <= this.#told || this.#isFull());
		if (at < 0) {
			this.#resolveReached();
			return undefined;
		}
		if (this.#missed > 0) {
			const missed = { type: "missed", events: this.#missed } satisfies KernelEvent;
			this.#missed = 0;
			return missed;
		}
		return this.#waiting.splice(at, 1)[0]?.event;
	}

	reached(seq: Seq): void {
		this.#told = seq;
	}

	/** Resolves when all is told up to a seq, or nothing is told any more. */
	reaches(seq: Seq): Promise<void> {
		if (this.#isEnded) return Promise.resolve();
		const { promise, resolve } = Promise.withResolvers<void>();
		this.#reaching.push({ seq, resolve });
		this.wake();
		return promise;
	}

	wake(): void {
		this.#wake?.();
	}

	woken(): Promise<undefined> {
		return new Promise((resolve) => {
			this.#wake = () => resolve(undefined);
		});
	}

	end(): void {
		this.#isEnded = true;
		this.#resolveReached();
	}

	#resolveReached(): void {
		const isThere = ({ seq }: { readonly seq: Seq }): boolean => this.#isEnded || seq <= this.#told;
		for (const { resolve } of this.#reaching.filter(isThere)) resolve();
		this.#reaching = this.#reaching.filter((each) => !isThere(each));
	}
}
