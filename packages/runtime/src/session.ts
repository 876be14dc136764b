/** One conversation as it is now: its state, the way to append to it, and the work that is under way in it. */
import type { View } from "@reyn/snapshot";
import type { CheckpointKind, Timeline } from "@reyn/timetravel";
import type { Appended, Appender, Draft, Scope, Seq } from "@reyn/wal";
import { type ConversationState, conversation } from "./conversation.ts";

export interface SessionScope {
	readonly agent: string;
	readonly session: string;
}

export class Session {
	readonly scope: SessionScope;
	readonly #timeline: Timeline;
	#view: View;
	#log: Appender;
	/** What runs now, by name (`turn`, `plan p12`, `skill 3f…`). */
	readonly #work = new Map<string, { readonly controller: AbortController; readonly done: Promise<void> }>();

	constructor(scope: SessionScope, timeline: Timeline, view: View) {
		this.scope = scope;
		this.#timeline = timeline;
		this.#view = view;
		this.#log = this.#bound();
	}

	/** The state as of the last record that was appended. */
	get view(): View {
		return this.#view;
	}

	get conversation(): ConversationState {
		return this.#view.get(conversation);
	}

	/** Appends to the line of history that this session is on now; after a rewind an older one refuses. */
	get log(): Appender {
		return this.#log;
	}

	/** Takes the state after a rewind; whoever holds the old log can no longer append. */
	rebuild(view: View): void {
		this.#view = view;
		this.#log = this.#bound();
	}

	checkpoint(kind: CheckpointKind, title: string, scope: Scope = this.scope): Promise<Seq> {
		return this.#timeline.checkpoint(kind, title, scope, () => this.#view);
	}

	/** Runs work in the background. `body` has to stop when its signal aborts, and never rejects. */
	start(name: string, body: (signal: AbortSignal) => Promise<void>): void {
		const controller = new AbortController();
		const done = body(controller.signal).finally(() => {
			if (this.#work.get(name)?.controller === controller) this.#work.delete(name);
		});
		this.#work.set(name, { controller, done });
	}

	isRunning(name: string): boolean {
		return this.#work.has(name);
	}

	/** Cancels one piece of work and waits until it is quiet. */
	async stop(name: string, reason: string): Promise<void> {
		const work = this.#work.get(name);
		work?.controller.abort(new Error(reason));
		await work?.done;
	}

	cancelAll(reason: string): void {
		for (const { controller } of this.#work.values()) controller.abort(new Error(reason));
	}

	/** Resolves when nothing is under way; what is started meanwhile is waited for too. */
	async idle(): Promise<void> {
		while (this.#work.size > 0) await Promise.all([...this.#work.values()].map(({ done }) => done));
	}

	/** The names of what is under way. */
	running(): readonly string[] {
		return [...this.#work.keys()];
	}

	#bound(): Appender {
		const handle = this.#timeline.handle(this.scope);
		return {
			append: (draft: Draft, scope: Scope): Appended => {
				const appended = handle.append(draft, scope);
				this.#view = this.#view.apply(appended.record);
				return appended;
			},
		};
	}
}
