/** Lines of steps: who says which call is which, and that their order is the same in every run. */
import type { Appended, Appender, Scope } from "@reyn/wal";
import type { Identity } from "./entry.ts";
import { JournalError } from "./errors.ts";
import { assertFolded } from "./folded.ts";
import { fingerprint, type Line } from "./key.ts";
import { perform } from "./perform.ts";
import type { Step, Using } from "./step.ts";

/**
 * A line of steps in the order of their calls, under a structural path such as `plan/p12/s1`. A new lane of the same
 * path replays the recorded calls in the same order.
 */
export class Lane {
	readonly path: string;
	readonly #scope: Scope;
	readonly #using: Using;
	readonly #line: Line | undefined;
	/** The last record of this lane's own steps. */
	#last: Appended | undefined;
	readonly #calls = new Map<string, number>();
	/** The calls that are under way, and whether another may still join them: until the host's next microtask the order is given. */
	readonly #open = new Set<string>();
	#joinable = false;

	/** @param line for the lanes of a script: says where each call stands */
	constructor(path: string, scope: Scope, using: Using, line?: Line) {
		this.path = path;
		this.#scope = scope;
		this.#line = line;
		const log: Appender = {
			append: (draft, at) => {
				const isFirst = !this.#last;
				this.#last = using.log.append(draft, at);
				if (isFirst) assertFolded(using, this.#last);
				return this.#last;
			},
		};
		this.#using = { ...using, log };
	}

	get signal(): AbortSignal {
		return this.#using.signal;
	}

	/** A text without what must not be written: what a replay sees of it. */
	redact(text: string): string {
		return this.#using.redact?.(text) ?? text;
	}

	/** @throws JournalError `CONCURRENT_LANE` while a call is under way */
	assertQuiet(): void {
		const [first] = this.#open;
		if (first === undefined) return;
		throw new JournalError(
			"CONCURRENT_LANE",
			`${first} is still under way in ${this.path}; await it before the lane is over`,
			{ lane: this.path, open: [...this.#open] },
		);
	}

	/** Was any call made here? */
	get isUsed(): boolean {
		return this.#calls.size > 0;
	}

	/**
	 * Runs a step, unless the log already knows how it ended.
	 *
	 * @throws JournalError `STEP_FAILED` (it failed for good before), `STEP_DISCARDED` (in doubt, and the policy says
	 * so), `STEP_TIMEOUT`, `RESULT_LOST`, `CONCURRENT_LANE`; a WalError `WAL_NOT_JSON`; and what the call itself throws
	 */
	async perform<T>(step: Step<T>): Promise<T> {
		return this.place(step)();
	}

	/** Gives a step its place as {@link take} does, where it counts as under way; what it gives runs it there, as {@link perform}. */
	place<T>(step: Step<T>): () => Promise<T> {
		const { fp, occ, identify } = this.take(step);
		const key = `${step.name} (${fp.slice(0, 8)}:${occ})`;
		this.#open.add(key);
		return async () => {
			try {
				const id = identify();
				return await perform(step, id, this.#scope, this.#using, {
					inside: (using) => this.inside(id, using),
					durable: async () => this.#last?.durable,
				});
			} finally {
				this.#open.delete(key);
			}
		};
	}

	/**
	 * Takes the next place in the lane for a call, which counts as made from then on. Nothing of the host's runs before `identify`.
	 *
	 * @throws JournalError `CONCURRENT_LANE`; a WalError `WAL_NOT_JSON` naming the argument
	 */
	take(step: Pick<Step<never>, "kind" | "name" | "args" | "purity" | "label">): Taken {
		const { kind, name, args, purity, label = name } = step;
		const fp = fingerprint(kind, name, args);
		this.#assertOrder(name);
		const occ = this.#calls.get(fp) ?? 0;
		this.#calls.set(fp, occ + 1);
		const place = this.#line?.next(fp, args, label);
		const identify = (): Identity => ({
			lane: this.path,
			fp,
			occ,
			kind,
			name,
			purity,
			...(place ? { place: place() } : {}),
		});
		return { fp, occ, identify };
	}

	/** The lane of the steps inside one of its calls. */
	inside(call: Identity, using: Using = this.#using): Lane {
		return new Lane(innerLane(call), this.#scope, using, call.place && this.#line?.inside(call.place));
	}

	/**
	 * Says that something is under way in the lane, until what it gives is called.
	 *
	 * @throws JournalError `CONCURRENT_LANE`
	 */
	hold(what: string): () => void {
		this.#assertOrder(what);
		this.#open.add(what);
		return () => this.#open.delete(what);
	}

	/** Two calls that overlap have no order of their own, and a replay may see them the other way round. */
	#assertOrder(name: string): void {
		if (this.#open.size === 0) {
			this.#joinable = true;
			queueMicrotask(() => {
				this.#joinable = false;
			});
		} else if (!this.#joinable) {
			const [first] = this.#open;
			throw new JournalError(
				"CONCURRENT_LANE",
				`${name} is called in ${this.path} while ${first} is under way there; await it first, call both in one go, or use parallel()`,
				{ lane: this.path, name, open: [...this.#open] },
			);
		}
	}
}

/** The place of a call in a lane. */
export interface Taken extends Pick<Identity, "fp" | "occ"> {
	identify(): Identity;
}

/** The lane of the steps inside a step. */
export const innerLane = ({ lane, fp, occ }: Identity): string => `${lane}/${fp.slice(0, 16)}:${occ}`;
