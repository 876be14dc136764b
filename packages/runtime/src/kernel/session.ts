/** One conversation as it is now: its state, the way to append to it, and the work that is under way in it. */
import type { View } from "@reyn/snapshot";
import type { Live, Timeline } from "@reyn/timetravel";
import type { Appender, Scope, Seq } from "@reyn/wal";
import type { Classes, Work } from "./work.ts";

export interface SessionScope {
	readonly agent: string;
	readonly session: string;
}

interface Running extends Work {
	readonly controller: AbortController;
	readonly done: Promise<void>;
}

export class Session {
	readonly scope: SessionScope;
	readonly #timeline: Timeline;
	readonly #live: Live;
	/** What runs now, by name. */
	readonly #work = new Map<string, Running>();
	/** Everything that was set going here, by name. */
	readonly #begun = new Set<string>();
	/** What must not begin now. */
	#held: ((work: Classes) => boolean)[] = [];
	#isClosing = false;

	constructor(scope: SessionScope, timeline: Timeline, live: Live) {
		this.scope = scope;
		this.#timeline = timeline;
		this.#live = live;
	}

	/** The state as of the last record that was appended. */
	get view(): View {
		return this.#live.view;
	}

	/** Appends to the line of history that this session is on now; after a rewind an older one refuses what was covered. */
	get log(): Appender {
		return this.#live.handle();
	}

	/** The current line of history has no such session. */
	leave(): void {
		this.#live.close();
	}

	checkpoint(kind: string, title: string, scope: Scope = this.scope): Promise<Seq> {
		return this.#timeline.checkpoint(kind, title, scope, this.view);
	}

	/**
	 * Runs work in the background; what is held is left for later. `body` has to stop when its signal aborts, and never
	 * rejects.
	 */
	start(work: Work, body: (signal: AbortSignal) => Promise<void>): void {
		const { name } = work;
		this.#begun.add(name);
		if (this.#isClosing || this.#held.some((isHeld) => isHeld(work))) return;
		const controller = new AbortController();
		const done = body(controller.signal).finally(() => {
			if (this.#work.get(name)?.controller === controller) this.#work.delete(name);
		});
		this.#work.set(name, { ...work, controller, done });
	}

	isRunning({ name }: Work): boolean {
		return this.#work.has(name);
	}

	/** Was it set going in this process? */
	hasBegun({ name }: Work): boolean {
		return this.#begun.has(name);
	}

	/** Cancels one piece of work and waits until it is quiet. */
	async stop({ name }: Work, reason: string): Promise<void> {
		const work = this.#work.get(name);
		work?.controller.abort(new Error(reason));
		await work?.done;
	}

	/** Cancels all work of some kind, and gives the names of what it cancelled. */
	cancel(reason: string, which: (work: Classes) => boolean = () => true): readonly string[] {
		const chosen = [...this.#work.values()].filter(which);
		for (const { controller } of chosen) controller.abort(new Error(reason));
		return chosen.map(({ name }) => name);
	}

	/** From now on no work begins, whatever a rewind that is under way releases. */
	close(): void {
		this.#isClosing = true;
	}

	/** Until `release`, no work of this kind begins. */
	hold(which: (work: Classes) => boolean): void {
		this.#held.push(which);
	}

	release(): void {
		this.#held = [];
	}

	/** Resolves when no such work is under way; what is started meanwhile is waited for too. */
	async idle(which: (work: Classes) => boolean = () => true): Promise<void> {
		for (;;) {
			const running = [...this.#work.values()].filter(which);
			if (running.length === 0) return;
			await Promise.all(running.map(({ done }) => done));
		}
	}

	/** The names of what is under way. */
	running(which: (work: Classes) => boolean = () => true): readonly string[] {
		return [...this.#work.values()].filter(which).map(({ name }) => name);
	}

	/** The scopes of what is under way. */
	scopesUnderWay(): readonly Scope[] {
		return [...this.#work.values()].map(({ scope }) => scope);
	}
}
