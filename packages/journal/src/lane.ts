/** Lines of steps: who says which call is which. */
import { type Appended, type Appender, type Scope, systemTimers } from "@reyn/wal";
import { entryKey, type Identity, innerLane, type Recall, type RecordedStep } from "./entry.ts";
import { JournalError } from "./errors.ts";
import { isBeneath, isStop, ProgramEnded } from "./failure.ts";
import { assertFolded } from "./folded.ts";
import { fingerprint, type Line } from "./key.ts";
import { Order } from "./order.ts";
import { type Asked, ask } from "./perform.ts";
import type { Message } from "./ports.ts";
import type { ModelPolicy } from "./retry.ts";
import type { Step, Using } from "./step.ts";

/**
 * A line of steps in the order of their calls, under a structural path such as `plan/p12/s1`. A new lane of the same
 * path replays the recorded calls in the same order. Calls may overlap; whoever makes them is told how they ended in the order of
 * their records, in every replay as in the first run.
 */
export class Lane {
	readonly path: string;
	readonly #scope: Scope;
	readonly #using: Using;
	readonly #line: Line | undefined;
	readonly #order: Order;
	/** The last record of this lane's own steps. */
	#last: Appended | undefined;
	readonly #calls = new Map<string, number>();
	/** Those calls, by key. */
	readonly #asked = new Set<string>();
	/** The calls that whoever made them has not been told of. */
	readonly #open = new Set<string>();
	/** How many loops began here with the same messages. */
	readonly #loops = new Map<string, number>();
	/** Loops that have gone another way than was recorded: what was answered before is none of theirs, whatever it was asked with. */
	readonly #left = new Set<string>();
	/** Has one of its steps stopped what asked for it? */
	#isStopped = false;
	/** What earlier lives have recorded here, by round and by key. */
	#recorded: Map<string, RecordedStep> | undefined;

	/**
	 * @param line for the lanes of a script: says where each call stands
	 * @param order that of the program which the lane is part of. Default: as `using` says
	 */
	constructor(path: string, scope: Scope, using: Using, line?: Line, order: Order = orderOf(path, using)) {
		this.path = path;
		this.#scope = scope;
		this.#line = line;
		this.#order = order;
		const log: Appender = {
			append: (draft, at) => {
				const isFirst = !this.#last;
				this.#last = using.log.append(draft, at);
				if (isFirst) assertFolded(using, this.#last);
				return this.#last;
			},
		};
		this.#using = { ...using, log, order: this.#order };
	}

	get signal(): AbortSignal {
		return this.#using.signal;
	}

	/** How models are asked here, where that is not as by default. */
	get modelPolicy(): ModelPolicy | undefined {
		return this.#using.modelPolicy;
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

	/** Names the rounds of a loop that begins with these messages: in every life the same, whatever tools and instructions there are. */
	rounds(messages: readonly Message[]): Rounds {
		const of = fingerprint("loop", "", messages).slice(0, 32);
		const occ = this.#loops.get(of) ?? 0;
		this.#loops.set(of, occ + 1);
		const nameOf = (n: number): string => `${of}:${occ}:${n}`;
		return {
			nameOf,
			placeOf: (n) => {
				const known = this.#known().get(nameOf(n));
				return known && (known.place ?? Number.MAX_SAFE_INTEGER);
			},
			leave: (from) => {
				const ours = `${of}:${occ}:`;
				this.#left.add(loopOf(ours));
				// Its calls of tools are named behind it.
				for (const name of [...this.#known().keys()])
					if (name.startsWith(ours) && Number.parseInt(name.slice(ours.length), 10) >= from) this.#known().delete(name);
			},
		};
	}

	/** What the log says of the next call like this, before it is made. */
	recall(step: Pick<Step<never>, "kind" | "name" | "args" | "round">): Recall | undefined {
		const known = this.recorded(step);
		if (!known) return undefined;
		const { kind, name } = step;
		const { fp, occ, purity = "side_effect" } = known;
		return this.#using.recall({ lane: this.path, fp, occ, kind, name, purity }, this.#order.program);
	}

	/** What an earlier life has recorded of the next call like this; undefined: nothing, or it is not known. */
	recorded(step: Pick<Step<never>, "kind" | "name" | "args" | "round">): RecordedStep | undefined {
		const known = this.#known();
		// In a first life nothing is, and what a model is asked with is long to hash.
		return known.size === 0 ? undefined : known.get(entryKey(this.#keyOf(step)));
	}

	/**
	 * A call in a loop is the one that is recorded of its round; where none is, the next like it that no round has. So calls that are
	 * equal do not change places where one of them was not made.
	 */
	#keyOf({
		kind,
		name,
		args,
		round,
	}: Pick<Step<never>, "kind" | "name" | "args" | "round">): Pick<Identity, "fp" | "occ"> {
		const fp = fingerprint(kind, name, args);
		let occ = this.#calls.get(fp) ?? 0;
		if (round === undefined) return { fp, occ };
		const known = this.#known();
		const before = known.get(round);
		// What a model is asked with may change.
		if (before && (kind === "model" || before.fp === fp)) return before;
		const isLeft = kind === "model" && this.#left.has(loopOf(round));
		const isOfOther = (each: RecordedStep): boolean => each.round !== undefined || isLeft;
		for (let each = known.get(entryKey({ fp, occ })); each && isOfOther(each); each = known.get(entryKey({ fp, occ })))
			occ++;
		return { fp, occ };
	}

	#known(): Map<string, RecordedStep> {
		this.#recorded ??= new Map(
			[...(this.#using.stepsIn?.(this.path) ?? [])].flatMap((step) => [
				[entryKey(step), step] as const,
				...(step.round === undefined ? [] : [[step.round, step] as const]),
			]),
		);
		return this.#recorded;
	}

	/**
	 * Runs a step, unless the log already knows how it ended.
	 *
	 * @throws what the call throws, or has thrown before (the cause is then a JournalError `STEP_FAILED`); JournalError
	 * `STEP_DISCARDED` (in doubt, and the policy says so), `STEP_TIMEOUT`, `RESULT_LOST`, `REPLAY_DIVERGENCE`; a WalError `WAL_NOT_JSON`
	 */
	perform<T>(step: Step<T>): Promise<T> {
		// Who has caught that asks for nothing more in this life, and a loop around it does not spin.
		if (this.#isStopped) return new Promise(() => {});
		// Later: a call may be refused before there is a promise of it.
		const nobodyWaits = (): void => queueMicrotask(() => void performed.catch(() => {}));
		const performed = this.#perform(step, nobodyWaits);
		return performed;
	}

	/** @param nobodyWaits to be called before what is thrown is no failure of the program, though nobody may await it */
	async #perform<T>(step: Step<T>, nobodyWaits: () => void): Promise<T> {
		let asked: Asked<T> | undefined;
		try {
			asked = this.place(step)();
			return await asked.told();
		} catch (error) {
			this.stopped(error);
			const isOver = error instanceof ProgramEnded && this.#using.stopped !== undefined;
			const isCut = isStop(error) || this.#using.signal.aborted;
			// Whatever still waits in a program that is over, or stopped, must not end the process.
			if (isOver || ((isCut || isBeneath(error)) && this.#order.isRefusedTooOften())) {
				this.#using.stopped?.(error as Error);
				return new Promise(() => {});
			}
			if (isCut) nobodyWaits();
			throw error;
		} finally {
			asked?.done();
		}
	}

	/** To be thrown: where a step must not be made, what asked for it stops with that, whatever it makes of it. */
	stopped<E>(error: E): E {
		const { stopped } = this.#using;
		if (!stopped || !isStop(error)) return error;
		this.#isStopped = true;
		stopped(error);
		return error;
	}

	/**
	 * Gives a step its place, where it counts as under way until its caller has been told. What that gives asks for it.
	 *
	 * @throws WalError `WAL_NOT_JSON` naming the argument
	 */
	place<T>(step: Step<T>): () => Asked<T> {
		const id = this.take(step);
		const key = `${step.name} (${id.fp.slice(0, 8)}:${id.occ})`;
		this.#open.add(key);
		return () => {
			const asked = ask(step, id, this.#scope, this.#using, {
				inside: (using, isAlone, after) => this.inside(id, using, isAlone, after),
				durable: async () => this.#last?.durable,
			});
			return {
				known: asked.known,
				told: () => asked.told(),
				atHand: (hand) => asked.atHand(hand),
				observe: (event) => asked.observe(event),
				done: () => {
					this.#open.delete(key);
					asked.done();
				},
			};
		};
	}

	/** @throws WalError `WAL_NOT_JSON` naming the argument */
	take(step: Pick<Step<never>, "kind" | "name" | "args" | "purity" | "label" | "round">): Identity {
		const { kind, name, args, purity, label = name, round } = step;
		const { fp, occ } = this.#keyOf(step);
		// What has been given up asks for nothing, and what is recorded there is not missed.
		if (this.#calls.size === 0 && !this.signal.aborted) this.#order.enter(this.path, (each) => this.#isAsked(each));
		this.#calls.set(fp, Math.max(this.#calls.get(fp) ?? 0, occ + 1));
		this.#asked.add(entryKey({ fp, occ }));
		const place = this.#line?.next(fp, args, label);
		const id = { lane: this.path, fp, occ, kind, name, purity };
		return { ...id, ...(place ? { place } : {}), ...(round === undefined ? {} : { round }) };
	}

	/**
	 * The lane of the steps inside one of its calls.
	 *
	 * @param isAlone all else waits for this call, so its steps cannot wait for their turn
	 * @param after what had been told when it was asked for
	 */
	inside(call: Identity, using: Using = this.#using, isAlone = false, after = using.within): Lane {
		const path = innerLane(call);
		const line = call.place && this.#line?.inside(call.place);
		if (!line && !isAlone) return new Lane(path, this.#scope, using, undefined, this.#order);
		// Nobody but the call itself sees them: they have an order of their own.
		const inner = { ...using, order: undefined, within: after, around: this.#order };
		return new Lane(path, this.#scope, inner, line);
	}

	/** Of a call that was cut, the fingerprint is not known to its end. */
	#isAsked(step: RecordedStep): boolean {
		if (this.#asked.has(entryKey(step))) return true;
		if (step.fp.length >= FINGERPRINT) return false;
		return this.#asked.values().some((key) => key.startsWith(step.fp) && key.endsWith(`:${step.occ}`));
	}
}

/** The rounds of one loop, from 0. */
export interface Rounds {
	/** For {@link Step.round}. */
	nameOf(n: number): string;
	/** Where an earlier life has recorded its answer; after all else where there is none yet. Undefined: nothing is recorded of it. */
	placeOf(n: number): number | undefined;
	/** From a round on the loop goes another way than was recorded: that counts no more. */
	leave(from: number): void;
}

/** Of the name of a round, or of a call in it. */
const loopOf = (round: string): string => round.split(":", 2).join(":");

/** Characters of a whole one. */
const FINGERPRINT = 64;

/** A program of its own, unless its lanes are given an order. */
function orderOf(path: string, using: Using): Order {
	const { timers = systemTimers, recordedIn, around } = using;
	return using.order ?? new Order({ program: path, recordedIn: recordedIn?.bind(using), timers, around });
}
