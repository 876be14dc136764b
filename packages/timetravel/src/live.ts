/** Live states: each follows the records that are appended through handles, and is made anew after a rewind. */
import type { View } from "@reyn/snapshot";
import { type Appender, type Scope, type Seq, scopeKey, type WalRecord, within } from "@reyn/wal";

/** The state of a scope as of the last record that was appended through a handle. */
export interface Live {
	readonly scope: Scope;
	readonly view: View;
	/**
	 * A log for work that begins with this state: each record is in `view` before `append` returns. After a rewind it refuses the
	 * records that the rewind covers, with `STALE_LINEAGE`; an outcome is kept all the same if the timeline has `outcomes`.
	 */
	handle(): Appender;
	/** Calls back with each record that the state takes, once it is in `view`; `taken` must not throw. @returns ends that */
	follow(taken: (record: WalRecord) => void): () => void;
	/** The state takes no more records. Asking for the scope again gives a new live state. */
	close(): void;
}

export interface LivesPorts {
	/** The present state, the tip and the newest reset, all of one moment. */
	now(scope: Scope): { readonly tip: Seq; readonly reset: Seq; readonly view: Promise<View> };
	/** A log for the line that the reset at this seq has begun. */
	handle(reset: Seq): Appender;
}

/** All open live states, one for each scope, so that every append reaches every holder. */
export class Lives {
	readonly #ports: LivesPorts;
	readonly #all = new Map<string, LiveState>();

	constructor(ports: LivesPorts) {
		this.#ports = ports;
	}

	get isEmpty(): boolean {
		return this.#all.size === 0;
	}

	find(scope: Scope): LiveState | undefined {
		return this.#all.get(scopeKey(scope));
	}

	/** Registers a live state, whose view is still to be made. */
	add(scope: Scope): LiveState {
		const live = this.make(scope);
		this.#all.set(scopeKey(scope), live);
		return live;
	}

	/** Makes a live state without registering it: it gets only the records that it is handed. */
	make(scope: Scope): LiveState {
		const live: LiveState = new LiveState(scope, this.#ports, () => this.#remove(live));
		return live;
	}

	has(live: LiveState): boolean {
		return this.find(live.scope) === live;
	}

	take(record: WalRecord): void {
		for (const live of this.holding(record.scope)) live.take(record);
	}

	/** The live states that a record of this scope belongs to. */
	holding(scope: Scope): readonly LiveState[] {
		if (this.#all.size === 0) return [];
		return holding(scope).flatMap((each) => this.#all.get(scopeKey(each)) ?? []);
	}

	/** The live states that a reset of this scope may change. */
	overlapping(scope: Scope): readonly LiveState[] {
		return [...this.#all.values()].filter((live) => overlap(live.scope, scope));
	}

	#remove(live: LiveState): void {
		if (this.has(live)) this.#all.delete(scopeKey(live.scope));
	}
}

/** Can one record belong to both scopes? */
export const overlap = (a: Scope, b: Scope): boolean => within(a, b) || within(b, a);

/** The scopes around a scope, from the whole process down to the scope itself. */
export function holding(scope: Scope): readonly Scope[] {
	const all: Scope[] = [{}];
	for (const level of ["agent", "session", "run"] as const)
		if (scope[level] !== undefined) all.push({ ...all.at(-1), [level]: scope[level] });
	return all;
}

export class LiveState implements Live {
	readonly scope: Scope;
	/** Resolves when the state is open; set by its opener. */
	opened: Promise<unknown> = Promise.resolve();
	readonly #ports: LivesPorts;
	readonly #remove: () => void;
	#view: View | undefined;
	#knows: Seq = 0;
	readonly #followers = new Set<(record: WalRecord) => void>();
	/** Records appended while the state is being made anew. */
	#meanwhile: WalRecord[] | undefined;
	#rebuilding: Promise<void> = Promise.resolve();

	/** Use `Timeline.live`. */
	constructor(scope: Scope, ports: LivesPorts, remove: () => void) {
		this.scope = scope;
		this.#ports = ports;
		this.#remove = remove;
	}

	get view(): View {
		return this.#view as View;
	}

	/** The newest reset that the state knows of. */
	get knows(): Seq {
		return this.#knows;
	}

	handle(): Appender {
		return this.#ports.handle(this.#knows);
	}

	close(): void {
		this.#remove();
	}

	follow(taken: (record: WalRecord) => void): () => void {
		// One function may follow twice.
		const follower = (record: WalRecord): void => taken(record);
		this.#followers.add(follower);
		return () => void this.#followers.delete(follower);
	}

	take(record: WalRecord): void {
		this.#meanwhile?.push(record);
		this.#view = this.#view?.apply(record);
		for (const taken of this.#followers) taken(record);
	}

	/** Makes the state anew; records appended meanwhile are folded into it. */
	rebuild(): Promise<void> {
		this.#rebuilding = this.#rebuild();
		return this.#rebuilding;
	}

	async #rebuild(): Promise<void> {
		const meanwhile: WalRecord[] = [];
		this.#meanwhile = meanwhile;
		const { tip, reset, view } = this.#ports.now(this.scope);
		try {
			const now = await view;
			// Another rewind came in between: its state is newer.
			if (this.#meanwhile !== meanwhile) return await this.#rebuilding;
			this.#view = meanwhile.reduce((next, record) => (record.seq > tip ? next.apply(record) : next), now);
			this.#knows = reset;
		} finally {
			if (this.#meanwhile === meanwhile) this.#meanwhile = undefined;
		}
	}
}
