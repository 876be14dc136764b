/** One conversation as it is now: its state, the way to append to it, and the work that is under way in it. */
import type { View } from "@reyn/snapshot";
import type { Session as Line } from "@reyn/timetravel";
import type { Appender, Scope, Seq } from "@reyn/wal";
import type { Work } from "./work.ts";

export interface SessionScope {
	readonly agent: string;
	readonly session: string;
}

export class Session {
	readonly scope: SessionScope;
	readonly #line: Line;
	/** Everything that was set going here, by name. */
	readonly #begun = new Set<string>();
	/** Each is over when that piece of work is, and fails as it does, also where it was stopped. */
	readonly #under = new Set<Promise<void>>();
	#isClosing = false;

	constructor(scope: SessionScope, line: Line) {
		this.scope = scope;
		this.#line = line;
	}

	/** The state as of the last record that was appended. */
	get view(): View {
		return this.#line.view;
	}

	/** Appends to the line of history that this session is on now; after a rewind an older one refuses what was covered. */
	get log(): Appender {
		return this.#line.log;
	}

	/** The current line of history has no such session. */
	leave(): void {
		void this.#line.close();
	}

	checkpoint(kind: string, title: string, scope?: Scope): Promise<Seq> {
		return this.#line.checkpoint(kind, title, scope);
	}

	/**
	 * Runs work in the background; what a rewind that is under way covers is left for later, since afterwards it may not be there. `body`
	 * has to stop when its signal aborts, and never rejects.
	 *
	 * @returns resolves when it is not running any more; undefined where it was left for later
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
			if (failed) throw failed.error;
		});
		this.#under.add(done);
		return done;
	}

	isRunning({ name }: Work): boolean {
		return this.#works().some((work) => work.name === name);
	}

	/** Was it set going in this process? */
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

	/** From now on no work begins, whatever a rewind that is under way releases. */
	close(): void {
		this.#isClosing = true;
	}

	/** Resolves when no work is under way; what is started meanwhile is waited for too. */
	async idle(): Promise<void> {
		while (this.#under.size > 0) await Promise.all(this.#under);
	}

	/** The scopes of what is under way. */
	scopesUnderWay(): readonly Scope[] {
		return this.#works().map(({ scope }) => scope);
	}

	#works(): Line["works"] {
		return this.#line.works;
	}
}
