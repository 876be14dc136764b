/** The one place where a side effect happens: recall it, or start durably, call, complete; and tell it when it is its turn. */
import { inspect } from "node:util";
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
import { entryKey, type FailedTry, type Identity, innerLane, type Recall } from "./entry.ts";
import { isFinal, isRetryable, issuesOf, JournalError, type Reason, readable, reasonOf } from "./errors.ts";
import { failureOf, isFailureOfCall, isNoOutcome, isStop, recalledAs, thrownAs } from "./failure.ts";
import type { Lane } from "./lane.ts";
import type { Ticket } from "./order.ts";
import { deniedBy, type GatedCall, isGated, isVerdict, type Verdict, waitingFor } from "./permit.ts";
import type { Usage } from "./ports.ts";
import { assertPreparable, assertPurity, leavesOutcome, startsDurably } from "./purity.ts";
import { stepCompleted, stepFailed, stepStarted, usageSchema } from "./records.ts";
import { loadResult, type StoredResult, storeResult, toJson } from "./results.ts";
import { delayBefore, type Next, nextAfter, pause, whenSpace, within } from "./retry.ts";
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

/** The lane of a step, as far as the step needs it. */
export interface Surroundings {
	/**
	 * The lane of the steps inside this one.
	 *
	 * @param isAlone all else waits for this one
	 * @param after what had been told when it was asked for
	 */
	inside(using: Using, isAlone: boolean, after: Seq | undefined): Lane;
	/** Resolves when all that the lane has recorded is on disk. */
	durable(): Promise<void>;
}

/** A call that was asked for. */
export interface Asked<T> {
	readonly known: Recall;
	/** Makes the call, or finds it. Settles when its turn has come, with what its caller is to be told. To be called once. */
	told(): Promise<T>;
	/** In place of `told`, where the result is at hand: calls `hand` when its turn has come, which has told the caller when it returns. */
	atHand(hand: () => void): void;
	/** Tells who observes. */
	observe(event: Untold): void;
	/** Its caller has been told. */
	done(): void;
}

/** Asks for a call: from now on it has its place among the others of its program. @throws the signal's reason */
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
	// A script is not told of the steps inside its calls.
	const inside = place === undefined && !isPure && !id.place ? using.firstBelow?.(innerLane(id)) : undefined;
	const ticket = order?.ask(asked, place, isPure ? 0 : rankOf(known), inside);
	return new Performance(step, id, scope, using, lane, known, ticket);
}

/** Undefined: it is to be called. */
function placeOf(known: Recall, recordsItsEnd: boolean): Seq | undefined {
	if (known.kind === "failed") return known.again && !recordsItsEnd ? undefined : known.order;
	return known.kind === "ghost" || known.kind === "world" ? known.order : undefined;
}

const rankOf = (known: Recall): 1 | 2 => ("from" in known && known.from !== undefined ? 2 : 1);

/** One step, from what is known of it to what its caller is told. */
class Performance<T> implements Asked<T> {
	readonly known: Recall;
	readonly #step: Step<T>;
	readonly #id: Identity;
	readonly #scope: Scope;
	readonly #using: Using;
	readonly #lane: Surroundings;
	/** Absent where nobody waits for a turn. */
	readonly #ticket: Ticket | undefined;
	/** Has whoever may forbid it let it pass? */
	#isPermitted = false;

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
		await this.#ticket?.turn(this.#using.signal);
		// What the log says of this place is what the program hears from here on.
		const adopted = await ending.adopt?.();
		if (adopted !== undefined) this.#ticket?.adopted(adopted);
		if (ending.event) this.#tell(ending.event);
		try {
			return ending.give();
		} catch (error) {
			if (isFailureOfCall(error)) this.#ticket?.failed();
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

	/** How it ends, this time. @throws what is no end of it */
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
					return this.#tryNext(known.again);
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
			case "in_doubt":
				await this.#mayBegin();
				return this.#resolveInDoubt(known);
			case "world":
				return known.settled ? this.#worldThen(known) : this.#try({ attempt: 1, before: known.kept });
			case "fresh":
				if (leavesOutcome(this.#id.purity)) await this.#mayBegin();
				return this.#tryNext(known.failed);
		}
	}

	/** In one go with the asking: what is asked for from here on was not told of the failure. */
	async #forget({ reason, started }: Recall & { kind: "failed" }): Promise<void> {
		const start = started === undefined ? {} : { started };
		await this.#append(stepFailed({ ...this.#id, ...start, retryable: true, forgotten: true, reason }));
	}

	async #mayBegin(): Promise<void> {
		await this.#ticket?.mayBegin(this.#using.signal);
	}

	/** What the world said then stands. */
	async #worldThen({ kept, from }: Recall & { kind: "world" }, reason?: string): Promise<Ending<T>> {
		const result = await this.#revived(kept);
		if (result.kind === "lost") return this.#callLost({}, result.error);
		const adopt = from === undefined ? {} : { adopt: () => this.#adopt(from, { kept }) };
		const event = { type: "world_kept" as const, ...(reason === undefined ? {} : { reason }) };
		return { give: () => result.value, event, ...adopt };
	}

	/** The far side is asked first; policy decides only what stays unknown. */
	async #resolveInDoubt({ started, prepared, attempt }: Recall & { kind: "in_doubt" }): Promise<Ending<T>> {
		const found = await this.#reconcile(started, prepared);
		// Meanwhile this may have been given up with the call around it, or an earlier call that was given up may have ended.
		this.#using.signal.throwIfAborted();
		const now = this.#recalled();
		if (now.kind !== "in_doubt") return this.#ending(now);
		if (found.kind === "unreachable") throw this.#inDoubt(started, found.error);
		if (isKnown(found)) {
			this.#tell({ type: "in_doubt", decision: "reconciled" });
			return this.#found(found, { attempt, started });
		}
		const policy = found.kind === "not_done" ? "retry" : this.#policyOf(started);
		if (policy === "ask") {
			const denied = await this.#denied(true);
			const after = this.#recalled();
			if (after.kind !== "in_doubt") return this.#ending(after);
			if (denied) return this.#fail(denied, { attempt, started }, { kind: "never" });
		}
		const decision = policy === "ask" ? "retry" : policy;
		this.#tell({ type: "in_doubt", decision });
		switch (decision) {
			case "retry":
				return this.#try({ attempt, started, prepared });
			case "skip":
				return this.#complete(started, attempt, this.#step.empty as T);
			case "discard":
				throw new JournalError(
					"STEP_DISCARDED",
					`${this.#id.name} was started before the process ended, and nobody knows whether it happened; the policy is to stop here`,
					{ lane: this.#id.lane, started },
				);
		}
	}

	/** @throws JournalError `CALL_IN_DOUBT` where nothing says what to do: then nothing is done */
	#policyOf(started: Seq): InDoubtPolicy | InDoubt {
		const { name, lane } = this.#id;
		let given: unknown = this.#step.inDoubt;
		try {
			given ??= this.#using.whenInDoubt({ name, lane });
		} catch (thrown) {
			throw this.#inDoubt(started, readable(thrown));
		}
		if (isInDoubtPolicy(given)) return given;
		throw this.#inDoubt(
			started,
			new TypeError(`what to do then is ${inspect(given, { depth: 0 })}, which is no policy`),
		);
	}

	/** After a try that failed, when its pause is over; a pause that a crash cut goes on. */
	async #tryNext(failed: FailedTry | undefined): Promise<Ending<T>> {
		if (!failed) return this.#try({ attempt: 1 });
		const { retry } = this.#step;
		const attempt = Math.min(failed.attempt + 1, retry?.maxAttempts ?? 1);
		const { clock = systemClock, timers = systemTimers, signal } = this.#using;
		if (retry && attempt > Math.max(1, failed.attempt)) {
			const pauseMs = failed.pauseMs ?? delayBefore(attempt, retry);
			// A clock that was put back makes no pause longer than it was to be.
			await pause(Math.min(pauseMs, failed.at + pauseMs - clock.now()), timers, signal);
		}
		const { started, prepared } = failed;
		// What took too long may have happened all the same.
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
			// Meanwhile an earlier call that was given up may have ended.
			const now = this.#recalled();
			if (now.kind === "ghost") return this.#ending(now);
			// Another try is not worth more than what it said.
			if (denied) return before ? this.#worldStands(denied) : this.#fail(denied, next, { kind: "never" });
		}
		this.#ticket?.start(this.#using.signal);
		if (startsDurably(this.#id.purity)) {
			if (this.#step.prepare && prepared === undefined) {
				try {
					prepared = toJson(await this.#step.prepare({ signal: this.#using.signal, attempt }), this.#redact).json;
				} catch (thrown) {
					return this.#thrown(thrown, next);
				}
				// Nothing has begun: it may have been given up meanwhile.
				this.#using.signal.throwIfAborted();
			}
			const made = prepared === undefined ? {} : { prepared };
			// Each call has a start of its own: one that is open may be of this process, and not durable yet.
			const start = stepStarted({ ...this.#id, ...numbered(attempt), ...this.#after, ...made });
			const { seq, durable, record } = await this.#append(start);
			// Durable before the effect: if this cannot be kept, the call is never made.
			await durable;
			// Meanwhile an earlier call that was given up may have ended.
			const now = this.#recalled();
			if (now.kind === "ghost") return this.#ending(now);
			// A repeated try keeps the key of the first: that is how the far side knows it.
			started ??= seq;
			// The call is given what the far side will be asked with.
			({ prepared } = record.data as { prepared?: unknown });
		}
		// What was paid before in this lane is kept before more is paid: a crash, or a full disk, costs the open call alone.
		if (this.#id.purity === "llm") await this.#lane.durable();
		// It may have been given up while it waited.
		this.#using.signal.throwIfAborted();
		let result: T;
		let isUsed: boolean;
		try {
			this.#tell({ type: "calling", attempt });
			// A call that ends although it was cancelled has an outcome: it is kept, or a paid answer would be paid again.
			({ result, isUsed } = await this.#call(attempt, started, prepared));
		} catch (thrown) {
			return this.#thrown(thrown, { attempt, started, prepared, before });
		}
		return this.#complete(started, attempt, result, { before, isUsed });
	}

	/** What follows a try that has thrown. @throws what is no outcome of it */
	async #thrown(thrown: unknown, made: Try): Promise<Ending<T>> {
		const { attempt, before } = made;
		const { retry } = this.#step;
		const error = readable(thrown);
		// A call that was cancelled, or stopped by a step inside it that must not be made, has no outcome: an effect stays in
		// doubt, anything else is simply called again.
		if (this.#using.signal.aborted || isStop(error)) throw error;
		// Another try is not worth more than what it said.
		if (before) return this.#worldStands(error);
		const next = this.#nextAfter(error, attempt);
		const isMade = isReynError(error, "MODEL_ANSWER") && !isFailureOfCall(error);
		const end = next.kind === "again" ? error : (this.#step.endedBy?.(error, attempt) ?? error);
		const { failed, ...ending } = await this.#fail(end, made, next, isMade);
		if (!retry || next.kind === "never") return ending;
		const { message } = failed.reason;
		this.#tell({ type: "retrying", attempt, limit: retry.maxAttempts, reason: message, pauseMs: next.pauseMs });
		return this.#tryNext(failed);
	}

	/** Has somebody to be asked before it is called? */
	get #isAsked(): boolean {
		return !this.#isPermitted && this.#using.gate !== undefined && isGated(this.#id.kind);
	}

	/**
	 * Asks whether it may be called. Nothing of it has begun.
	 *
	 * @returns why not
	 * @throws JournalError `CALL_WAITING`; the signal's reason
	 */
	async #denied(inDoubt = false): Promise<Error | undefined> {
		const { kind: type, name, lane, purity } = this.#id;
		const { signal } = this.#using;
		const call = { name, args: this.#step.args, key: `${lane} ${entryKey(this.#id)}`, lane, purity, signal };
		if (!isGated(type) || !this.#using.gate) throw waitingFor("somebody who knows whether it happened", call);
		const gated: GatedCall = { type, ...call, ...(inDoubt ? { inDoubt } : {}) };
		const verdict = await this.#verdictOn(gated, this.#using.gate);
		// It may have been given up while somebody was asked.
		signal.throwIfAborted();
		switch (verdict.kind) {
			case "pass":
				this.#isPermitted = true;
				return undefined;
			case "deny":
				return deniedBy(verdict);
			case "wait":
				throw waitingFor(verdict.for, call);
		}
	}

	/** A gate that throws, or gives no verdict, has said nothing: the call waits until it does. */
	async #verdictOn(call: GatedCall, gate: NonNullable<Using["gate"]>): Promise<Verdict> {
		try {
			const given = await gate(call);
			if (isVerdict(given)) return given;
			throw new TypeError("it gave no verdict");
		} catch (thrown) {
			call.signal.throwIfAborted();
			const error = readable(thrown);
			if (isNoOutcome(error)) throw error;
			const why = this.#redact(reasonOf(error).message);
			throw waitingFor(`its gate, which failed (${why})`, call, { cause: error });
		}
	}

	/** What follows a try that failed; where the policy itself throws, none does. */
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
		const key = started === undefined ? {} : { idempotencyKey: this.#keyOf(started) };
		// What has a place already is waited for by all others.
		const isAlone = this.#ticket?.place !== undefined;
		const make = (signal: AbortSignal): Promise<Made<T>> =>
			new Promise((resolve, reject) => {
				let lane: Lane | undefined;
				const inside = (): Lane =>
					(lane ??= this.#lane.inside({ ...this.#using, signal, stopped: reject }, isAlone, this.#ticket?.after));
				const context: StepContext = {
					signal,
					...key,
					...(prepared === undefined ? {} : { prepared }),
					attempt,
					// With an order of its own it is the largest part of a call, and few ask for it.
					get lane() {
						return inside();
					},
				};
				const made = async (): Promise<void> =>
					resolve({ result: await this.#step.call(context), isUsed: lane?.isUsed ?? false });
				made().catch(reject);
			});
		const { signal, timers = systemTimers } = this.#using;
		if (timeoutMs === undefined) return make(signal);
		const late = `${name} took longer than its ${timeoutMs} ms, and was told to stop; whether it happened is not known`;
		return within({ ms: timeoutMs, name, late }, make, timers, signal);
	}

	/** What a failed call leaves: that it was tried, and how its caller will hear of it. */
	async #fail(
		error: unknown,
		{ attempt, started, prepared }: Try,
		next: Next,
		isMade = false,
	): Promise<Ending<T> & { readonly failed: FailedTry }> {
		const again = next.kind === "again";
		const said = failureOf(error, this.#redact);
		const reason: Reason = { ...said, ...(isMade ? { made: true } : {}) };
		if (!again) this.#tell({ type: "failed", reason: reason.message });
		const start = started === undefined ? {} : { started };
		const paused = again ? { pauseMs: next.pauseMs } : {};
		if (leavesOutcome(this.#id.purity)) {
			// Without a policy of its own, a step leaves it to its caller whether there is another try.
			const retryable = again || (this.#step.retry === undefined && isRetryable(error) && !isFinal(error));
			const told = again ? {} : { told: true as const };
			// The first one is counted too: it may be the first again, after others that do not count.
			const tried = again ? { attempt } : numbered(attempt);
			const draft = { ...this.#id, ...tried, ...this.#after, ...start, retryable, ...paused, ...told, reason };
			await this.#append(stepFailed(draft), !again);
		}
		const { clock = systemClock } = this.#using;
		const give = (): never => {
			throw thrownAs(error, said, this.#id);
		};
		return { failed: { attempt, at: clock.now(), reason, ...paused, ...start, prepared }, give };
	}

	/**
	 * It has happened: where what it gave cannot be kept, that is how it ended, and it does not happen again.
	 *
	 * @param isUsed were steps made inside it, where it was called just now?
	 */
	async #complete(
		started: Seq | undefined,
		attempt: number,
		result: T,
		{ before, isUsed }: { before?: StoredResult | undefined; isUsed?: boolean } = {},
	): Promise<Ending<T>> {
		const { results, redact, order } = this.#using;
		const paid = this.#paid(result);
		if (isUsed !== undefined) this.#tell({ type: "live", ...(paid.usage ? { usage: paid.usage } : {}), inner: isUsed });
		let told: StoredResult;
		try {
			if (paid.wrong) throw paid.wrong;
			if (!leavesOutcome(this.#id.purity)) return { give: () => result };
			const kept = await this.#whenSpace(() => storeResult(result, results, redact && this.#redact));
			// A world that says the same again needs no second record of it.
			const isSame = before && canonicalJson(before) === canonicalJson(JSON.parse(JSON.stringify(kept)));
			const moves = before && !isSame ? order?.program : undefined;
			if (moves !== undefined) order?.moved(this.#ticket?.place ?? 0);
			const completed = stepCompleted({
				...this.#id,
				...numbered(attempt),
				...this.#after,
				...(started === undefined ? {} : { started }),
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
		// What the first run goes on with is what every replay will see.
		const value = (await loadResult(told, results)) as T;
		return { give: () => value };
	}

	/** What a result cost, or why nobody knows. */
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

	/** Records a result here that was found at another place, so that the next replay finds it here. */
	async #adopt(
		from: Seq,
		{ kept, usage, started }: Pick<Recall & { kind: "ghost" }, "kept" | "usage" | "started">,
	): Promise<Seq> {
		const more = { ...(started === undefined ? {} : { started }), ...(usage ? { usage } : {}) };
		return (await this.#append(stepCompleted({ ...this.#id, ...this.#after, adopts: from, ...kept, ...more }))).seq;
	}

	async #adoptFailure(from: Seq, { reason, started }: Recall & { kind: "failed" }): Promise<Seq> {
		const start = started === undefined ? {} : { started };
		const draft = {
			...this.#id,
			...this.#after,
			adopts: from,
			...start,
			retryable: false,
			told: true as const,
			reason,
		};
		return (await this.#append(stepFailed(draft))).seq;
	}

	/** A result that was recorded and cannot be read: never half of it. An effect is not made again without the far side's word. */
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

	/** What the log says now; what has come to an end meanwhile has its place. */
	#recalled(): Recall {
		const now = this.#using.recall(this.#id, this.#using.order?.program ?? this.#id.lane);
		if (now.kind === "ghost" || now.kind === "failed") this.#ticket?.placed(now.order);
		return now;
	}

	/** Asks the far side, as often as the step is tried while that fails. @throws the signal's reason */
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
		const asking = async (): Promise<Reconciled<T>> => {
			const given: unknown = await reconcile.call(this.#step, this.#keyOf(started), prepared);
			if (isReconciled(given)) return given;
			throw new TypeError(`its reconcile gave ${inspect(given, { depth: 0 })}, which is no answer`);
		};
		if (timeoutMs === undefined) return asking();
		const late = `its far side took longer than the ${timeoutMs} ms of ${name} to say so`;
		return within({ ms: timeoutMs, name, late }, asking, timers, signal);
	}

	/** What the work stops with where nobody can say what became of a call. It is neither made nor taken for failed. */
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
		if (found.kind === "done") return this.#complete(made.started, made.attempt, found.result);
		return this.#fail(found.error, made, { kind: "never" });
	}

	/** @param isEnd its caller will be told of it: this is its place */
	#append(draft: Draft, isEnd = false): Promise<Appended> {
		const write = (): Appended => {
			const appended = this.#using.log.append(draft, this.#scope);
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

	/** What had been told when this was asked for, and in the program around it when the call was that it is inside of. */
	get #after(): { after?: Seq; within?: Seq } {
		const { within } = this.#using;
		return { ...(this.#ticket && { after: this.#ticket.after }), ...(within === undefined ? {} : { within }) };
	}

	#keyOf(started: Seq): string {
		return `${this.#using.logId}:${started}`;
	}
}

/** How a call ended, for its caller. */
interface Ending<T> {
	/** Returns, or throws, what the call gave. */
	give(): T;
	/** What is observed when it is told. */
	readonly event?: Untold;
	/** Records it here, when it is told. */
	adopt?(): Promise<Seq>;
}

/** What a call gave just now, and whether steps were made inside it. */
interface Made<T> {
	readonly result: T;
	readonly isUsed: boolean;
}

interface Try {
	readonly attempt: number;
	/** The first durable start, where there was one. */
	readonly started?: Seq | undefined;
	/** What a try of which nobody knows whether it happened was prepared with. */
	readonly prepared?: unknown;
	/** What the world said before. */
	readonly before?: StoredResult | undefined;
}

/** What the far side says of a call that is over. */
type Known<T> = Exclude<Reconciled<T>, { kind: "not_done" | "unknown" }>;

/** It cannot be asked. */
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
