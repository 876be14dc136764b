/** Sessions: where work runs. A move stops the work that it covers, and work that is asked for meanwhile waits for its end. */
import type { View } from "@reyn/snapshot";
import {
	type Appender,
	type Draft,
	type Scope,
	type Seq,
	scopeKey,
	type Timers,
	type WalRecord,
	within,
} from "@reyn/wal";
import { TimetravelError } from "./errors.ts";
import type { Live } from "./live.ts";
import type { Timeline } from "./timeline.ts";
import type { Coverage } from "./undo.ts";

/** The classes of records that a piece of work writes. */
export interface Covers {
	readonly scope: Scope;
	/** The kinds of record; absent: any. */
	readonly kinds?: readonly string[];
}

/** Work that is under way. */
export interface Work extends Covers {
	readonly name: string;
	/** Aborts its signal, and waits until it is quiet. */
	stop(reason: string): Promise<void>;
}

/** The current line of history of a scope. After a move it is the line that the move leads to. */
export interface Session {
	readonly scope: Scope;
	/** The state as of the last record that was appended. */
	readonly view: View;
	/** The log of the current line; `view` folds what it appends. After a move, the `log` from before refuses covered records (`STALE_LINEAGE`). */
	readonly log: Appender;
	/** Calls back with each record that `view` takes, whoever appends it; `taken` must not throw. @returns ends that */
	follow(taken: (record: WalRecord) => void): () => void;
	/**
	 * Adopts what other lines of history know of a start, if that is open: its outcome, or that another try of it was begun. What was
	 * known of the starts that were open at a rewind is adopted then; ask before one that has failed since is made again.
	 */
	adopt(start: Seq): Promise<void>;
	/** What {@link adopt} would adopt of these starts: for a preview. Writes nothing. */
	known(starts: ReadonlySet<Seq>): Promise<readonly Draft[]>;
	/** @param scope default: the session's. @throws as `Timeline.checkpoint` does */
	checkpoint(kind: string, title: string, scope?: Scope): Promise<Seq>;
	/**
	 * Runs some work: at once, or after the work of the same name and any move that covers it. A later move that covers it stops it, and
	 * is written once it has stopped; the caller begins the work again if it is to go on.
	 *
	 * @param covers the records that the work may write
	 * @param work has to stop when its signal aborts; it appends to the log that it is given, or that the session had when it began
	 * @returns `stopped`: the signal aborted, whatever the work did then; or the session was closed before the work began
	 * @throws what the work throws, unless it was stopped
	 */
	begin(
		name: string,
		covers: Covers,
		work: (signal: AbortSignal, log: Appender) => Promise<unknown>,
	): Promise<"over" | "stopped">;
	/** The work that is under way. */
	readonly works: readonly Work[];
	/** Would work that writes these records have to wait for a move? */
	isHeld(covers: Covers): boolean;
	/** Resolves when no work is under way and none waits. */
	idle(): Promise<void>;
	/** Stops all work and waits for its end. No work begins any more, and `view` stays as it is. */
	close(): Promise<void>;
}

/**
 * Opens the session of a scope; there is one for each scope until it is closed. Every move of the timeline stops its work, also by
 * {@link moveWith}; {@link Timeline.attend} is for work outside of sessions.
 *
 * @throws as `Timeline.live` does
 */
export const openSession = (timeline: Timeline, scope: Scope): Promise<Session> => timeline.sessions.open(scope);

export interface SessionsPorts {
	live(scope: Scope): Promise<Live>;
	checkpoint(kind: string, title: string, scope: Scope, view: View): Promise<Seq>;
	adopt(scope: Scope, start: Seq): Promise<void>;
	known(scope: Scope, starts: ReadonlySet<Seq>): Promise<readonly Draft[]>;
	readonly timers: Timers;
	/** How long work may take to stop, in milliseconds. */
	readonly quietMs: number;
}

export class Sessions {
	readonly #ports: SessionsPorts;
	readonly #opening = new Map<string, Promise<Session>>();
	readonly #open = new Set<OpenSession>();
	/** The moves under way: a promise that resolves when work may begin again, with what the move covers. */
	readonly #moves = new Map<Promise<void>, Coverage>();

	constructor(ports: SessionsPorts) {
		this.#ports = ports;
	}

	open(scope: Scope): Promise<Session> {
		const key = scopeKey(scope);
		const known = this.#opening.get(key);
		if (known) return known;
		const opening = this.#load(scope, () => {
			if (this.#opening.get(key) === opening) this.#opening.delete(key);
		});
		this.#opening.set(key, opening);
		return opening;
	}

	async #load(scope: Scope, forget: () => void): Promise<Session> {
		try {
			const live = await this.#ports.live(scope);
			const session: OpenSession = new OpenSession(live, {
				checkpoint: (...of) => this.#ports.checkpoint(...of),
				adopt: (...of) => this.#ports.adopt(...of),
				known: (...of) => this.#ports.known(...of),
				held: (covers) => this.held(covers),
				closing: forget,
				closed: () => void this.#open.delete(session),
			});
			this.#open.add(session);
			return session;
		} catch (error) {
			forget();
			throw error;
		}
	}

	/** Resolves when the move that covers these records is over; undefined: none does. */
	held(covers: Covers): Promise<void> | undefined {
		for (const [over, coverage] of this.#moves) if (isCovered(covers, coverage)) return over;
		return undefined;
	}

	/**
	 * Stops the work that a move covers, and holds new work.
	 *
	 * @returns a function that lets work begin again
	 * @throws TimetravelError `TIMETRAVEL_NOT_QUIET`; nothing is held then
	 */
	async quiet(coverage: Coverage): Promise<() => void> {
		const { promise, resolve } = Promise.withResolvers<void>();
		this.#moves.set(promise, coverage);
		const over = (): void => {
			this.#moves.delete(promise);
			resolve();
		};
		const covered = (): readonly Work[] =>
			[...this.#open].flatMap(({ works }) => works).filter((work) => isCovered(work, coverage));
		const stopping = covered();
		const stopped = Promise.all(stopping.map((work) => work.stop("a rewind is under way")));
		if (await this.#inTime(stopped)) return over;
		const [still, cancelled] = [covered(), stopping].map((works) => works.map(({ name }) => name));
		over();
		throw new TimetravelError(
			"TIMETRAVEL_NOT_QUIET",
			`${still?.join(", ")} did not stop in time; nothing was rewound. Stopped: ${cancelled?.join(", ")}; begin it again, and have it heed its signal`,
			{ still, cancelled },
		);
	}

	#inTime(work: Promise<unknown>): Promise<boolean> {
		const { timers, quietMs } = this.#ports;
		return new Promise((resolve) => {
			const noMore = timers.after(quietMs, () => resolve(false));
			void work.then(() => {
				noMore();
				resolve(true);
			});
		});
	}
}

/** Does a move take any of these classes back? */
const isCovered = ({ scope, kinds }: Covers, { scope: moved, drop }: Coverage): boolean =>
	within(scope, moved) && (!drop || (kinds ?? drop).some((kind) => drop.includes(kind)));

interface OpenSessionPorts extends Pick<SessionsPorts, "checkpoint" | "adopt" | "known"> {
	held(covers: Covers): Promise<void> | undefined;
	closing(): void;
	closed(): void;
}

class OpenSession implements Session {
	readonly #live: Live;
	readonly #ports: OpenSessionPorts;
	readonly #works = new Set<Work>();
	/** For each name, resolves when the last work that was asked for is over. */
	readonly #asked = new Map<string, Promise<void>>();
	#isClosed = false;

	constructor(live: Live, ports: OpenSessionPorts) {
		this.#live = live;
		this.#ports = ports;
	}

	get scope(): Scope {
		return this.#live.scope;
	}

	get view(): View {
		return this.#live.view;
	}

	get log(): Appender {
		return this.#live.handle();
	}

	get works(): readonly Work[] {
		return [...this.#works];
	}

	follow(taken: (record: WalRecord) => void): () => void {
		return this.#live.follow(taken);
	}

	adopt(start: Seq): Promise<void> {
		return this.#ports.adopt(this.scope, start);
	}

	known(starts: ReadonlySet<Seq>): Promise<readonly Draft[]> {
		return this.#ports.known(this.scope, starts);
	}

	checkpoint(kind: string, title: string, scope: Scope = this.scope): Promise<Seq> {
		return this.#ports.checkpoint(kind, title, scope, this.view);
	}

	isHeld(covers: Covers): boolean {
		return this.#ports.held(covers) !== undefined;
	}

	async begin(
		name: string,
		{ scope, kinds }: Covers,
		work: (signal: AbortSignal, log: Appender) => Promise<unknown>,
	): Promise<"over" | "stopped"> {
		const { promise: over, resolve } = Promise.withResolvers<void>();
		const before = this.#asked.get(name);
		this.#asked.set(name, over);
		const covers: Covers = { scope, ...(kinds && { kinds }) };
		const controller = new AbortController();
		const { signal } = controller;
		const stop = (reason: string): Promise<void> => {
			controller.abort(new Error(reason));
			return over;
		};
		const running = { name, ...covers, stop };
		try {
			// Without anything to wait for, the work begins synchronously.
			if (before) await before;
			for (let held = this.#ports.held(covers); held; held = this.#ports.held(covers)) await held;
			if (this.#isClosed) return "stopped";
			this.#works.add(running);
			await work(signal, this.log);
			return signal.aborted ? "stopped" : "over";
		} catch (error) {
			if (signal.aborted) return "stopped";
			throw error;
		} finally {
			this.#works.delete(running);
			if (this.#asked.get(name) === over) this.#asked.delete(name);
			resolve();
		}
	}

	async idle(): Promise<void> {
		while (this.#asked.size > 0) await Promise.all(this.#asked.values());
	}

	async close(): Promise<void> {
		this.#isClosed = true;
		// Before any await, so that opening the scope again gives a new session.
		this.#live.close();
		this.#ports.closing();
		for (const work of this.#works) void work.stop("the session is closed");
		await this.idle();
		this.#ports.closed();
	}
}
