/** Sessions: lines of history that work goes on in. A move stops what it covers of that, and what is asked for meanwhile waits. */
import type { View } from "@reyn/snapshot";
import { type Appender, type Scope, type Seq, scopeKey, type Timers, within } from "@reyn/wal";
import { TimetravelError } from "./errors.ts";
import type { Live } from "./live.ts";
import type { Timeline } from "./timeline.ts";
import type { Coverage } from "./undo.ts";

/** The classes of records that a piece of work writes. */
export interface Covers {
	readonly scope: Scope;
	/** Absent: any. */
	readonly kinds?: readonly string[];
}

/** Work that is under way. */
export interface Work extends Covers {
	readonly name: string;
	/** Aborts its signal, and waits until it is quiet. */
	stop(reason: string): Promise<void>;
}

/** One line of history, from now on: after a move it is the line that the move leads to. */
export interface Session {
	readonly scope: Scope;
	/** The state as of the last record that was appended. */
	readonly view: View;
	/** A log that `view` folds, of the line of now: after a move an older one refuses what was covered (`STALE_LINEAGE`). */
	readonly log: Appender;
	/** @param scope default: the session's. @throws as `Timeline.checkpoint` does */
	checkpoint(kind: string, title: string, scope?: Scope): Promise<Seq>;
	/**
	 * Does some work: at once, or when the one of this name is over, and the move that covers it. Such a move stops it, and is written when it
	 * has stopped; whoever wants it to go on begins it again then.
	 *
	 * @param covers what it may write
	 * @param work stops when its signal aborts, and appends to the log that it is given, or that the session had when it began
	 * @returns `stopped`: its signal has aborted, whatever it did then; or the session was closed before it began
	 * @throws what it throws, unless it was stopped
	 */
	begin(
		name: string,
		covers: Covers,
		work: (signal: AbortSignal, log: Appender) => Promise<unknown>,
	): Promise<"over" | "stopped">;
	/** What is under way now. */
	readonly works: readonly Work[];
	/** Would work that writes this wait, for a move that is under way? */
	isHeld(covers: Covers): boolean;
	/** Resolves when nothing is under way, and nothing waits. */
	idle(): Promise<void>;
	/** Stops what is under way, and waits for it. Nothing begins any more, and `view` stays as it is. */
	close(): Promise<void>;
}

/**
 * Opens the session of a scope; there is one for each, until it is closed. All moves of the timeline know of it, those of {@link moveWith} too:
 * {@link Timeline.attend} is for what lies beside it.
 *
 * @throws as `Timeline.live` does
 */
export const openSession = (timeline: Timeline, scope: Scope): Promise<Session> => timeline.sessions.open(scope);

export interface SessionsPorts {
	live(scope: Scope): Promise<Live>;
	checkpoint(kind: string, title: string, scope: Scope, view: View): Promise<Seq>;
	readonly timers: Timers;
	/** How long work may take to stop. */
	readonly quietMs: number;
}

export class Sessions {
	readonly #ports: SessionsPorts;
	readonly #opening = new Map<string, Promise<Session>>();
	readonly #open = new Set<OpenSession>();
	/** The moves under way, by what lets work begin again. */
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

	/** Resolves when a move is over that covers this; undefined where none does. */
	held(covers: Covers): Promise<void> | undefined {
		for (const [over, coverage] of this.#moves) if (isCovered(covers, coverage)) return over;
		return undefined;
	}

	/**
	 * Stops the work that a move covers, and holds what would begin.
	 *
	 * @returns what lets it begin again
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

interface OpenSessionPorts extends Pick<SessionsPorts, "checkpoint"> {
	held(covers: Covers): Promise<void> | undefined;
	closing(): void;
	closed(): void;
}

class OpenSession implements Session {
	readonly #live: Live;
	readonly #ports: OpenSessionPorts;
	readonly #works = new Set<Work>();
	/** By name, when the last that was asked for is over. */
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
			// Where nothing is to be waited for it begins within this call.
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
		// At once: who opens it again gets a new one.
		this.#live.close();
		this.#ports.closing();
		for (const work of this.#works) void work.stop("the session is closed");
		await this.idle();
		this.#ports.closed();
	}
}
