/** Work in the background over a log of its own, or one that somebody else has opened: each piece once at a time, stopped by a move. */
import type { Scope } from "@reyn/wal";
import type { WorkingSession } from "./own-log.ts";

export interface OwnWorkOptions {
	/** What a piece is called before its id. */
	readonly kind: string;
	readonly session: WorkingSession & { readonly scope: Scope };
	/** Goes on with a piece from wherever it stands. */
	goOn(id: string, signal: AbortSignal): Promise<void>;
	/** Gets why work on a piece has stopped before its end. It is not called for what was stopped here. */
	failed(id: string, why: Error): void;
	/** Stops all work. */
	readonly signal?: AbortSignal | undefined;
	/** What `close` says to the work under way. */
	readonly closed: string;
}

export class OwnWork {
	readonly #options: OwnWorkOptions;
	readonly #closing = new AbortController();
	readonly #works = new Map<string, { readonly stop: AbortController; readonly over: Promise<void> }>();
	/** Stops with everything. */
	readonly signal: AbortSignal;

	constructor(options: OwnWorkOptions) {
		this.#options = options;
		const { signal } = options;
		this.signal = signal ? AbortSignal.any([signal, this.#closing.signal]) : this.#closing.signal;
	}

	/** Goes on with a piece in the background, unless that is under way. */
	launch(id: string): void {
		if (this.#works.has(id)) return;
		const stop = new AbortController();
		const signal = AbortSignal.any([stop.signal, this.signal]);
		const over = this.#work(id, signal)
			.catch((why) => {
				if (!signal.aborted) this.#options.failed(id, why);
			})
			.finally(() => this.#works.delete(id));
		this.#works.set(id, { stop, over });
	}

	/** Resolves when a piece is not under way any more. */
	async over(id: string): Promise<void> {
		await this.#works.get(id)?.over;
	}

	async stop(id: string, reason: string): Promise<void> {
		this.#works.get(id)?.stop.abort(new Error(reason));
		await this.over(id);
	}

	/** Resolves when nothing is at work. */
	async idle(): Promise<void> {
		while (this.#works.size > 0) await Promise.all([...this.#works.values()].map(({ over }) => over));
	}

	/** Begins nothing from now on, and stops what is under way: wait with `idle`. */
	close(): void {
		this.#closing.abort(new Error(this.#options.closed));
	}

	/** A move stops the work. On the line that it leads to, the piece goes on from where it is there. */
	async #work(id: string, stop: AbortSignal): Promise<void> {
		const { kind, session, goOn } = this.#options;
		const scope = { ...session.scope, run: id };
		for (;;) {
			let isBegun = false;
			const how = await session.begin(`${kind} ${id}`, { scope }, async (signal) => {
				isBegun = true;
				await goOn(id, AbortSignal.any([signal, stop]));
			});
			// One that did not begin is of a session that was closed.
			if (how === "over" || !isBegun || stop.aborted) return;
		}
	}
}
