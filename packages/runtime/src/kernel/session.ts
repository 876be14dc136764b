/** One session of the runtime: its state, its log, and the work under way in it. */
import type { View } from "@reyn/snapshot";
import type { Session as Line } from "@reyn/timetravel";
import type { Appender, Draft, Scope, Seq, WalRecord } from "@reyn/wal";
import type { Work } from "./work.ts";

export interface SessionScope {
	readonly agent: string;
	readonly session: string;
}

export class Session {
	readonly scope: SessionScope;
	readonly #line: Line;
	/** The names of all work that was set going in this process. */
	readonly #begun = new Set<string>();
	/** The work under way: each promise settles as the work does, also when it was stopped. */
	readonly #under = new Set<Promise<void>>();
	/** The work under way, by name: the same promises. */
	readonly #over = new Map<string, Promise<void>>();
	#isClosing = false;

	constructor(scope: SessionScope, line: Line) {
		this.scope = scope;
		this.#line = line;
	}

	/** The state as of the last record that was appended. */
	get view(): View {
		return this.#line.view;
	}

	/** The log of the current line of history. After a rewind, the `log` from before refuses covered records. */
	get log(): Appender {
		return this.#line.log;
	}

	/** Closes the session, when the current line of history has no such session any more. */
	leave(): void {
		void this.#line.close();
	}

	/** Calls back with each record that `view` takes, whoever appends it. @returns ends that */
	follow(taken: (record: WalRecord) => void): () => void {
		return this.#line.follow(taken);
	}

	/** Adopts what other lines of history know of one start. */
	adopt(start: Seq): Promise<void> {
		return this.#line.adopt(start);
	}

	/** What {@link adopt} would adopt of these starts. Writes nothing. */
	known(starts: ReadonlySet<Seq>): Promise<readonly Draft[]> {
		return this.#line.known(starts);
	}

	checkpoint(kind: string, title: string, scope?: Scope): Promise<Seq> {
		return this.#line.checkpoint(kind, title, scope);
	}

	/**
	 * Runs work in the background. Work that a rewind under way covers is not started, since it may not exist afterwards: settlement
	 * sets it going. `body` has to stop when its signal aborts, and must not reject.
	 *
	 * @returns a promise that resolves when the work is over; undefined: it was not started
	 */
	start(work: Work, body: (signal: AbortSignal) => Promise<void>): Promise<void> | undefined {
		this.#begun.add(work.name);
		if (this.#isClosing || this.#line.isHeld(work)) return undefined;
		let failed: { readonly error: unknown } | undefined;
		const ended = this.#line.begin(work.name, work, (signal) =>
			body(signal).catch((error: unknown) => {
				failed = { error };
			}),
		);
		const done = ended.then(() => {
			this.#under.delete(done);
			if (this.#over.get(work.name) === done) this.#over.delete(work.name);
			if (failed) throw failed.error;
		});
		this.#under.add(done);
		this.#over.set(work.name, done);
		return done;
	}

	isRunning({ name }: Work): boolean {
		return this.#works().some((work) => work.name === name);
	}

	/** Settles when this work, which is under way, is over. undefined: it is not under way. */
	over({ name }: Work): Promise<void> | undefined {
		return this.#over.get(name);
	}

	/** Was this work set going in this process? */
	hasBegun({ name }: Work): boolean {
		return this.#begun.has(name);
	}

	/** Cancels one piece of work and waits until it is quiet. */
	async stop({ name }: Work, reason: string): Promise<void> {
		await this.#works()
			.find((work) => work.name === name)
			?.stop(reason);
	}

	/** Cancels all work. */
	cancel(reason: string): void {
		for (const work of this.#works()) void work.stop(reason);
	}

	/** No work begins any more, even if a rewind releases some. */
	close(): void {
		this.#isClosing = true;
	}

	/** Resolves when no work is under way; what is started meanwhile is waited for too. */
	async idle(): Promise<void> {
		while (this.#under.size > 0) await Promise.all(this.#under);
	}

	get isIdle(): boolean {
		return this.#under.size === 0;
	}

	namesUnderWay(): readonly string[] {
		return this.#works().map(({ name }) => name);
	}

	/** The scopes of the work under way. */
	scopesUnderWay(): readonly Scope[] {
		return this.#works().map(({ scope }) => scope);
	}

	#works(): Line["works"] {
		return this.#line.works;
	}
}
