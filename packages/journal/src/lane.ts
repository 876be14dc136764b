/** Lanes: a line of steps that gives each call its identity, so that a replay finds the record of the same call. */
import { inspect } from "node:util";
import { type Appended, type Appender, type BlobStore, type Scope, systemTimers, WalError } from "@reyn/wal";
import { entryKey, type Identity, innerLane, type Recall, type RecordedStep } from "./entry.ts";
import { JournalError } from "./errors.ts";
import { isBeneath, isStop, ProgramEnded } from "./failure.ts";
import { assertFolded } from "./folded.ts";
import { fingerprint, GrowingRequest, type Line } from "./key.ts";
import { Order } from "./order.ts";
import { type Asked, ask } from "./perform.ts";
import type { Message, ModelRequest } from "./ports.ts";
import type { ModelPolicy } from "./retry.ts";
import type { Step, Using } from "./step.ts";

/**
 * A line of steps in the order of their calls, under a path such as `plan/p12/s1`. A new lane of the same path replays the recorded
 * calls. Calls may overlap: their outcomes are told in the order of their records, in every replay as in the first run.
 */
export class Lane {
	readonly path: string;
	readonly #scope: Scope;
	readonly #using: Using;
	readonly #line: Line | undefined;
	readonly #order: Order;
	/** The last record of this lane's own steps. */
	#last: Appended | undefined;
	/** How many calls were made, by fingerprint: the next one with that fingerprint has this number as its `occ`. */
	readonly #calls = new Map<string, number>();
	/** The same calls, by key. */
	readonly #asked = new Set<string>();
	/** Calls whose caller has not been told yet, as people read them. */
	readonly #open = new Set<string>();
	/** How many loops began here, by the hash of their first messages. */
	readonly #loops = new Map<string, number>();
	/** The requests of these loops. */
	readonly #requests = new Map<string, GrowingRequest>();
	/** Loops that went another way than is recorded: recorded answers are not theirs any more, even to an equal question. */
	readonly #left = new Set<string>();
	/** Why a step of this lane has stopped its program. */
	#stop: Error | undefined;
	/** Has the try ended that the lane is inside of? */
	#isEnded = false;
	/** The steps that earlier runs have recorded in this lane, by round and by key. */
	#recorded: Map<string, RecordedStep> | undefined;

	/**
	 * @param line gives each call of a script its place; only lanes of scripts have one
	 * @param order the order of the lane's program. Default: the one of `using`, else a new one
	 * @throws WalError `WAL_INVALID_RECORD` for a path with half a character
	 */
	constructor(path: string, scope: Scope, using: Using, line?: Line, order: Order = orderOf(path, using)) {
		assertPath(path);
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

	/** Where the files are that messages name; undefined: nowhere. */
	get files(): BlobStore | undefined {
		return this.#using.files;
	}

	/** How models are asked in this lane; undefined: by the default policy. */
	get modelPolicy(): ModelPolicy | undefined {
		return this.#using.modelPolicy;
	}

	/** A text with its secrets taken out: that is what the log holds, and what a replay sees. */
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

	/** Tells that a model has counted fewer tokens than its request has. */
	unread(name: string, read: number, least: number): void {
		this.#using.observe?.({ type: "unread", lane: this.path, kind: "model", name, read, least });
	}

	/** Was any call made here? */
	get isUsed(): boolean {
		return this.#calls.size > 0;
	}

	/** Resolves when no step is under way in this lane and below. */
	over(): Promise<void> {
		return this.#order.over(this.path);
	}

	/** Ends the lane, since the try has failed that it is inside of: nothing begins in it any more, and who asks is not told. */
	end(): void {
		this.#isEnded = true;
		this.#order.cut(this.path, new ProgramEnded(`the try around ${this.path} has ended`));
	}

	/** Gives up the steps under way here and below: nobody waits for their end. */
	giveUp(): void {
		this.#order.giveUp(this.path);
	}

	/**
	 * Names the rounds of a loop of a model and its tools. The names depend only on the messages that the loop begins with, so they are
	 * the same in every run, also when tools or instructions have changed.
	 */
	rounds(messages: readonly Message[]): Rounds {
		const of = fingerprint("loop", "", messages).slice(0, 32);
		const occ = this.#loops.get(of) ?? 0;
		this.#loops.set(of, occ + 1);
		this.#requests.set(`${of}:${occ}`, new GrowingRequest());
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
				// The names of a round's tool calls begin with the name of the round, so they go too.
				for (const name of [...this.#known().keys()])
					if (name.startsWith(ours) && Number.parseInt(name.slice(ours.length), 10) >= from) this.#known().delete(name);
			},
		};
	}

	/** What the log says of the next call like this one; undefined: an earlier run did not record it. */
	recall(step: Pick<Step<never>, "kind" | "name" | "args" | "round">): Recall | undefined {
		const known = this.recorded(step);
		if (!known) return undefined;
		const { kind, name } = step;
		const { fp, occ, purity = "side_effect" } = known;
		return this.#using.recall({ lane: this.path, fp, occ, kind, name, purity }, this.#order.program);
	}

	/** The recorded step of the next call like this one; undefined: an earlier run recorded none, or nobody can say. */
	recorded(step: Pick<Step<never>, "kind" | "name" | "args" | "round">): RecordedStep | undefined {
		const known = this.#known();
		// In a first run nothing is recorded, and hashing a model's whole request for that would be slow.
		return known.size === 0 ? undefined : known.get(entryKey(this.#keyOf(step)));
	}

	/**
	 * The key of the next call. In a loop, a call takes the key that is recorded for its round, or else the next equal key that no
	 * round has: when one of several equal calls was not made, the others must not take its place.
	 */
	#keyOf({
		kind,
		name,
		args,
		round,
	}: Pick<Step<never>, "kind" | "name" | "args" | "round">): Pick<Identity, "fp" | "occ"> {
		if (round === undefined) {
			const fp = fingerprint(kind, name, args);
			return { fp, occ: this.#calls.get(fp) ?? 0 };
		}
		const known = this.#known();
		const before = known.get(round);
		const isModel = kind === "model";
		// A model's round is found even with another request, since prompts and tools may change; a tool call has to be equal.
		if (before && isModel) return before;
		const request = isModel ? this.#requests.get(loopOf(round)) : undefined;
		const fp = request?.fingerprint(name, args as ModelRequest) ?? fingerprint(kind, name, args);
		if (before?.fp === fp) return before;
		let occ = this.#calls.get(fp) ?? 0;
		const isLeft = isModel && this.#left.has(loopOf(round));
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
	 * Runs a step, or returns its recorded outcome.
	 *
	 * @throws what the call throws, or has thrown before (the cause is then a JournalError `STEP_FAILED`); JournalError
	 * `STEP_DISCARDED` (in doubt, and the policy says so), `STEP_TIMEOUT`, `RESULT_LOST`, `REPLAY_DIVERGENCE`; a WalError `WAL_NOT_JSON`
	 */
	perform<T>(step: Step<T>): Promise<T> {
		// A program that caught the stopping error gets no further answers; a pending promise also keeps a retry loop from spinning.
		if (this.#isEnded || this.#isOver) return new Promise(() => {});
		const { signal, stopped } = this.#using;
		if (this.#stop) {
			stopped?.(this.#stop);
			return new Promise(() => {});
		}
		if (signal.aborted) stopped?.(signal.reason);
		// In a microtask, since a call may be refused before `performed` is assigned.
		const nobodyWaits = (): void => queueMicrotask(() => void performed.catch(() => {}));
		const performed = this.#perform(step, nobodyWaits);
		return performed;
	}

	/** Is this the lane of a program that is over? Nobody may be there to hear what becomes of its steps. */
	get #isOver(): boolean {
		return this.#using.stopped !== undefined && this.#order.isOver && this.path === this.#order.program;
	}

	/** @param nobodyWaits called before a stop, a cancel or an error of the log is thrown: if nobody awaits it, it must not end the process */
	async #perform<T>(step: Step<T>, nobodyWaits: () => void): Promise<T> {
		let asked: Asked<T> | undefined;
		try {
			asked = this.place(step)();
			return await asked.told();
		} catch (error) {
			this.stopped(error);
			// A program that is over begins nothing, and is not told so.
			if (error instanceof ProgramEnded && this.#using.stopped) return new Promise(() => {});
			const isRefused = this.#using.signal.aborted || isBeneath(error) || error instanceof ProgramEnded;
			if (isRefused) await this.#order.refusals.next();
			if (isRefused || isStop(error) || this.#isOver) nobodyWaits();
			throw error instanceof ProgramEnded ? (error.cause ?? error) : error;
		} finally {
			asked?.done();
		}
	}

	/** Stops the program if the error says that a step must not be made now, even if the program catches it. @returns the error, to be thrown */
	stopped<E>(error: E): E {
		const { stopped } = this.#using;
		// What has ended with its program stops nothing: that is over. A call around this lane still has to end.
		const isOutermost = this.path === this.#order.program && this.#using.around === undefined;
		const isWithIt = error instanceof ProgramEnded && isOutermost;
		if (!stopped || !isStop(error) || isWithIt) return error;
		this.#stop ??= error;
		stopped(error);
		return error;
	}

	/**
	 * Gives a step its identity; it counts as under way from now until its caller has been told.
	 *
	 * @returns a function that asks for the step
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

	/** Gives the next call its identity, and counts it. @throws WalError `WAL_NOT_JSON` naming the argument */
	take(step: Pick<Step<never>, "kind" | "name" | "args" | "purity" | "label" | "round">): Identity {
		const { kind, name, args, purity, label = name, round } = step;
		const { fp, occ } = this.#keyOf(step);
		// A program that was cancelled asks for nothing more, so the recorded steps of this lane are not waited for.
		if (this.#calls.size === 0 && !this.signal.aborted) this.#order.enter(this.path, (each) => this.#isAsked(each));
		this.#calls.set(fp, Math.max(this.#calls.get(fp) ?? 0, occ + 1));
		this.#asked.add(entryKey({ fp, occ }));
		const place = this.#line?.next(fp, args, label);
		// As the log gives it back: by its name, too, an effect is known that may be made a second time.
		const id = { lane: this.path, fp, occ, kind, name: name.toWellFormed(), purity };
		return { ...id, ...(place ? { place } : {}), ...(round === undefined ? {} : { round }) };
	}

	/**
	 * The lane of a call's inner steps.
	 *
	 * @param isAlone do all other calls wait for this one? Then its inner steps cannot wait for their turn, and get their own order
	 * @param after the largest place that had been told when the call was asked for
	 */
	inside(call: Identity, using: Using = this.#using, isAlone = false, after = using.within): Lane {
		const path = innerLane(call);
		const line = call.place && this.#line?.inside(call.place);
		if (!line && !isAlone) return new Lane(path, this.#scope, using, undefined, this.#order);
		// Only the call itself sees the outcomes of these steps, so they have an order of their own.
		const inner = { ...using, order: undefined, within: after, around: this.#order };
		return new Lane(path, this.#scope, inner, line);
	}

	/** Was the recorded step asked for in this run? A cut call (see `cutCalls`) is known by the first 16 digits of its fingerprint. */
	#isAsked(step: RecordedStep): boolean {
		if (this.#asked.has(entryKey(step))) return true;
		if (step.fp.length >= FINGERPRINT) return false;
		return this.#asked.values().some((key) => key.startsWith(step.fp) && key.endsWith(`:${step.occ}`));
	}
}

/**
 * The log would give another path back, which may be that of another lane.
 *
 * @throws WalError `WAL_INVALID_RECORD` for a path with half a character
 */
export function assertPath(path: string): void {
	if (path.isWellFormed()) return;
	const text = `a lane takes a path without half a character; found ${inspect(path)}. Cut texts with Array.from(text)`;
	throw new WalError("WAL_INVALID_RECORD", text, { lane: path });
}

/** The rounds of one loop, from 0. */
export interface Rounds {
	/** The name of a round, for {@link Step.round}. */
	nameOf(n: number): string;
	/** The seq of a round's recorded answer, larger than any seq while there is no answer; undefined: the round is not recorded. */
	placeOf(n: number): number | undefined;
	/** Says that the loop goes another way than is recorded, from this round on: the recorded rounds do not count any more. */
	leave(from: number): void;
}

/** The loop in the name of a round, or of a tool call in it: its first two parts. */
const loopOf = (round: string): string => round.split(":", 2).join(":");

/** Hex digits of a whole fingerprint (SHA-256). */
const FINGERPRINT = 64;

/** The order that `using` names, or a new one: the lane is then a program of its own. */
function orderOf(path: string, using: Using): Order {
	const { timers = systemTimers, recordedIn, around } = using;
	return using.order ?? new Order({ program: path, recordedIn: recordedIn?.bind(using), timers, around });
}
