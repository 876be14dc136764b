/**
 * The pump of events: it follows the durable records, in the writer and in a reader alike, and tells their events in the order of the
 * log. Events without a record, which only the working process knows, come in their place among them.
 */
import type { View } from "@reyn/snapshot";
import type { Lineage, Timeline } from "@reyn/timetravel";
import type { BlobStore, Seq, Wal, WalRecord } from "@reyn/wal";
import type { KernelEvent } from "./events.ts";
import { StatesBefore } from "./states-before.ts";

/** An event. `seq` is the durable record that it is derived from; an event without `seq` comes in the working process alone. */
export interface Told {
	readonly type: string;
	readonly seq?: Seq;
}

/** What the events of a record may depend on, besides the record. It is the same for every reader of the log. */
export interface TellContext {
	/** The state of the record's session just before it, on the record's own line of history. */
	before(): Promise<View>;
	/** The blobs beside the log. They are named by their hashes, so a record always finds the blob that it means. */
	blobs(area: string): BlobStore;
}

/** Derives the events of a record; they get its seq. Only the record and the context count: no clock, no memory. */
export type Tell = (record: WalRecord, context: TellContext) => readonly Told[] | Promise<readonly Told[]>;

export interface Subscription {
	/** The caller knows the events of the records up to this seq. Those of later records that count come first. Default: the tip. */
	readonly after?: Seq | undefined;
	/** Ends the subscription. */
	readonly signal?: AbortSignal | undefined;
}

export interface PumpPorts {
	readonly wal: Wal;
	readonly timeline: Timeline;
	readonly tells: readonly Tell[];
	blobs(area: string): BlobStore;
	/** Is the disk full? Then events without a record do not wait for records before them. */
	isFull(): boolean;
}

export class Pump {
	readonly #ports: PumpPorts;
	readonly #listeners = new Set<Listener>();
	#isOver = false;

	constructor(ports: PumpPorts) {
		this.#ports = ports;
	}

	/** Tells an event without a record, after the events of all records so far. */
	say(event: Told): void {
		const at = this.#ports.wal.tip;
		for (const listener of this.#listeners) listener.hear({ at, event });
	}

	/** Tells an event at once, which must not wait for the log: that the log itself waits. */
	sayAtOnce(event: Told): void {
		for (const listener of this.#listeners) listener.hear({ at: 0, event });
	}

	/** Subscribes from a seq on. Each recorded event comes once, and none is lost, however slow the listener is. */
	subscribe({ after = this.#ports.wal.tip, signal }: Subscription = {}): AsyncGenerator<Told> {
		const left = new AbortController();
		const until = signal ? AbortSignal.any([signal, left.signal]) : left.signal;
		const events = this.#listen(new Listener(after, MAX_LIVE, this.#ports.isFull), this.#ports.timeline.lineage, until);
		const leave = events.return.bind(events);
		// Aborts the wait for the next event too.
		events.return = (value) => {
			left.abort();
			return leave(value);
		};
		return events;
	}

	/**
	 * Gives one listener all events from now on.
	 *
	 * @returns a function that resolves once the listener has got the events up to a seq
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
		// It never rejects: a log that cannot be read becomes an event, and the listener does not throw.
		void work();
		return (seq) => listener.reaches(seq);
	}

	/** Ends all subscriptions, once the log is closed: listeners get the rest first. */
	end(): void {
		this.#isOver = true;
		for (const listener of this.#listeners) listener.wake();
	}

	/** @param whenLost makes the event for a log that cannot be read; absent: the error is thrown */
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
					// Records that are not durable by now tell nothing; events without a record wait for none any more.
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

/** How many events without a record may wait for a slow listener; older ones are dropped, and it is told how many it `missed`. */
const MAX_LIVE = 1000;

/** An event without a record. `at` is the tip of the log when it was told. */
interface Live {
	readonly at: Seq;
	readonly event: Told;
}

/** One listener: how far it has been told, and the events that wait until the records before them are told. */
class Listener {
	readonly #most: number;
	readonly #isFull: () => boolean;
	#told: Seq;
	#waiting: Live[] = [];
	#missed = 0;
	#wake: (() => void) | undefined;
	#isEnded = false;
	#reaching: { readonly seq: Seq; readonly resolve: () => void }[] = [];

	/** @param most how many events without a record may wait */
	constructor(after: Seq, most: number, isFull: () => boolean) {
		this.#told = after;
		this.#isFull = isFull;
		this.#most = most;
	}

	get told(): Seq {
		return this.#told;
	}

	/** Takes an event without a record. If too many wait, the oldest is dropped. */
	hear(live: Live): void {
		if (this.#waiting.length >= this.#most) {
			this.#waiting.shift();
			this.#missed++;
		}
		this.#waiting.push(live);
		this.wake();
	}

	/** The next waiting event that may be told now. */
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

	/** Resolves when the events up to a seq are told, or the subscription has ended. */
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
