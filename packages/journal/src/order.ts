/**
 * In which order a program is told how its calls ended: live, and in every replay the same. A *program* is one run of a script, one
 * phase of a skill, one open journal; a *call* is one that it awaits itself. Each call has one *place*, the seq of the first record
 * of how it ended. Whenever the program is quiet it is told the smallest place among the calls that it has asked for; a call
 * without a place begins only when there is none to be told. What becomes known later has a larger place than all that was known
 * before, so a replay, which knows more, takes the same one at each point. A crash loses the largest places, and no call was begun
 * after one that is lost.
 */
import { setImmediate } from "node:timers";
import type { Seq, Timers } from "@reyn/wal";
import { innerLane, type RecordedStep } from "./entry.ts";
import { type Divergence, ReplayDivergenceError } from "./errors.ts";
import type { ProgramEnded } from "./failure.ts";
import { GoneEffects } from "./gone.ts";
import { Latch } from "./latch.ts";
import { Unasked, type Unheard } from "./unasked.ts";

/** What is told first: what leaves no record, what this program has recorded, what it takes over from before an edit. */
export type Rank = 0 | 1 | 2;

/** Which call asks, as far as the order needs it. */
export interface Asked {
	readonly lane: string;
	readonly kind: string;
	readonly name: string;
	readonly fp: string;
	readonly occ: number;
	/** What it is, for people. */
	describe(): string;
	/** Is it an effect that the log has nothing of? */
	readonly isUnheardOf: boolean;
}

export interface OrderOptions {
	/** All lanes of the program are below this one; "" is all of a journal. */
	readonly program: string;
	/** The steps that are recorded in a lane. Absent: nobody waits for what is not asked for. */
	readonly recordedIn?: ((lane: string) => Iterable<RecordedStep>) | undefined;
	readonly timers: Timers;
	/** Of the call that this program is inside of. */
	readonly around?: Order | undefined;
	/** Is `lane_failed` recorded when the program ends by throwing? Default: false. */
	readonly recordsItsEnd?: boolean | undefined;
	/** How long a program that awaits more than its steps is waited for, in milliseconds, once. Default: 200. */
	readonly patienceMs?: number | undefined;
	/** What becomes of an effect that nothing is recorded of while the program leaves out what is. Default: `stop`. */
	readonly changed?: "stop" | "go on" | undefined;
	/** Told when an effect begins all the same. */
	onChanged?(call: Asked, unasked: number): void;
}

/** What the order of a script is driven by, where it is known when the script rests. */
export interface StrictOptions {
	readonly program: string;
	/** What the program is known to ask for. Absent: it may ask for anything. */
	readonly recorded?: Iterable<RecordedStep & { readonly lane: string; describe(): string }> | undefined;
	/** The program does not do what is recorded. Nothing more is told, and nothing begins, unless `goOn` is called. */
	onDivergence(divergence: Divergence): void;
	/** The program rests, and nothing can be told or begun. */
	onIdle(): void;
}

/** One call in the order of its program, from when it is asked for until the program has been told. */
export class Ticket {
	readonly asked: Asked;
	/** The newest place that the program had been told of when it asked. */
	readonly after: Seq;
	readonly #order: Order;
	readonly #begin = new Latch();
	readonly #turn = new Latch();
	rank: Rank = 1;
	place: number | undefined;
	/** Tells the program, when it is its turn. Undefined: the answer is not there yet. */
	tell: (() => void) | undefined;
	/** Has the program been told when `tell` returns? */
	isAtHand = false;
	/** Is it to begin at its place, and not to be told yet? */
	isToBegin = false;
	isTold = false;
	/** While it is made: what the far side does meanwhile, a second life must not ask for again. */
	#underWay: { readonly over: Latch; readonly signal: AbortSignal } | undefined;

	/** Use `ask` of an order. */
	constructor(order: Order, asked: Asked, after: Seq) {
		this.#order = order;
		this.asked = asked;
		this.after = after;
	}

	/** Resolves when it may begin. @throws what it is refused with; the signal's reason */
	mayBegin(signal: AbortSignal): Promise<void> | undefined {
		return this.#begin.wait(signal);
	}

	/** It is made from now on. @param signal aborted when it is given up @throws ProgramEnded: nothing begins any more */
	start(signal: AbortSignal): void {
		this.#order.assertOpen();
		this.#underWay = { over: new Latch(), signal };
	}

	/** Resolves when it is not made any more, or given up. */
	async over(): Promise<void> {
		await this.#underWay?.over.wait(this.#underWay.signal)?.catch(() => {});
	}

	/** How it ended is recorded now. The first place stays. To be called in one go with the append. */
	placed(seq: Seq): void {
		if (this.place === undefined && !this.isTold) this.#order.place(this, 1, seq);
	}

	/** What it gives is only assumed: it is told after all that is recorded. */
	assumed(at: number): void {
		this.#order.place(this, 2, ASSUMED + at);
	}

	/** What was recorded before an edit is recorded again, at its turn. */
	adopted(seq: Seq): void {
		this.rank = 1;
		this.place = seq;
	}

	/** The answer is there. Resolves when the program is to be told. @throws the signal's reason */
	turn(signal: AbortSignal): Promise<void> | undefined {
		this.#ready(() => this.#turn.open());
		return this.#turn.wait(signal);
	}

	/** As {@link turn}, where the program has been told when `tell` returns. */
	atHand(tell: () => void): void {
		this.isAtHand = true;
		this.#ready(tell);
	}

	#ready(tell: () => void): void {
		this.tell = tell;
		this.#order.advance();
	}

	/** The program is told that it failed. */
	failed(): void {
		this.#order.lastFailures.push(this.asked);
	}

	/** The program has been told, or will not be. */
	done(): void {
		this.#order.leave(this);
		this.#underWay?.over.open();
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

/** The calls of one program that are asked for and not told. */
export class Order {
	readonly program: string;
	/** Is it recorded when the program ends by throwing? Then no failure that it was told of is tried again before. */
	readonly recordsItsEnd: boolean;
	/** The failures that the program was told of since it last asked for anything: nothing that is recorded rests on them. */
	lastFailures: Pick<Asked, "lane" | "fp" | "occ">[] = [];
	readonly #options: OrderOptions | StrictOptions;
	readonly #open = new Set<Ticket>();
	/** The same, of the programs inside of its calls. */
	readonly #inside = new Set<Ticket>();
	/** Begun for the steps inside it, none of which it has asked for yet. */
	#begun: Ticket | undefined;
	/** What waits to begin, as it was asked for. */
	#waiting: Ticket[] = [];
	/** What has a place; the smallest is the last. */
	readonly #placed: Ticket[] = [];
	#telling: Ticket | undefined;
	/** The newest place that was told. */
	#told: Seq = 0;
	#isResting = false;
	#isLooking = false;
	#willRest = false;
	#count = 0;
	#ended: ProgramEnded | undefined;
	#refused = 0;
	/** What is recorded and not asked for; known once calls overlap, in the lanes that were asked in. */
	#unasked: Unasked | undefined;
	readonly #gone = new GoneEffects();
	readonly #lanes = new Map<string, (step: RecordedStep) => boolean>();
	/** Have calls of it been under way at the same time? */
	#hasOverlaps = false;
	#patience: "fresh" | "waiting" | "over" = "fresh";
	#isLoose = false;
	/** What a script may be told before the process has a turn; below 0 while it has one. */
	#breath = TOLD_AT_A_TIME;
	/** Resolves when the record that waits for space is written. */
	#stalled: Promise<unknown> | undefined;

	constructor(options: OrderOptions | StrictOptions) {
		this.program = options.program;
		this.recordsItsEnd = "onIdle" in options || (options.recordsItsEnd ?? false);
		this.#options = options;
		if (!("onIdle" in options)) return;
		this.#isLoose = options.recorded === undefined;
		this.#unasked = new Unasked();
		for (const step of options.recorded ?? []) (step.mayBeGone ? this.#gone : this.#unasked).add(step);
		this.#patience = "over";
	}

	/** What has been asked for and not told. */
	get open(): number {
		return this.#open.size;
	}

	/**
	 * A lane of the program is asked in.
	 *
	 * @param isAsked was the step asked for in this life?
	 */
	enter(lane: string, isAsked: (step: RecordedStep) => boolean): void {
		if ("onIdle" in this.#options || !this.#options.recordedIn) return;
		this.#lanes.set(lane, isAsked);
		if (this.#unasked) this.#learn(lane, isAsked);
		// Where a program goes on after it has failed, it may ask otherwise, in whatever order.
		else if (this.recordsItsEnd) this.#learnGone(lane, isAsked);
	}

	/**
	 * A call is asked for.
	 *
	 * @param place where its end is recorded; undefined: nowhere
	 * @param rank 0: it is made at once, and told before all else
	 * @param inside of a call without a place: what had been told when the first step inside it was asked for
	 */
	ask(asked: Asked, place: Seq | undefined, rank: Rank = 1, inside?: Seq): Ticket {
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
		if (this.#ended) ticket.refuse(this.#ended);
		else if (rank === 0) this.place(ticket, 0, this.#count++);
		else if (place !== undefined) this.place(ticket, rank, place);
		else if (inside !== undefined) {
			// Nothing more is told before it has asked for that step: it may ask with what it knows then.
			ticket.isToBegin = true;
			this.place(ticket, 1, inside + 0.5);
		}
		// With nothing else asked for, and with nothing recorded left, there is nothing that it could overtake.
		else if (isAlone || this.#isLive) this.#beginUnlessGuarded(ticket);
		else this.#waiting.push(ticket);
		return ticket;
	}

	/** For tickets. */
	place(ticket: Ticket, rank: Rank, place: number): void {
		if (this.#begun === ticket) this.#begun = undefined;
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

	/** For tickets. */
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
		// The steps inside it will not be asked for.
		this.close(innerLane(ticket.asked));
		this.#rouse();
	}

	/** The program has come to rest: all that it asked for until here is asked for now. */
	rest(): void {
		this.#isResting = true;
		this.advance();
	}

	/** What is recorded need not be asked for any more. */
	goOn(): void {
		this.#isLoose = true;
	}

	/** The world says otherwise than before: what was asked for since may not be asked for again. */
	moved(place: Seq): void {
		for (const each of this.#unasked?.takeAfter(place) ?? []) this.#gone.add(each);
	}

	/**
	 * A call is refused for what no further call can help: a stop, or the log. Whoever asks on all the same is a loop, and one that is
	 * refused at once leaves its process no time for anything else: it is told nothing any more.
	 */
	isRefusedTooOften(): boolean {
		return ++this.#refused > MAX_REFUSED;
	}

	/** The program has ended: what waits is not begun, and nothing waits for its turn any more. */
	end(reason: ProgramEnded): void {
		this.#ended = reason;
		const cut = this.#placed.filter(({ isToBegin }) => isToBegin);
		for (const ticket of [...this.#waiting.splice(0), ...cut]) ticket.refuse(reason);
		this.advance();
	}

	/** @throws ProgramEnded where this program, or the one around it, has ended */
	assertOpen(): void {
		if (this.#ended) throw this.#ended;
		this.#around?.assertOpen();
	}

	/** Resolves when no call is made any more, here or inside: what a next life begins then is not beside one of this one. */
	async over(): Promise<void> {
		for (const set of [this.#open, this.#inside]) for (const ticket of set) await ticket.over();
	}

	/** Nothing more is asked for in a lane. */
	close(lane: string): void {
		this.#lanes.delete(lane);
		if ("onIdle" in this.#options) return;
		this.#unasked?.forget(lane);
		this.#gone.forget(lane);
	}

	/** Writes in the order of the calls, also where a record waits for space: what comes later waits behind it. */
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

	/** Tells and begins what can be, while the program rests. */
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
	 * A script and its answers may go on for ever without the process ever coming to its timers, signals and files: the log would
	 * be written at the end. What is told later is the same: whatever comes meanwhile has a larger place.
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

	/** Tells what needs nothing but to be told, while `isShort` says so. To be called while one is told. */
	hurry(isShort: () => boolean): void {
		for (let first = this.#placed.at(-1); first?.isAtHand && isShort(); first = this.#placed.at(-1)) {
			if (!this.#isResting || this.#telling || this.#expectedBefore(first)) return;
			this.#tellFirst(first);
		}
	}

	/** @returns is there perhaps more to be done? */
	#next(): boolean {
		if (this.#begun) return false;
		const first = this.#placed.at(-1);
		if (first) {
			if (!this.#agrees(first)) return false;
			return this.#tellFirst(first);
		}
		const [next] = this.#waiting;
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

	/** Begins a call that has recorded steps inside it, and waits until it asks for one of them, or is over. */
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

	/** What has to come before what comes next, as far as that is known. */
	#expectedBefore(next: Ticket): Unheard | undefined {
		if (this.#isLoose || next.rank === 0) return undefined;
		return this.#unasked?.next(next.rank === 1 ? next.place : undefined);
	}

	/** Is what comes next what has to come, or is it not known? */
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

	/** Why an effect must not begin. */
	#guard({ asked }: Ticket): ReplayDivergenceError | undefined {
		if (!asked.isUnheardOf) return undefined;
		// A script that has not changed is held to all else before.
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
				? "Nothing was called: that effect was made after the failure that the run had ended by, and this one may be meant in its place. Where both are meant, change the script, or the name of one"
				: `Nothing was called: ${unasked} recorded steps are not asked for, so this may be one of them in another order. Await nothing but steps in branches that share state, give each branch a lane of its own, or open the journal with { changed: "go on" }`,
		);
	}

	#sameAs(asked: Asked): Unheard | undefined {
		// Where calls overlapped, its arguments may be those of another order.
		const own = this.#gone.sameAs(asked, this.#hasOverlaps);
		const around = this.#around;
		return own ?? (around ? around.#sameAs(asked) : undefined);
	}

	/** It is asked for, in this program or in one inside of one of its calls. */
	#heard(asked: Asked): void {
		this.#unasked?.delete(asked);
		this.#gone.delete(asked);
		const around = this.#around;
		if (around) around.#heard(asked);
	}

	get #around(): Order | undefined {
		return "around" in this.#options ? this.#options.around : undefined;
	}

	/** Is nothing recorded that may yet be asked for? */
	get #isLive(): boolean {
		if ("onIdle" in this.#options) return false;
		return this.#unasked?.size === 0 && this.#gone.isEmpty && this.#waiting.length + this.#placed.length === 0;
	}

	/** Once two calls are under way at the same time their order matters, and what is recorded of them has to be known. */
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

	/** What is inside a call that may not be asked for again goes with it. */
	#addGone(lane: string, step: RecordedStep): void {
		this.#gone.add(unheard(lane, step));
		const inside = innerLane({ lane, ...step });
		for (const each of this.#recordedIn(inside)) this.#addGone(inside, each);
	}

	#recordedIn(lane: string): Iterable<RecordedStep> {
		return "onIdle" in this.#options ? [] : (this.#options.recordedIn?.(lane) ?? []);
	}

	/** The program runs: it is quiet again when its microtasks have run, unless somebody else knows better. */
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

/** So often is a program told that nothing is made any more: enough for what clears up, in each of its branches. */
const MAX_REFUSED = 100;

/** No seq is as large. */
const ASSUMED = 2 ** 50;

/** A burst of recorded answers counts as one. */
const TOLD_AT_A_TIME = 50;

/** See `patienceMs`. */
const PATIENCE_MS = 200;

const isBefore = (a: Ticket, b: Ticket): boolean =>
	a.rank === b.rank ? (a.place ?? 0) < (b.place ?? 0) : a.rank < b.rank;

/** Is a call made in a lane of another one? */
const isInside = (call: Asked, outer: Asked): boolean => `${call.lane}/`.startsWith(`${innerLane(outer)}/`);

function remove(tickets: Ticket[], ticket: Ticket): void {
	const at = tickets.indexOf(ticket);
	if (at >= 0) tickets.splice(at, 1);
}
