/**
 * Performs a step, the only place where a side effect happens: recall its outcome, or start it durably, call it, record its outcome;
 * then tell its caller, when the order says that it is its turn.
 */
import { inspect, isDeepStrictEqual } from "node:util";
import {
	type Appended,
	canonicalJson,
	codeOf,
	type Draft,
	isReynError,
	type Scope,
	type Seq,
	systemClock,
	systemTimers,
} from "@reyn/wal";
import { attach } from "./attached-file.ts";
import { callKey, type FailedTry, type From, type Identity, innerLane, type Recall } from "./entry.ts";
import { asError, isFinal, isRetryable, issuesOf, JournalError, type Reason, readable, reasonOf } from "./errors.ts";
import { failureOf, isFailureOfCall, isStop, recalledAs, thrownAs } from "./failure.ts";
import { keepImage } from "./file-change.ts";
import { keyOf } from "./idempotency-key.ts";
import type { Lane } from "./lane.ts";
import { rankOf, type Ticket } from "./order.ts";
import {
	changedAgain,
	deniedBy,
	type GatedCall,
	isGated,
	isVerdict,
	isWants,
	MOST_LOOKS,
	type Verdict,
	waitingFor,
} from "./permit.ts";
import type { Keeping, Usage } from "./ports.ts";
import { assertPreparable, assertPurity, leavesOutcome, startsDurably } from "./purity.ts";
import { type Doubt, stepCompleted, stepFailed, stepStarted, usageSchema } from "./records.ts";
import { Stopper } from "./refusals.ts";
import { loadResult, type StoredResult, storeResult, toJson } from "./results.ts";
import { delayBefore, type Next, nextAfter, pause, unlessAborted, whenSpace, within } from "./retry.ts";
import {
	type Called,
	type InDoubt,
	type InDoubtPolicy,
	isInDoubtPolicy,
	isReconciled,
	type Reconciled,
	type Step,
	type StepContext,
	type StepEvent,
	type Using,
} from "./step.ts";

/** What a step needs of its lane. */
export interface Surroundings {
	/**
	 * The lane of the steps inside this one.
	 *
	 * @param isAlone do all other calls of the program wait for this one?
	 * @param after the largest place that had been told when this step was asked for
	 */
	inside(using: Using, isAlone: boolean, after: Seq | undefined): Lane;
	/** Resolves when all records of the lane are on disk. */
	durable(): Promise<void>;
}

/** A call that was asked for, until its caller is told. */
export interface Asked<T> {
	readonly known: Recall;
	/** Recalls or makes the call. Settles with its outcome when its turn has come. Call it once. */
	told(): Promise<T>;
	/** Replaces `told` when the caller has the result already: calls `hand` at the turn. The caller has been told when `hand` returns. */
	atHand(hand: () => void): void;
	/** Gives an event about this call to the observer. */
	observe(event: Untold): void;
	/** Says that the caller has been told. */
	done(): void;
}

/** Asks for a call, which takes it into the order of its program. @throws the signal's reason */
export function ask<T>(step: Step<T>, id: Identity, scope: Scope, using: Using, lane: Surroundings): Asked<T> {
	const { order } = using;
	using.signal.throwIfAborted();
	const known = using.recall(id, order?.program ?? id.lane);
	const asked = {
		...id,
		isUnheardOf: startsDurably(id.purity) && known.kind === "fresh" && !known.failed,
		describe: () => describe(id),
	};
	const isPure = !leavesOutcome(id.purity);
	const place = order && placeOf(known, order.recordsItsEnd);
	// Only a plain program needs this: the calls of a script (those with a `place`) have their inner steps in an order of their own.
	const inside = place === undefined && !isPure && !id.place ? using.firstBelow?.(innerLane(id)) : undefined;
	const ticket = order?.ask(asked, place, isPure ? 0 : rankOf(known), inside);
	return new Performance(step, id, scope, using, lane, known, ticket);
}

/** The place of a recorded outcome; undefined: the step has to be called. */
function placeOf(known: Recall, recordsItsEnd: boolean): Seq | undefined {
	if (known.kind === "failed") return known.again && !recordsItsEnd ? undefined : known.order;
	return known.kind === "ghost" || known.kind === "world" ? known.order : undefined;
}

/** Takes one step from what the log knows of it to what its caller is told. */
class Performance<T> implements Asked<T> {
	readonly known: Recall;
	readonly #step: Step<T>;
	readonly #id: Identity;
	readonly #scope: Scope;
	readonly #using: Using;
	readonly #lane: Surroundings;
	/** Absent where the program has no order. */
	readonly #ticket: Ticket | undefined;
	/** Has the gate let the call pass? It is asked once. */
	#isPermitted = false;
	/** Has the newest try taken longer than the limit of this step, and not of one around it? */
	#isLate = false;

	constructor(
		step: Step<T>,
		id: Identity,
		scope: Scope,
		using: Using,
		lane: Surroundings,
		known: Recall,
		ticket: Ticket | undefined,
	) {
		this.#step = step;
		this.#id = id;
		this.#scope = scope;
		this.#using = using;
		this.#lane = lane;
		this.known = known;
		this.#ticket = ticket;
	}

	async told(): Promise<T> {
		assertPurity(this.#id);
		if (this.#step.prepare) assertPreparable(this.#id);
		const ending = await this.#ending(this.known);
		this.#ticket?.made();
		await this.#ticket?.turn(this.#using.signal);
		// An outcome from another place is recorded here before the program hears it: each later replay then finds it here.
		const adopted = await ending.adopt?.();
		if (adopted !== undefined) this.#ticket?.adopted(adopted);
		if (ending.event) this.#tell(ending.event);
		try {
			return ending.give();
		} catch (error) {
			if (isFailureOfCall(error)) this.#ticket?.failed(error);
			throw error;
		}
	}

	atHand(hand: () => void): void {
		this.#ticket?.atHand(hand);
	}

	observe(event: Untold): void {
		this.#tell(event);
	}

	done(): void {
		this.#ticket?.done();
	}

	/** How the step ends in this run. @throws errors that are no outcome of it: it was cancelled, stopped, or has to wait */
	async #ending(known: Recall): Promise<Ending<T>> {
		switch (known.kind) {
			case "ghost": {
				const result = await this.#revived(known.kept);
				if (result.kind === "lost") return this.#callLost(known, result.error);
				const { usage, from } = known;
				const event = { type: "ghost" as const, ...(usage ? { usage } : {}) };
				return {
					give: () => result.value,
					event,
					...(from !== undefined && { adopt: () => this.#adopt(from, known) }),
				};
			}
			case "failed": {
				if (known.again && !this.#using.order?.recordsItsEnd) {
					await this.#forget(known);
					await this.#mayBegin();
					return this.#again(known.again);
				}
				const { reason, from } = known;
				return {
					give: () => {
						throw recalledAs(reason, this.#id);
					},
					event: { type: "failed", reason: reason.message },
					...(from !== undefined && { adopt: () => this.#adoptFailure(from, known) }),
				};
			}
			case "in_doubt": {
				await this.#mayBegin();
				const now = await this.#learned(known.started);
				return now.kind === "in_doubt" ? this.#resolveInDoubt(now) : this.#ending(now);
			}
			case "world":
				return known.settled ? this.#worldThen(known) : this.#try({ attempt: 1, before: known.kept });
			case "fresh":
				if (leavesOutcome(this.#id.purity)) await this.#mayBegin();
				return this.#again(known.failed);
		}
	}

	/**
	 * Takes back a failure that was told, since the step is tried again. The record is appended in the same synchronous step as the
	 * asking: no call that comes later can rest on the failure.
	 */
	async #forget({ reason, started }: Recall & { kind: "failed" }): Promise<void> {
		const start = started === undefined ? {} : { started };
		await this.#append(stepFailed({ ...this.#id, ...start, retryable: true, forgotten: true, reason }));
	}

	async #mayBegin(): Promise<void> {
		await this.#ticket?.mayBegin(this.#using.signal);
	}

	/** Gives the world's recorded answer, without asking again. */
	async #worldThen({ kept, from }: Recall & { kind: "world" }, reason?: string): Promise<Ending<T>> {
		const result = await this.#revived(kept);
		if (result.kind === "lost") return this.#callLost({}, result.error);
		const adopt = from === undefined ? {} : { adopt: () => this.#adopt(from, { kept }) };
		const event = { type: "world_kept" as const, ...(reason === undefined ? {} : { reason }) };
		return { give: () => result.value, event, ...adopt };
	}

	/** Resolves a step in doubt: `reconcile` asks the far side, and the policy decides only where the far side does not know. */
	async #resolveInDoubt({ started, prepared, attempt }: Recall & { kind: "in_doubt" }): Promise<Ending<T>> {
		const found = await this.#reconcile(started, prepared);
		// During the wait the outer call may have been cancelled, or an earlier try of this call, given up before, may have ended.
		this.#using.signal.throwIfAborted();
		const now = this.#recalled();
		if (now.kind !== "in_doubt") return this.#ending(now);
		if (found.kind === "unreachable") throw this.#inDoubt(started, found.error);
		if (isKnown(found)) {
			this.#tell({ type: "in_doubt", decision: "reconciled" });
			return this.#found(found, { attempt, started, doubt: "reconciled" });
		}
		const policy = found.kind === "not_done" ? "retry" : this.#policyOf(started);
		if (policy === "ask") {
			const denied = await this.#denied(true);
			const after = this.#recalled();
			if (after.kind !== "in_doubt") return this.#ending(after);
			if (denied) return this.#deny(denied, { attempt, started });
		}
		const decision = policy === "ask" ? "retry" : policy;
		// What the far side knows not to have happened is in no doubt.
		if (found.kind !== "not_done") this.#tell({ type: "in_doubt", decision });
		switch (decision) {
			case "retry":
				return this.#try({ attempt, started, prepared, ...(found.kind !== "not_done" && { doubt: "retry" }) });
			case "skip":
				return this.#complete(started, attempt, this.#step.empty as T, { doubt: "skip" });
			case "discard":
				throw new JournalError(
					"STEP_DISCARDED",
					`${this.#id.name} was started before the process ended, and nobody knows whether it happened; the policy is to stop here`,
					{ lane: this.#id.lane, started },
				);
		}
	}

	/** The policy for this step in doubt. @throws JournalError `CALL_IN_DOUBT` when the policy throws or gives none: nothing is done then */
	#policyOf(started: Seq): InDoubtPolicy | InDoubt {
		const { kind, name, lane } = this.#id;
		let given: unknown;
		try {
			if (kind === "tool") given = this.#using.toolInDoubt?.(name);
			given ??= this.#step.inDoubt;
			given ??= this.#using.whenInDoubt({ name, lane });
		} catch (thrown) {
			throw this.#inDoubt(started, readable(thrown));
		}
		if (isInDoubtPolicy(given)) return given;
		throw this.#inDoubt(
			started,
			new TypeError(
				`what to do then is ${inspect(given, { depth: 0, breakLength: Number.POSITIVE_INFINITY })}, which is no policy`,
			),
		);
	}

	/** Makes a call that has failed in this line of history, unless another line knows that the effect was made, or was begun. */
	async #again(failed: FailedTry | undefined): Promise<Ending<T>> {
		if (failed?.started === undefined) return this.#tryNext(failed);
		const now = await this.#learned(failed.started);
		return now.kind === "fresh" ? this.#tryNext(now.failed) : this.#ending(now);
	}

	/** What is recorded of the call once this line of history has adopted what others know of its start. */
	async #learned(started: Seq): Promise<Recall> {
		await this.#using.adopt?.(started);
		this.#using.signal.throwIfAborted();
		return this.#recalled();
	}

	/** Tries again after a failed try, once its pause is over. The pause counts from the record, so a crash does not begin it anew. */
	async #tryNext(failed: FailedTry | undefined): Promise<Ending<T>> {
		if (!failed) return this.#try({ attempt: 1 });
		const { retry } = this.#step;
		const attempt = Math.min(failed.attempt + 1, retry?.maxAttempts ?? 1);
		const { clock = systemClock, timers = systemTimers, signal } = this.#using;
		if (retry && attempt > Math.max(1, failed.attempt)) {
			const pauseMs = failed.pauseMs ?? delayBefore(attempt, retry);
			// A clock that was set back must not make the pause longer than it was.
			const left = Math.min(pauseMs, failed.at + pauseMs - clock.now());
			await this.#unlessEnded((ended) => pause(left, timers, AbortSignal.any([signal, ended])));
		}
		const { started, prepared } = failed;
		// A call that timed out may have happened all the same, so the far side is asked.
		if (failed.reason.code !== "STEP_TIMEOUT" || started === undefined) return this.#try({ attempt, started });
		const found = await this.#reconcile(started, prepared);
		if (found.kind === "unreachable") throw this.#inDoubt(started, found.error);
		if (isKnown(found)) return this.#found(found, { attempt: failed.attempt, started });
		return this.#try({ attempt, started, prepared });
	}

	async #try(next: Try): Promise<Ending<T>> {
		const { attempt, before } = next;
		let { started, prepared } = next;
		if (this.#isAsked) {
			const denied = await this.#denied();
			// An earlier try, given up before, may have ended while the gate was asked.
			const now = this.#recalled();
			if (now.kind === "ghost") return this.#ending(now);
			// A world step that may not be asked again keeps its recorded answer.
			if (denied) return before ? this.#worldStands(denied) : this.#deny(denied, next);
		}
		this.#ticket?.start();
		if (startsDurably(this.#id.purity)) {
			if (this.#step.prepare && prepared === undefined) {
				try {
					const { prepare } = this.#step;
					const preparing = (signal: AbortSignal) => prepare.call(this.#step, { signal, attempt, ...this.#keeping });
					prepared = toJson(await this.#looking(preparing), this.#redact).json;
				} catch (thrown) {
					return this.#thrown(thrown, next);
				}
				// Nothing has begun yet, so a call that was cancelled during `prepare` stops here.
				this.#using.signal.throwIfAborted();
			}
			const made = prepared === undefined ? {} : { prepared };
			// Each try appends a start, even when an open one exists: that one may be of this process, and not durable yet.
			const first = started === undefined ? {} : { started };
			const doubt = next.doubt === undefined ? {} : { doubt: next.doubt };
			const start = stepStarted({ ...this.#id, ...numbered(attempt), ...this.#after, ...first, ...made, ...doubt });
			const { seq, durable, record } = await this.#append(start);
			// Durable before the effect: if this record cannot be kept, the call is never made.
			await durable;
			// An earlier try, given up before, may have ended during the flush.
			const now = this.#recalled();
			if (now.kind === "ghost") return this.#ending(now);
			// A repeated try keeps the idempotency key of the first one: by that the far side recognises it.
			started ??= seq;
			// The call gets the recorded (redacted) value, which is also what `reconcile` will get.
			({ prepared } = record.data as { prepared?: unknown });
		}
		// Earlier answers of this lane become durable before another one is paid for: a crash then costs one model call at most.
		if (this.#id.purity === "llm") await this.#lane.durable();
		// The call may have been cancelled during the waits above.
		this.#using.signal.throwIfAborted();
		let result: T;
		let isUsed: boolean;
		try {
			this.#tell({ type: "calling", attempt });
			// A call that ends although it was cancelled has an outcome, which is recorded: else a paid answer would be paid for again.
			({ result, isUsed } = await this.#call(attempt, started, prepared));
		} catch (thrown) {
			return this.#thrown(thrown, { attempt, started, prepared, before });
		}
		return this.#complete(started, attempt, result, { before, isUsed });
	}

	/** What follows a try that has thrown: an end, or another try. @throws an error that is no outcome (cancelled, stopped) */
	async #thrown(thrown: unknown, made: Try): Promise<Ending<T>> {
		const { attempt, before } = made;
		const { retry } = this.#step;
		const error = readable(thrown);
		// A call that was cancelled, or stopped by a step inside it that must not be made, has no outcome: an effect stays in
		// doubt, anything else is simply called again.
		// One that took too long has failed all the same: it may go on, and nobody waits for it.
		const isCut = this.#using.signal.aborted && !this.#isLate;
		if (isCut || isStop(error)) throw error;
		// A world step that cannot be asked now keeps its recorded answer.
		if (before) return this.#worldStands(error);
		const next = this.#nextAfter(error, attempt);
		const isMade = isReynError(error, "MODEL_ANSWER") && !isFailureOfCall(error);
		const end = next.kind === "again" ? error : (this.#step.endedBy?.(error, attempt) ?? error);
		const { failed, ...ending } = await this.#fail(end, made, next, isMade || undefined);
		if (!retry || next.kind === "never") return ending;
		const { message } = failed.reason;
		this.#tell({ type: "retrying", attempt, limit: retry.maxAttempts, reason: message, pauseMs: next.pauseMs });
		this.#ticket?.made();
		return this.#tryNext(failed);
	}

	/** Does the gate have to be asked before the call? */
	get #isAsked(): boolean {
		return !this.#isPermitted && this.#using.gate !== undefined && isGated(this.#id.kind);
	}

	/**
	 * Asks the gate whether the call may be made, before anything of it has begun.
	 *
	 * @returns the error to fail with when the gate denies it; undefined: the call may be made
	 * @throws JournalError `CALL_WAITING`; the signal's reason
	 */
	async #denied(inDoubt = false): Promise<Error | undefined> {
		const { kind: type, name, lane, purity } = this.#id;
		const { signal } = this.#using;
		const call = { name, args: this.#step.args, key: callKey(this.#id), lane, purity, signal };
		if (!isGated(type) || !this.#using.gate) throw waitingFor("somebody who knows whether it happened", call);
		let looked = await this.#wants();
		for (let looks = 1; ; looks++) {
			if ("error" in looked) return looked.error;
			const gated: GatedCall = { type, ...call, ...looked, ...(inDoubt ? { inDoubt } : {}) };
			const verdict = await this.#verdictOn(gated, this.#using.gate);
			// The call may have been cancelled while the gate was asked.
			signal.throwIfAborted();
			if (verdict.kind === "deny") return deniedBy(verdict);
			if (verdict.kind === "wait") throw waitingFor(verdict.for, call);
			// A verdict may take days, and is of what was shown: of something else there is none yet.
			const now = await this.#wants();
			if (isDeepStrictEqual(now, looked)) break;
			if (looks === MOST_LOOKS && !("error" in now)) return changedAgain(call, looks);
			looked = now;
		}
		this.#isPermitted = true;
		return undefined;
	}

	/** What the call would touch, or why it cannot be made. @throws the signal's reason */
	async #wants(): Promise<Pick<GatedCall, "wants"> | { readonly error: Error }> {
		const { signal } = this.#using;
		try {
			const looking = async (signal: AbortSignal): Promise<unknown> => this.#step.wants?.({ signal });
			const wants = await this.#unlessEnded(() => unlessAborted(this.#looking(looking), signal));
			if (wants === undefined) return {};
			if (isWants(wants)) return { wants };
			throw new TypeError(
				`its wants gave ${inspect(wants, { depth: 1, breakLength: Number.POSITIVE_INFINITY }).slice(0, 200)}, which is no list of wants`,
			);
		} catch (thrown) {
			signal.throwIfAborted();
			const error = readable(thrown);
			if (isStop(error)) throw error;
			return { error: asError(error) };
		}
	}

	/** Looks before a call, no longer than one try may take; nothing has begun meanwhile, so that is no `STEP_TIMEOUT`. */
	async #looking<R>(look: (signal: AbortSignal) => Promise<R>): Promise<R> {
		const { signal, timers = systemTimers } = this.#using;
		const { timeoutMs: ms } = this.#step;
		if (ms === undefined) return look(signal);
		const { name } = this.#id;
		const late = `${name} took longer than its ${ms} ms to say what it would do, and was not called`;
		try {
			return await within({ ms, name, late }, look, timers, signal);
		} catch (error) {
			throw isReynError(error, "STEP_TIMEOUT") ? new Error(late) : error;
		}
	}

	/** Asks the gate. A gate that throws or returns no verdict neither allows nor forbids: the call waits. */
	async #verdictOn(call: GatedCall, gate: NonNullable<Using["gate"]>): Promise<Verdict> {
		try {
			const given = await this.#unlessEnded(() => unlessAborted(gate(call), call.signal));
			if (isVerdict(given)) return given;
			throw new TypeError("it gave no verdict");
		} catch (thrown) {
			call.signal.throwIfAborted();
			const error = readable(thrown);
			if (isStop(error)) throw error;
			const why = this.#redact(reasonOf(error).message);
			throw waitingFor(`its gate, which failed (${why})`, call, { cause: error });
		}
	}

	/** Waits for something, unless the program, or the try around this call, ends meanwhile. @throws ProgramEnded */
	#unlessEnded<R>(begin: (ended: AbortSignal) => Promise<R>): Promise<R> {
		return this.#ticket ? this.#ticket.unlessEnded(begin) : begin(NEVER);
	}

	/** Whether another try follows a failed one. A retry policy that throws allows none. */
	#nextAfter(error: unknown, attempt: number): Next {
		const { random = Math.random } = this.#using;
		const { retry } = this.#step;
		if (!retry) return { kind: "never" };
		try {
			return nextAfter(error, attempt, retry, random);
		} catch {
			return { kind: "never" };
		}
	}

	#worldStands(error: unknown): Promise<Ending<T>> {
		return this.#worldThen(this.known as Recall & { kind: "world" }, failureOf(error, this.#redact).message);
	}

	async #call(attempt: number, started: Seq | undefined, prepared: unknown): Promise<Made<T>> {
		const { timeoutMs } = this.#step;
		const { name } = this.#id;
		const key = started === undefined ? {} : { idempotencyKey: keyOf(this.#using.logId, started) };
		// A call that has its place already is being waited for by all others, so its inner steps cannot wait for their turn.
		const isAlone = this.#ticket?.place !== undefined;
		const { timers = systemTimers, files } = this.#using;
		let lane: Lane | undefined;
		let stopper: Stopper | undefined;
		const make = async (signal: AbortSignal): Promise<Made<T>> => {
			stopper = new Stopper(signal, timers, () => lane?.over());
			const { stopped } = stopper;
			const inside = (): Lane => {
				if (lane) return lane;
				lane = this.#lane.inside({ ...this.#using, signal, stopped }, isAlone, this.#ticket?.after);
				return lane;
			};
			const context: StepContext = {
				signal,
				...key,
				...(prepared === undefined ? {} : { prepared }),
				attempt,
				...(files && { attach: (name: string, bytes: Uint8Array) => attach(name, bytes, files) }),
				// Made on demand: a lane with an order costs more than the rest of a call, and few calls use it.
				get lane() {
					return inside();
				},
			};
			try {
				// What was made is made, though its line of history was left meanwhile: that is where its outcome is kept.
				const isLate = (stop: Error): boolean => isReynError(stop, "STALE_LINEAGE");
				return { result: await stopper.run(() => this.#step.call(context), isLate), isUsed: lane?.isUsed ?? false };
			} catch (error) {
				// Its steps may be asked for again, by its next try or by whoever goes on: not beside those of this one.
				lane?.end();
				await lane?.over();
				throw error;
			}
		};
		const { signal } = this.#using;
		this.#isLate = false;
		if (timeoutMs === undefined) return make(signal);
		let made: Promise<Made<T>> | undefined;
		const making = (within: AbortSignal): Promise<Made<T>> => {
			made = make(within);
			return made;
		};
		const giveUp = (): void => {
			// One that was stopped has not failed, and what is under way inside it is waited for.
			if (stopper?.endStopped()) return;
			this.#isLate = true;
			lane?.giveUp();
		};
		const late = `${name} took longer than its ${timeoutMs} ms, and was told to stop; whether it happened is not known`;
		try {
			return await within({ ms: timeoutMs, name, late, giveUp }, making, timers, signal);
		} catch (error) {
			if (this.#isLate || made === undefined) throw error;
			return made;
		}
	}

	/** Records that the call was not made. One that was started before may have been. */
	#deny(denied: Error, of: Try): Promise<Ending<T>> {
		return this.#fail(denied, of, { kind: "never" }, of.started === undefined ? false : undefined);
	}

	/**
	 * Records a failed try, and says how the caller will be told of it.
	 *
	 * @param isMade was the call made, as far as that is certain?
	 */
	async #fail(
		error: unknown,
		{ attempt, started, prepared }: Try,
		next: Next,
		isMade?: boolean,
	): Promise<Ending<T> & { readonly failed: FailedTry }> {
		const again = next.kind === "again";
		const said = failureOf(error, this.#redact);
		const reason: Reason = { ...said, ...(isMade ? { made: true } : {}) };
		if (!again) this.#tell({ type: "failed", reason: reason.message });
		const start = started === undefined ? {} : { started };
		const paused = again ? { pauseMs: next.pauseMs } : {};
		if (leavesOutcome(this.#id.purity)) {
			// A step without a retry policy leaves it to its caller whether to try again.
			const retryable = again || (this.#step.retry === undefined && isRetryable(error) && !isFinal(error));
			const told = again ? {} : { told: true as const };
			const unmade = isMade === false ? { unmade: true as const } : {};
			// A first try gets its number too when others follow: earlier tries may have been forgotten, so it is not first in the log.
			const tried = again ? { attempt } : numbered(attempt);
			const draft = {
				...this.#id,
				...tried,
				...this.#after,
				...start,
				retryable,
				...paused,
				...told,
				...unmade,
				reason,
			};
			await this.#append(stepFailed(draft), !again);
		}
		const { clock = systemClock } = this.#using;
		const give = (): never => {
			throw thrownAs(error, said, this.#id);
		};
		return { failed: { attempt, at: clock.now(), reason, ...paused, ...start, prepared }, give };
	}

	/**
	 * Records a call that happened. A result that cannot be kept (no JSON, too large) makes it a failure that is never retried, since
	 * the effect has happened.
	 *
	 * @param isUsed did the call make inner steps? Undefined: it was not called just now
	 */
	async #complete(
		started: Seq | undefined,
		attempt: number,
		result: T,
		{ before, isUsed, doubt }: { before?: StoredResult | undefined; isUsed?: boolean; doubt?: Doubt | undefined } = {},
	): Promise<Ending<T>> {
		const { results, redact, order } = this.#using;
		const paid = this.#paid(result);
		if (isUsed !== undefined) this.#tell({ type: "live", ...(paid.usage ? { usage: paid.usage } : {}), inner: isUsed });
		let told: StoredResult;
		try {
			if (paid.wrong) throw paid.wrong;
			if (!leavesOutcome(this.#id.purity)) return { give: () => result };
			const kept = await this.#whenSpace(() => storeResult(result, results, redact && this.#redact));
			// A world answer that is the same as before needs no second record.
			const isSame = before && canonicalJson(before) === canonicalJson(JSON.parse(JSON.stringify(kept)));
			if (before) this.#tell({ type: "world_asked", moved: !isSame });

			const { from } = this.known.kind === "world" ? this.known : {};
			if (from && before) return await this.#worldAnew(from, isSame ? before : kept, isSame);
			const moves = before && !isSame ? order?.program : undefined;
			if (moves !== undefined) order?.moved(this.#ticket?.place ?? 0);
			const completed = stepCompleted({
				...this.#id,
				...numbered(attempt),
				...this.#after,
				...(started === undefined ? {} : { started }),
				...(doubt === undefined ? {} : { doubt }),
				...kept,
				...(paid.usage ? { usage: paid.usage } : {}),
				...(moves === undefined ? {} : { moves }),
			});
			told = isSame ? before : ((await this.#append(completed, true)).record.data as StoredResult);
		} catch (error) {
			if (!isReynError(error, "STEP_USAGE", "WAL_NOT_JSON", "WAL_TOO_LARGE", "WAL_INVALID_RECORD")) throw error;
			if (before) return this.#worldStands(error);
			return this.#fail(error, { attempt, started }, { kind: "never" }, true);
		}
		// The value is read back from its stored form, so that the first run sees exactly what every replay will see.
		const value = (await loadResult(told, results)) as T;
		return { give: () => value };
	}

	/**
	 * Keeps what the world says now, where it was asked before an edit. It is told in its old place, and recorded no sooner than that:
	 * the records of a revision have the order in which they are told.
	 */
	async #worldAnew(from: From, kept: StoredResult, isSame: boolean | undefined): Promise<Ending<T>> {
		const stored: StoredResult = JSON.parse(JSON.stringify(kept));
		const value = (await loadResult(stored, this.#using.results)) as T;
		const record = async (): Promise<Seq> =>
			(await this.#append(stepCompleted({ ...this.#id, ...this.#after, ...stored }))).seq;
		return { give: () => value, adopt: () => (isSame ? this.#adopt(from, { kept: stored }) : record()) };
	}

	/** The tokens that a result cost, or the error when `usage` throws or gives no token counts. */
	#paid(result: T): { readonly usage?: Usage; readonly wrong?: JournalError } {
		const { name } = this.#id;
		const wrong = (why: string): { wrong: JournalError } => {
			const text = `${name} was called, and its usage has to be token counts; ${why}. It is not called again: mend \`usage\``;
			return { wrong: new JournalError("STEP_USAGE", text, { name }) };
		};
		try {
			const given = this.#step.usage?.(result);
			if (given === undefined) return {};
			const read = usageSchema.safeParse(given);
			return read.success ? { usage: read.data } : wrong(issuesOf(read.error));
		} catch (error) {
			return wrong(`it threw: ${reasonOf(readable(error)).message}`);
		}
	}

	/** Records at this place a result that was found at another one, so that the next replay finds it here. */
	async #adopt(
		from: From,
		{ kept, usage, started }: Pick<Recall & { kind: "ghost" }, "kept" | "usage" | "started">,
	): Promise<Seq> {
		const more = { ...(started === undefined ? {} : { started }), ...(usage ? { usage } : {}) };
		return (await this.#append(stepCompleted({ ...this.#id, ...this.#after, adopts: from.seq, ...kept, ...more }))).seq;
	}

	async #adoptFailure(from: From, { reason, started }: Recall & { kind: "failed" }): Promise<Seq> {
		const start = started === undefined ? {} : { started };
		const draft = {
			...this.#id,
			...this.#after,
			adopts: from.seq,
			...start,
			retryable: false,
			told: true as const,
			reason,
		};
		return (await this.#append(stepFailed(draft))).seq;
	}

	/**
	 * Handles a recorded result whose blob cannot be read. A step without effects is called again. An effect is not: the far side is
	 * asked for the result, and without it the step fails with `RESULT_LOST`.
	 */
	async #callLost(
		{ started, prepared }: { readonly started?: Seq; readonly prepared?: unknown },
		error: JournalError,
	): Promise<Ending<T>> {
		this.#tell({ type: "lost", reason: error.message });
		if (!startsDurably(this.#id.purity)) return this.#try({ attempt: 1 });
		if (started !== undefined) {
			const found = await this.#reconcile(started, prepared);
			if (found.kind === "unreachable") throw this.#inDoubt(started, found.error);
			if (isKnown(found)) return this.#found(found, { attempt: 1, started });
		}
		return {
			give: () => {
				throw error;
			},
		};
	}

	async #revived(kept: StoredResult): Promise<{ kind: "read"; value: T } | { kind: "lost"; error: JournalError }> {
		try {
			return { kind: "read", value: (await loadResult(kept, this.#using.results)) as T };
		} catch (error) {
			if (codeOf(error) !== "RESULT_LOST") throw error;
			return { kind: "lost", error: error as JournalError };
		}
	}

	/** What the log knows of the step now. If it has ended meanwhile, it gets its place. */
	#recalled(): Recall {
		const now = this.#using.recall(this.#id, this.#using.order?.program ?? this.#id.lane);
		if (now.kind === "ghost" || now.kind === "failed") this.#ticket?.placed(now.order);
		return now;
	}

	/** Asks the far side, and again by the step's retry policy while that fails. @throws the signal's reason */
	async #reconcile(started: Seq, prepared: unknown): Promise<Reconciled<T> | Unreachable> {
		const { timers = systemTimers, signal } = this.#using;
		for (let attempt = 1; ; attempt++) {
			try {
				return await this.#askFarSide(started, prepared);
			} catch (thrown) {
				signal.throwIfAborted();
				const error = readable(thrown);
				const next = this.#nextAfter(error, attempt);
				if (next.kind === "never") return { kind: "unreachable", error };
				await pause(next.pauseMs, timers, signal);
			}
		}
	}

	async #askFarSide(started: Seq, prepared: unknown): Promise<Reconciled<T>> {
		const { timers = systemTimers, signal } = this.#using;
		const { timeoutMs, reconcile } = this.#step;
		if (!reconcile) return { kind: "unknown" };
		const { name } = this.#id;
		const asking = async (until: AbortSignal): Promise<Reconciled<T>> => {
			const key = keyOf(this.#using.logId, started);
			const given: unknown = await reconcile.call(this.#step, key, prepared, { signal: until });
			if (isReconciled(given)) return given;
			throw new TypeError(
				`its reconcile gave ${inspect(given, { depth: 0, breakLength: Number.POSITIVE_INFINITY })}, which is no answer`,
			);
		};
		if (timeoutMs === undefined) return asking(signal);
		const late = `its far side took longer than the ${timeoutMs} ms of ${name} to say so`;
		return within({ ms: timeoutMs, name, late }, asking, timers, signal);
	}

	/** The error that stops the work when the far side cannot be asked: the call is neither made again nor counted as failed. */
	#inDoubt(started: Seq, cause: unknown): JournalError {
		const { name, lane } = this.#id;
		const said = reasonOf(cause);
		const reason = { ...said, message: this.#redact(said.message) };
		this.#tell({ type: "in_doubt", decision: "waits", reason: reason.message });
		return new JournalError(
			"CALL_IN_DOUBT",
			`${name} in ${lane} was started, and its far side cannot say what became of it: ${reason.message}. It was not called again; run this again when the far side can be asked`,
			{ name, lane, started, reason },
			{ cause },
		);
	}

	async #found(found: Known<T>, made: Try): Promise<Ending<T>> {
		if (found.kind === "done") return this.#complete(made.started, made.attempt, found.result, { doubt: made.doubt });
		return this.#fail(found.error, made, { kind: "never" });
	}

	/** @param isEnd will the caller be told this outcome? Then its seq is the place of the call */
	#append(draft: Draft, isEnd = false): Promise<Appended> {
		const write = (): Appended => {
			const { kind, data } = draft;
			const said = this.#using.isClosed?.() ? { kind, data: { ...(data as object), closed: true } } : draft;
			const appended = this.#using.log.append(said, this.#scope);
			if (isEnd) this.#ticket?.placed(appended.seq);
			return appended;
		};
		const { order } = this.#using;
		return order ? order.write((stall) => this.#whenSpace(write, stall)) : this.#whenSpace(write);
	}

	#whenSpace<R>(write: () => R | Promise<R>, stall?: () => void): Promise<R> {
		const { timers = systemTimers, signal } = this.#using;
		const told = ({ code, message }: Error & { readonly code: string }): void => {
			stall?.();
			this.#tell({ type: "no_space", code, reason: message });
		};
		return whenSpace(write, told, timers, signal);
	}

	readonly #redact = (text: string): string => this.#using.redact?.(text) ?? text;

	#tell(event: Untold): void {
		const { lane, kind, name, place } = this.#id;
		this.#using.observe?.({ lane, kind, name, ...(place ? { at: place.at, label: place.label } : {}), ...event });
	}

	get #keeping(): Keeping {
		const { images } = this.#using;
		return images ? { keep: (bytes) => keepImage(bytes, images) } : {};
	}

	/** The record fields `after` and `within`: the largest place told when this step was asked for, and when the outer call was. */
	get #after(): { after?: Seq; within?: Seq } {
		const { within } = this.#using;
		return { ...(this.#ticket && { after: this.#ticket.after }), ...(within === undefined ? {} : { within }) };
	}
}

/** A call without an order has no program that ends. */
const NEVER = new AbortController().signal;

/** How a call ended, for its caller. */
interface Ending<T> {
	/** Returns the result of the call, or throws its failure. */
	give(): T;
	/** The event that observers get when the caller is told. */
	readonly event?: Untold;
	/** Records an outcome of another place at this one, when the caller is told. */
	adopt?(): Promise<Seq>;
}

/** The result of a call that was just made, and whether it made inner steps. */
interface Made<T> {
	readonly result: T;
	readonly isUsed: boolean;
}

interface Try {
	readonly attempt: number;
	/** The first durable start, where there was one. */
	readonly started?: Seq | undefined;
	/** What the try in doubt was prepared with: the next try gets the same. */
	readonly prepared?: unknown;
	/** Why it is made again, if it was in doubt. */
	readonly doubt?: Doubt;
	/** The recorded answer of a world step, which stands if the new try fails. */
	readonly before?: StoredResult | undefined;
}

/** The far side's answer when it knows how the call ended. */
type Known<T> = Exclude<Reconciled<T>, { kind: "not_done" | "unknown" }>;

/** The far side could not be asked. */
interface Unreachable {
	readonly kind: "unreachable";
	readonly error: unknown;
}

const isKnown = <T>(found: Reconciled<T>): found is Known<T> => found.kind === "done" || found.kind === "failed";

/** An event without the call that it is about. */
export type Untold = StepEvent extends infer Event
	? Event extends unknown
		? Omit<Event, keyof Called>
		: never
	: never;

const numbered = (attempt: number): { attempt?: number } => (attempt > 1 ? { attempt } : {});

/** A call as a person reads it. */
export const describe = ({ kind, name, fp, occ, place }: Identity): string => {
	if (!place) return `${kind} ${name} (${fp.slice(0, 8)}:${occ})`;
	const fields = Object.entries(place.fields).map(([field, value]) => `${field}: ${value}`);
	return `${kind} ${name}(${fields.join(", ")})`;
};
