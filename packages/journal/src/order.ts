/**
 * The order in which a program is told how its calls ended: a replay has to tell it in the same order as the first run did, or a
 * program that acts on the first answer would take another way.
 *
 * A *program* is one run of a script, one phase of a skill, or one open journal. A *call* is a step that the program awaits itself.
 * The *place* of a call is the seq of the first record of its outcome. To *tell* a call is to settle its promise.
 *
 * The rule: whenever the program is quiet, the call with the smallest place among those that it has asked for is told. A call without
 * a place begins only when no call can be told. Seqs only grow, so an outcome that is recorded later has a larger place than all
 * before it: a replay, which knows more outcomes, still tells the same call at each point. A crash loses the largest places, and no
 * call was begun after a lost one was told.
 */
import { setImmediate } from "node:timers";
import { type Seq, systemTimers, type Timers } from "@reyn/wal";
import { innerLane, type Recall, type RecordedStep } from "./entry.ts";
import { type Divergence, ReplayDivergenceError } from "./errors.ts";
import type { ProgramEnded, ToldFailure } from "./failure.ts";
import { GoneEffects } from "./gone.ts";
import { Latch } from "./latch.ts";
import { Refusals } from "./refusals.ts";
import { Unasked, type Unheard } from "./unasked.ts";

/**
 * The ranks of calls, told from the smallest: 0 for calls that leave no record, 1 for those that this program has recorded, 2 for those
 * that were recorded before its last edit, and so on for each edit before; the largest for those that a preview assumes.
 */
export type Rank = number;

/** The rank of a recorded call. */
export const rankOf = (known: Recall): Rank => 1 + (("from" in known && known.from?.edits) || 0);

/** A call, as far as the order needs to know it. */
export interface Asked {
	readonly lane: string;
	readonly kind: string;
	readonly name: string;
	readonly fp: string;
	readonly occ: number;
	/** The call as a person reads it. */
	describe(): string;
	/** Is it an effect of which the log has no record? */
	readonly isUnheardOf: boolean;
}

export interface OrderOptions {
	/** All lanes of the program are below this one; "" is all of a journal. */
	readonly program: string;
	/** The steps that are recorded in a lane. Absent: the order does not wait for recorded steps that the program has yet to ask for. */
	readonly recordedIn?: ((lane: string) => Iterable<RecordedStep>) | undefined;
	readonly timers: Timers;
	/** The order of the outer program, when this program runs inside one of its calls. */
	readonly around?: Order | undefined;
	/** Is `lane_failed` recorded when the program ends by throwing? Default: false. */
	readonly recordsItsEnd?: boolean | undefined;
	/**
	 * How long the order waits, in milliseconds and once, for a program to ask for its next recorded step: the program may await
	 * something that is no step, such as a timer. Default: 200.
	 */
	readonly patienceMs?: number | undefined;
	/** What to do with a new effect while recorded steps are not asked for: it may be one of those in another order. Default: `stop`. */
	readonly changed?: "stop" | "go on" | undefined;
	/** Told when such an effect begins under `go on`. */
	onChanged?(call: Asked, unasked: number): void;
}

/** Options for a script, whose realm knows exactly when the script rests: so recorded steps can be compared one by one. */
export interface StrictOptions {
	readonly program: string;
	/** The steps that the program has to ask for. Absent: it may ask for anything. */
	readonly recorded?: Iterable<RecordedStep & { readonly lane: string; describe(): string }> | undefined;
	/** The program asks for something else than is recorded. No call is told or begun any more, unless `goOn` is called. */
	onDivergence(divergence: Divergence): void;
	/** The program rests, and no call can be told or begun. */
	onIdle(): void;
}

/** One call in the order of its program, from when it is asked for until the program has been told. */
export class Ticket {
	readonly asked: Asked;
	/** The largest place that had been told when the program asked for this call. */
	readonly after: Seq;
	readonly #order: Order;
	readonly #begin = new Latch();
	readonly #turn = new Latch();
	rank: Rank = 1;
	place: number | undefined;
	/** Settles the promise of the program, when it is this call's turn. Undefined: there is no answer yet. */
	tell: (() => void) | undefined;
	/** Has the program been told as soon as `tell` returns? */
	isAtHand = false;
	/** Is the turn of this call to begin, not to be told? Only calls with recorded steps inside them begin at a place. */
	isToBegin = false;
	isTold = false;
	/** Present while the call is made: whoever runs the program again has to wait for its end, or it would make the effect twice. */
	#over: PromiseWithResolvers<void> | undefined;
	/** Why it must not begin. */
	#cut: ProgramEnded | undefined;
	/** Rejects with that; present once something waits. */
	#ended: AbortController | undefined;

	/** Use {@link Order.ask}. */
	constructor(order: Order, asked: Asked, after: Seq) {
		this.#order = order;
		this.asked = asked;
		this.after = after;
	}

	/** Resolves when the call may begin. @throws the error that the order refuses it with; the signal's reason */
	mayBegin(signal: AbortSignal): Promise<void> | undefined {
		return this.#begin.wait(signal);
	}

	/** Marks the call as under way. @throws ProgramEnded when its program has ended, or the try of the call around it */
	start(): void {
		if (this.#cut) throw this.#cut;
		this.#order.assertOpen();
		this.#over ??= Promise.withResolvers();
	}

	/** For the order: it must not begin any more, nor its next try. */
	cut(reason: ProgramEnded): void {
		this.#cut = reason;
		this.refuse(reason);
		this.#ended?.abort(reason);
	}

	/** The same, but rejects as soon as the call must not begin any more. */
	async unlessEnded<R>(begin: (ended: AbortSignal) => Promise<R>): Promise<R> {
		if (this.#cut) throw this.#cut;
		this.#ended ??= new AbortController();
		const { signal } = this.#ended;
		const begun = begin(signal);
		const ended = new Promise<never>((_, reject) => {
			signal.addEventListener("abort", () => reject(signal.reason), { once: true });
		});
		return Promise.race([begun, ended]);
	}

	/** Resolves when the call is not made any more, or is given up. */
	async over(): Promise<void> {
		await this.#over?.promise;
	}

	/** Says that the call is not made any more, or that nobody waits for its end: it took too long, or a call around it did. */
	made(): void {
		this.#over?.resolve();
		this.#over = undefined;
	}

	/**
	 * Sets the place: the seq of the outcome's record. A place that is set stays, unless it is from before an edit: the call was made
	 * again. Call it in the same synchronous step as the append.
	 */
	placed(seq: Seq): void {
		if (this.isTold || (this.place !== undefined && this.rank <= 1)) return;
		this.#order.place(this, 1, seq);
	}

	/** Places a call whose answer a preview only assumes: it is told after all that are recorded, in the order of `place`. */
	assumed(place: number): void {
		this.#order.place(this, ASSUMED, place);
	}

	/** Moves a call that was recorded before an edit to its new place: its outcome has been recorded again, when its turn came. */
	adopted(seq: Seq): void {
		this.rank = 1;
		this.place = seq;
	}

	/** Says that the answer is there. Resolves when the program is to be told. @throws the signal's reason */
	turn(signal: AbortSignal): Promise<void> | undefined {
		this.#ready(() => this.#turn.open());
		return this.#turn.wait(signal);
	}

	/** Like {@link turn}, for an answer that is handed over synchronously: the program has been told when `tell` returns. */
	atHand(tell: () => void): void {
		this.isAtHand = true;
		this.#ready(tell);
	}

	#ready(tell: () => void): void {
		this.tell = tell;
		this.#order.advance();
	}

	/** Notes that the program is told this failure of the call. */
	failed(error: unknown): void {
		const { lane, fp, occ } = this.asked;
		this.#order.lastFailures.push({ lane, fp, occ, error });
	}

	/** Takes the call out of the order: the program has been told, or never will be. */
	done(): void {
		this.#order.leave(this);
		this.made();
	}

	/** For the order. */
	begin(): void {
		this.#begin.open();
	}

	/** For the order. */
	refuse(error: Error): void {
		this.#begin.refuse(error);
	}
}

/** The open calls of one program: asked for, and not told yet. */
export class Order {
	readonly program: string;
	/** Is `lane_failed` recorded when the program ends by throwing? Then a failure that was told is not tried again before that record. */
	readonly recordsItsEnd: boolean;
	/** The failures that the program was told since it last asked for anything: no recorded step rests on them. */
	lastFailures: ToldFailure[] = [];
	readonly #options: OrderOptions | StrictOptions;
	readonly #open = new Set<Ticket>();
	/** The open calls of the programs that run inside this one's calls. */
	readonly #inside = new Set<Ticket>();
	/** A call that began for its recorded inner steps, and has not asked for one of them yet: nothing is told meanwhile. */
	#begun: Ticket | undefined;
	/** Calls that wait to begin, in the order in which they were asked for. */
	#waiting: Ticket[] = [];
	/** Calls that have a place, sorted: the next one to tell is the last. */
	readonly #placed: Ticket[] = [];
	#telling: Ticket | undefined;
	/** The largest place that was told. */
	#told: Seq = 0;
	#isResting = false;
	#isLooking = false;
	#willRest = false;
	#count = 0;
	#ended: ProgramEnded | undefined;
	/**
	 * The recorded steps that the program has not asked for. Undefined until two calls overlap, since order does not matter before
	 * that; it covers the lanes in which the program has asked for a step.
	 */
	#unasked: Unasked | undefined;
	readonly #gone = new GoneEffects();
	readonly #lanes = new Map<string, (step: RecordedStep) => boolean>();
	/** Have two calls of this program been open at the same time? */
	#hasOverlaps = false;
	#patience: "fresh" | "waiting" | "over" = "fresh";
	#isLoose = false;
	/** How many calls a script may still be told before the event loop gets a turn; -1 during that turn. */
	#breath = TOLD_AT_A_TIME;
	/** Resolves when a record that waited for disk space is written. */
	#stalled: Promise<unknown> | undefined;

	readonly refusals: Refusals;

	constructor(options: OrderOptions | StrictOptions) {
		this.refusals = new Refusals("timers" in options ? options.timers : systemTimers);
		this.program = options.program;
		this.recordsItsEnd = "onIdle" in options || (options.recordsItsEnd ?? false);
		this.#options = options;
		if (!("onIdle" in options)) return;
		this.#isLoose = options.recorded === undefined;
		this.#unasked = new Unasked();
		for (const step of options.recorded ?? []) (step.mayBeGone ? this.#gone : this.#unasked).add(step);
		this.#patience = "over";
	}

	/** How many calls are asked for and not told. */
	get open(): number {
		return this.#open.size;
	}

	/**
	 * Says that the program asks for its first step in a lane, so that the steps recorded there are known.
	 *
	 * @param isAsked was the step asked for in this life?
	 */
	enter(lane: string, isAsked: (step: RecordedStep) => boolean): void {
		if ("onIdle" in this.#options || !this.#options.recordedIn) return;
		this.#lanes.set(lane, isAsked);
		if (this.#unasked) this.#learn(lane, isAsked);
		// A program that failed before and is run again may go another way, so its effects have to be known even without an overlap.
		else if (this.recordsItsEnd) this.#learnGone(lane, isAsked);
	}

	/**
	 * Takes a call that the program asks for into the order.
	 *
	 * @param place the seq of its recorded outcome; undefined: there is none
	 * @param rank 0: the call is made at once, and told before all others
	 * @param inside for a call without a place that has recorded inner steps: the largest place told when the first of them was asked for
	 * @throws ProgramEnded when this program, or the one around it, has ended
	 */
	ask(asked: Asked, place: Seq | undefined, rank: Rank = 1, inside?: Seq): Ticket {
		this.assertOpen();
		const ticket = new Ticket(this, asked, this.#told);
		this.#hasOverlaps ||= this.#open.values().some((each) => !isInside(asked, each.asked));
		if (this.#hasOverlaps) this.#arm();
		const isAlone = this.#unasked === undefined;
		this.#heard(asked);
		if (this.#begun && isInside(asked, this.#begun.asked)) this.#begun = undefined;
		this.#open.add(ticket);
		if (rank !== 0) this.lastFailures = [];
		for (let each = this.#around; each; each = each.#around) {
			each.#inside.add(ticket);
			each.lastFailures = [];
		}
		this.#rouse();
		if (rank === 0) this.place(ticket, 0, this.#count++);
		else if (place !== undefined) this.place(ticket, rank, place);
		else if (inside !== undefined) {
			// The call begins right after that place is told: the arguments of its inner steps may depend on what is known at that moment.
			ticket.isToBegin = true;
			this.place(ticket, 1, inside + 0.5);
		}
		// No other call is open, or no recorded one is left: this call cannot overtake anything, so it begins at once.
		else if (isAlone || this.#isLive) this.#beginUnlessGuarded(ticket);
		else this.#waiting.push(ticket);
		return ticket;
	}

	/** For tickets: gives a call its place, and keeps the calls sorted. */
	place(ticket: Ticket, rank: Rank, place: number): void {
		if (this.#begun === ticket) this.#begun = undefined;
		if (ticket.place !== undefined) remove(this.#placed, ticket);
		ticket.rank = rank;
		ticket.place = place;
		let [low, high] = [0, this.#placed.length];
		while (low < high) {
			const middle = (low + high) >>> 1;
			if (isBefore(ticket, this.#placed[middle] as Ticket)) low = middle + 1;
			else high = middle;
		}
		this.#placed.splice(low, 0, ticket);
	}

	/** For tickets: takes a call out, since its program has been told. */
	leave(ticket: Ticket): void {
		if (ticket.isTold) return;
		ticket.isTold = true;
		if (this.#begun === ticket) this.#begun = undefined;
		this.#open.delete(ticket);
		for (let each = this.#around; each; each = each.#around) each.#inside.delete(ticket);
		if (this.#telling === ticket) {
			this.#telling = undefined;
			if (ticket.rank === 1) this.#told = Math.max(this.#told, ticket.place ?? 0);
		} else {
			remove(this.#placed, ticket);
			remove(this.#waiting, ticket);
		}
		// A call that is over asks for no inner steps any more.
		this.close(innerLane(ticket.asked));
		this.#rouse();
	}

	/** Says that the program rests: it has asked for all that it can ask for before it is told something. */
	rest(): void {
		this.#isResting = true;
		this.advance();
	}

	/** Ends the comparison with the record: the program may ask for anything from here on. */
	goOn(): void {
		this.#isLoose = true;
	}

	/** The world gave another answer than the one recorded at `place`: the steps after it may not be asked for again. */
	moved(place: Seq): void {
		for (const each of this.#unasked?.takeAfter(place) ?? []) this.#gone.add(each);
	}

	/** Has this program ended? The one around it may have all the same. */
	get isOver(): boolean {
		return this.#ended !== undefined;
	}

	/** Ends the program: calls that wait are refused, and all others are told at once. */
	end(reason: ProgramEnded): void {
		this.#ended = reason;
		this.#waiting = [];
		for (const ticket of this.#in()) ticket.cut(reason);
		this.advance();
	}

	/** @throws ProgramEnded where this program, or the one around it, has ended */
	assertOpen(): void {
		if (this.#ended) throw this.#ended;
		this.#around?.assertOpen();
	}

	/**
	 * Resolves when no call is under way, here or inside. A next run that waits for this makes no call beside one of this run.
	 *
	 * @param lane only the calls in this lane and below count. Default: all
	 */
	async over(lane?: string): Promise<void> {
		for (const ticket of this.#in(lane)) await ticket.over();
	}

	/** Gives up the calls under way in a lane and below, since the call around them took too long. */
	giveUp(lane: string): void {
		for (const ticket of this.#in(lane)) ticket.made();
	}

	/** Refuses the calls in a lane and below that are not under way, since the try of the call around them has failed. */
	cut(lane: string, reason: ProgramEnded): void {
		for (const ticket of this.#in(lane)) ticket.cut(reason);
	}

	*#in(lane?: string): Generator<Ticket> {
		for (const set of [this.#open, this.#inside])
			for (const ticket of set) if (lane === undefined || `${ticket.asked.lane}/`.startsWith(`${lane}/`)) yield ticket;
	}

	/** Forgets a lane, in which nothing more will be asked for. */
	close(lane: string): void {
		this.#lanes.delete(lane);
		if ("onIdle" in this.#options) return;
		this.#unasked?.forget(lane);
		this.#gone.forget(lane);
	}

	/** Writes records in the order of the calls, also on a full disk: while one record waits for space, all later ones wait behind it. */
	async write<T>(write: (stall: () => void) => Promise<T>): Promise<T> {
		while (this.#stalled) await this.#stalled;
		const { promise, resolve } = Promise.withResolvers<void>();
		let isStalled = false;
		try {
			return await write(() => {
				isStalled = true;
				this.#stalled = promise;
			});
		} finally {
			if (isStalled) this.#stalled = undefined;
			resolve();
		}
	}

	/** Tells and begins all calls that may be, as long as the program rests. */
	advance(): void {
		if (this.#isLooking) return;
		this.#isLooking = true;
		try {
			if (this.#ended) for (const { tell } of this.#placed.toReversed()) tell?.();
			else while (this.#isResting && !this.#telling && !this.#isBreathing() && this.#next());
		} finally {
			this.#isLooking = false;
		}
	}

	/**
	 * Lets the event loop have a turn after every 50 calls. A script whose answers are all recorded could otherwise run on microtasks
	 * alone, and timers, signals and the log's writer would never run. The order is not affected: an outcome that comes in the pause
	 * has a larger place than all that wait.
	 */
	#isBreathing(): boolean {
		if (!("onIdle" in this.#options)) return false;
		if (this.#breath > 0) {
			this.#breath--;
			return false;
		}
		if (this.#breath === 0) {
			this.#breath = -1;
			setImmediate(() => {
				this.#breath = TOLD_AT_A_TIME;
				this.advance();
			});
		}
		return true;
	}

	/**
	 * Tells the next calls whose answers are at hand, as long as `isShort` returns true. Call it inside a `tell`: it saves a script a
	 * trip through the event loop for each answer of a burst.
	 */
	hurry(isShort: () => boolean): void {
		for (let first = this.#placed.at(-1); first?.isAtHand && isShort(); first = this.#placed.at(-1)) {
			if (!this.#isResting || this.#telling || this.#expectedBefore(first)) return;
			this.#tellFirst(first);
		}
	}

	/** Tells or begins the next call. @returns may another one follow? */
	#next(): boolean {
		if (this.#begun) return false;
		const first = this.#placed.at(-1);
		const [next] = this.#waiting;
		// Where answers are assumed, all calls have begun and have their place before one is told.
		const isAssumed = first?.rank === ASSUMED;
		if (first && !(isAssumed && next)) {
			if (isAssumed && this.#open.values().some(({ place }) => place === undefined)) return false;
			if (!this.#agrees(first)) return false;
			return this.#tellFirst(first);
		}
		if (!next) {
			if ("onIdle" in this.#options) this.#options.onIdle();
			return false;
		}
		if (!this.#agrees(next)) return false;
		for (const ticket of this.#waiting.splice(0)) this.#beginUnlessGuarded(ticket);
		return true;
	}

	#beginUnlessGuarded(ticket: Ticket): void {
		const error = this.#guard(ticket);
		if (error) ticket.refuse(error);
		else ticket.begin();
	}

	#tellFirst(first: Ticket): boolean {
		if (first.isToBegin) {
			this.#placed.pop();
			first.isToBegin = false;
			first.place = undefined;
			this.#begin(first);
			return true;
		}
		if (!first.tell) return false;
		this.#placed.pop();
		this.#telling = first;
		first.tell();
		return true;
	}

	/** Begins a call that has recorded inner steps. Nothing is told until it asks for one of them, is over, or patience ends. */
	#begin(ticket: Ticket): void {
		this.#rouse();
		this.#begun = ticket;
		ticket.begin();
		if ("onIdle" in this.#options) return;
		this.#options.timers.after(this.#options.patienceMs ?? PATIENCE_MS, () => {
			if (this.#begun !== ticket) return;
			this.#begun = undefined;
			this.advance();
		});
	}

	/** The recorded step that the program has yet to ask for, and that has to be told before `next`. */
	#expectedBefore(next: Ticket): Unheard | undefined {
		if (this.#isLoose || next.rank === 0) return undefined;
		return this.#unasked?.next(next.rank === 1 ? next.place : undefined);
	}

	/** May `next` come now? False: a recorded step has to come before it, and the program may still ask for that. */
	#agrees(next: Ticket): boolean {
		const expected = this.#expectedBefore(next);
		if (!expected) return true;
		if ("onIdle" in this.#options) {
			this.#options.onDivergence({
				expected: expected.describe(),
				got: next.asked.describe(),
				seq: expected.place ?? expected.started,
				path: expected.lane,
			});
			return this.#isLoose;
		}
		if (this.#patience === "over") return true;
		if (this.#patience === "fresh") {
			this.#patience = "waiting";
			this.#options.timers.after(this.#options.patienceMs ?? PATIENCE_MS, () => {
				this.#patience = "over";
				this.advance();
			});
		}
		return false;
	}

	/**
	 * Why an effect must not begin; undefined: it may. An effect without any record is dangerous while recorded steps are not asked
	 * for: it may be one of them, asked for in another order or with other arguments, and would be made twice.
	 */
	#guard({ asked }: Ticket): ReplayDivergenceError | undefined {
		if (!asked.isUnheardOf) return undefined;
		// An unchanged script has been compared step by step already (`#agrees`).
		const unasked = "onIdle" in this.#options || !this.#hasOverlaps ? 0 : (this.#unasked?.size ?? 0);
		const same = this.#sameAs(asked);
		const first = unasked > 0 ? this.#unasked?.first() : same;
		if (!first) return undefined;
		if ("changed" in this.#options && this.#options.changed === "go on") {
			this.#options.onChanged?.(asked, Math.max(1, unasked));
			return undefined;
		}
		return new ReplayDivergenceError(
			{
				expected: first.describe(),
				got: asked.describe(),
				seq: first.place ?? first.started,
				path: asked.lane,
			},
			first === same
				? "Nothing was called: that effect was made after the failure that the run had ended by, and this one may be meant in its place. Where both are meant, change the program, or the name of one"
				: `Nothing was called: ${unasked} recorded steps are not asked for, so this may be one of them in another order. Await nothing but steps in branches that share state, give each branch a lane of its own, or open the journal with { changed: "go on" }`,
		);
	}

	#sameAs(asked: Asked): Unheard | undefined {
		// With overlapping calls the same effect may have other arguments now, so its name alone makes it the same.
		const own = this.#gone.sameAs(asked, this.#hasOverlaps);
		const around = this.#around;
		return own ?? (around ? around.#sameAs(asked) : undefined);
	}

	/** Takes a step off the lists of what is not asked for, here and in the programs around. */
	#heard(asked: Asked): void {
		this.#unasked?.delete(asked);
		this.#gone.delete(asked);
		const around = this.#around;
		if (around) around.#heard(asked);
	}

	get #around(): Order | undefined {
		return "around" in this.#options ? this.#options.around : undefined;
	}

	/** Is the replay over? No recorded step is left that the program may still ask for, and no call waits. */
	get #isLive(): boolean {
		if ("onIdle" in this.#options) return false;
		return this.#unasked?.size === 0 && this.#gone.isEmpty && this.#waiting.length + this.#placed.length === 0;
	}

	/** Collects the recorded steps of all lanes asked in so far: once two calls overlap, their order matters. */
	#arm(): void {
		if (this.#unasked) return;
		this.#unasked = new Unasked();
		for (const [lane, isAsked] of this.#lanes) this.#learn(lane, isAsked);
		this.#lanes.clear();
	}

	#learn(lane: string, isAsked: (step: RecordedStep) => boolean): void {
		for (const step of this.#recordedIn(lane)) {
			if (!step.mayBeGone && !isAsked(step)) this.#unasked?.add(unheard(lane, step));
		}
		this.#learnGone(lane, isAsked);
	}

	#learnGone(lane: string, isAsked: (step: RecordedStep) => boolean): void {
		for (const step of this.#recordedIn(lane)) if (step.mayBeGone && !isAsked(step)) this.#addGone(lane, step);
	}

	/** Adds a step that may not be asked for again, and all steps inside it. */
	#addGone(lane: string, step: RecordedStep): void {
		this.#gone.add(unheard(lane, step));
		const inside = innerLane({ lane, ...step });
		for (const each of this.#recordedIn(inside)) this.#addGone(inside, each);
	}

	#recordedIn(lane: string): Iterable<RecordedStep> {
		return "onIdle" in this.#options ? [] : (this.#options.recordedIn?.(lane) ?? []);
	}

	/** Says that the program runs. It counts as resting again once its microtasks have run; a script's realm says so itself. */
	#rouse(): void {
		this.#isResting = false;
		if (this.#willRest || "onIdle" in this.#options) return;
		this.#willRest = true;
		queueMicrotask(() =>
			process.nextTick(() => {
				this.#willRest = false;
				this.rest();
			}),
		);
	}
}

const unheard = (lane: string, step: RecordedStep): Unheard => ({
	...step,
	lane,
	describe: () => `${step.name} (${step.fp.slice(0, 8)}:${step.occ}) in ${lane}`,
});

/** Assumed answers come after all recorded ones. */
const ASSUMED: Rank = Number.POSITIVE_INFINITY;

/** Calls that a script is told between two turns of the event loop; a burst of recorded answers counts as one. */
const TOLD_AT_A_TIME = 50;

/** The default of `patienceMs`: long enough for a short timer or a file, short enough that no person notices it. */
const PATIENCE_MS = 200;

const isBefore = (a: Ticket, b: Ticket): boolean =>
	a.rank === b.rank ? (a.place ?? 0) < (b.place ?? 0) : a.rank < b.rank;

/** Is a call made inside another one, at any depth? */
const isInside = (call: Asked, outer: Asked): boolean => `${call.lane}/`.startsWith(`${innerLane(outer)}/`);

function remove(tickets: Ticket[], ticket: Ticket): void {
	const at = tickets.indexOf(ticket);
	if (at >= 0) tickets.splice(at, 1);
}
