/** The one place where a side effect happens: recall it, or start durably, call, complete. */
import { type Appended, canonicalJson, type Draft, type Scope, type Seq, systemClock, systemTimers } from "@reyn/wal";
import type { FailedTry, Identity, Recall } from "./entry.ts";
import { isFinal, isRetryable, JournalError, type Reason, reasonOf } from "./errors.ts";
import type { Lane } from "./lane.ts";
import { leavesOutcome, startsDurably } from "./purity.ts";
import { stepCompleted, stepFailed, stepStarted } from "./records.ts";
import { type Kept, keep, revive } from "./results.ts";
import { delayBefore, type Next, nextAfter, pause, whenSpace, within } from "./retry.ts";
import type { Called, Reconciled, Step, StepEvent, Using } from "./step.ts";

/** The lane of a step, as far as the step needs it. */
export interface Surroundings {
	/** The lane of the steps inside this one. */
	inside(using: Using): Lane;
	/** Resolves when all that the lane has recorded is on disk. */
	durable(): Promise<void>;
}

export function perform<T>(step: Step<T>, id: Identity, scope: Scope, using: Using, lane: Surroundings): Promise<T> {
	return new Performance(step, id, scope, using, lane).run();
}

/** One step, from what is known of it to its result. */
class Performance<T> {
	readonly #step: Step<T>;
	readonly #id: Identity;
	readonly #scope: Scope;
	readonly #using: Using;
	readonly #lane: Surroundings;

	constructor(step: Step<T>, id: Identity, scope: Scope, using: Using, lane: Surroundings) {
		this.#step = step;
		this.#id = id;
		this.#scope = scope;
		this.#using = using;
		this.#lane = lane;
	}

	async run(): Promise<T> {
		const { signal } = this.#using;
		signal.throwIfAborted();
		const known = this.#using.recall(this.#id);
		switch (known.kind) {
			case "ghost": {
				const result = await this.#revived(known.kept);
				if (result.kind === "lost") return this.#callLost(known.started, result.error);
				this.#tell({ type: "ghost", ...(known.usage ? { usage: known.usage } : {}) });
				if (known.from !== undefined) await this.#adopt(known.from, known);
				return result.value;
			}
			case "failed":
				this.#tell({ type: "failed", reason: known.reason.message });
				if (known.from !== undefined) await this.#adoptFailure(known.from, known);
				throw failedBefore(this.#id, known.reason);
			case "in_doubt":
				return this.#settle(known.started, known.attempt);
			case "world": {
				if (!known.settled) return this.#try({ attempt: 1, before: known.kept });
				const result = await this.#revived(known.kept);
				if (result.kind === "lost") return this.#callLost(undefined, result.error);
				this.#tell({ type: "world_kept" });
				return result.value;
			}
			case "fresh":
				return this.#tryNext(known.failed);
		}
	}

	/** The far side is asked first; policy decides only what stays unknown. */
	async #settle(started: Seq, attempt: number): Promise<T> {
		const found = await this.#reconcile(started);
		// Meanwhile this may have been given up with the call around it, or an earlier call that was given up may have ended.
		this.#using.signal.throwIfAborted();
		if (this.#using.recall(this.#id).kind !== "in_doubt") return this.run();
		if (found.kind === "done") {
			this.#tell({ type: "in_doubt", decision: "reconciled" });
			return this.#complete(started, attempt, found.result);
		}
		const { name, lane } = this.#id;
		const decision = found.kind === "not_done" ? "retry" : this.#using.whenInDoubt({ name, lane });
		this.#tell({ type: "in_doubt", decision });
		switch (decision) {
			case "retry":
				return this.#try({ attempt, started });
			case "skip":
				return this.#complete(started, attempt, this.#step.empty as T);
			case "discard":
				throw new JournalError(
					"STEP_DISCARDED",
					`${name} was started before the process ended, and nobody knows whether it happened; the policy is to stop here`,
					{ lane, started },
				);
		}
	}

	/** After a try that failed, when its pause is over; a pause that a crash cut goes on. */
	async #tryNext(failed: FailedTry | undefined): Promise<T> {
		if (!failed) return this.#try({ attempt: 1 });
		const { retry } = this.#step;
		const { maxAttempts = 1, renews = false } = retry ?? {};
		const attempt = failed.attempt >= maxAttempts && renews ? 1 : Math.min(failed.attempt + 1, maxAttempts);
		const { clock = systemClock, timers = systemTimers, signal } = this.#using;
		if (retry && attempt > failed.attempt) {
			const pauseMs = failed.pauseMs ?? delayBefore(attempt, retry);
			// A clock that was put back makes no pause longer than it was to be.
			await pause(Math.min(pauseMs, failed.at + pauseMs - clock.now()), timers, signal);
		}
		const { started } = failed;
		// What took too long may have happened all the same.
		if (failed.reason.code === "STEP_TIMEOUT" && started !== undefined) {
			const found = await this.#reconcile(started);
			if (found.kind === "done") return this.#complete(started, failed.attempt, found.result);
		}
		return this.#try({ attempt, ...(started === undefined ? {} : { started }) });
	}

	async #try({ attempt, started, before }: Try): Promise<T> {
		const { retry } = this.#step;
		if (startsDurably(this.#id.purity)) {
			// Each call has a start of its own: one that is open may be of this process, and not durable yet.
			const { seq, durable } = await this.#append(stepStarted({ ...this.#id, ...numbered(attempt) }));
			// Durable before the effect: if this cannot be kept, the call is never made.
			await durable;
			// Meanwhile an earlier call that was given up may have ended.
			if (this.#using.recall(this.#id).kind === "ghost") return this.run();
			// A repeated try keeps the key of the first: that is how the far side knows it.
			started ??= seq;
		}
		// What was paid before in this lane is kept before more is paid: a crash, or a full disk, costs the open call alone.
		if (this.#id.purity === "llm") await this.#lane.durable();
		// It may have been given up while it waited.
		this.#using.signal.throwIfAborted();
		let result: T;
		let inner: Lane;
		try {
			this.#tell({ type: "calling", attempt });
			// A call that ends although it was cancelled has an outcome: it is kept, or a paid answer would be paid again.
			({ result, inner } = await this.#call(attempt, started));
		} catch (error) {
			// A call that was cancelled, or stopped by a step in doubt inside it, has no outcome: an effect stays in doubt, anything
			// else is simply called again.
			if (this.#using.signal.aborted || isDiscarded(error)) throw error;
			const { random = Math.random } = this.#using;
			const next: Next = retry ? nextAfter(error, attempt, retry, random) : { kind: "never" };
			const failed = await this.#fail(error, attempt, started, next);
			if (!retry || next.kind !== "again") throw error;
			const { message } = failed.reason;
			this.#tell({ type: "retrying", attempt, limit: retry.maxAttempts, reason: message, pauseMs: next.pauseMs });
			return this.#tryNext(failed);
		}
		const usage = this.#step.usage?.(result);
		this.#tell({ type: "live", ...(usage ? { usage } : {}), inner: inner.isUsed });
		return this.#complete(started, attempt, result, before);
	}

	async #call(attempt: number, started: Seq | undefined): Promise<{ result: T; inner: Lane }> {
		const { timeoutMs } = this.#step;
		const { name } = this.#id;
		const key = started === undefined ? {} : { idempotencyKey: this.#keyOf(started) };
		const make = async (signal: AbortSignal): Promise<{ result: T; inner: Lane }> => {
			const using = signal === this.#using.signal ? this.#using : { ...this.#using, signal };
			const inner = this.#lane.inside(using);
			return { result: await this.#step.call({ signal, ...key, attempt, lane: inner }), inner };
		};
		const { signal, timers = systemTimers } = this.#using;
		return timeoutMs === undefined ? make(signal) : within(timeoutMs, name, make, timers, signal);
	}

	/** What a failed call leaves: of an effect its outcome, of others only that they were tried, if another try may follow. */
	async #fail(error: unknown, attempt: number, started: Seq | undefined, next: Next): Promise<FailedTry> {
		const { message, ...code } = reasonOf(error);
		const reason: Reason = { message: this.#using.redact?.(message) ?? message, ...code };
		if (next.kind !== "again") this.#tell({ type: "failed", reason: reason.message });
		const start = started === undefined ? {} : { started };
		const isEffect = startsDurably(this.#id.purity);
		// `later` of what is no effect: tried as often as may be, and to be tried anew.
		const isOpen = next.kind === "again" || (next.kind === "later" && !isEffect);
		const paused = next.kind === "again" ? { pauseMs: next.pauseMs } : isOpen ? { pauseMs: 0 } : {};
		if (isEffect || isOpen) {
			// Without a policy of its own, a step leaves it to its caller whether there is another try.
			const retryable = isOpen || (this.#step.retry === undefined && isRetryable(error) && !isFinal(error));
			const tried = isOpen ? { attempt } : numbered(attempt);
			await this.#append(stepFailed({ ...this.#id, ...tried, ...start, retryable, ...paused, reason }));
		}
		const { clock = systemClock } = this.#using;
		return { attempt, at: clock.now(), reason, ...paused, ...start };
	}

	async #complete(started: Seq | undefined, attempt: number, result: T, before?: Kept): Promise<T> {
		const { results, redact } = this.#using;
		if (!leavesOutcome(this.#id.purity)) return result;
		let kept: Kept;
		try {
			kept = await this.#whenSpace(() => keep(result, results, redact && ((text) => redact.call(this.#using, text))));
		} catch (error) {
			// It happened, and is not to happen again because of what it gave.
			if ((error as { code?: unknown }).code === "WAL_NOT_JSON" && startsDurably(this.#id.purity))
				await this.#fail(error, attempt, started, { kind: "never" });
			throw error;
		}
		// A world that says the same again needs no second record of it.
		if (before && canonicalJson(before) === canonicalJson(JSON.parse(JSON.stringify(kept))))
			return (await revive(before, results)) as T;
		const usage = this.#step.usage?.(result);
		const { record } = await this.#append(
			stepCompleted({
				...this.#id,
				...numbered(attempt),
				...(started === undefined ? {} : { started }),
				...kept,
				...(usage ? { usage } : {}),
			}),
		);
		// What the first run goes on with is what every replay will see.
		return (await revive(record.data as Kept, results)) as T;
	}

	/** Records a result here that was found at another place, so that the next replay finds it here. */
	async #adopt(from: Seq, { kept, usage, started }: Recall & { kind: "ghost" }): Promise<void> {
		const more = { ...(started === undefined ? {} : { started }), ...(usage ? { usage } : {}) };
		await this.#append(stepCompleted({ ...this.#id, adopts: from, ...kept, ...more }));
	}

	async #adoptFailure(from: Seq, { reason, started }: Recall & { kind: "failed" }): Promise<void> {
		const start = started === undefined ? {} : { started };
		await this.#append(stepFailed({ ...this.#id, adopts: from, ...start, retryable: false, reason }));
	}

	/** A result that was recorded and cannot be read: never half of it. An effect is not made again without the far side's word. */
	async #callLost(started: Seq | undefined, error: JournalError): Promise<T> {
		this.#tell({ type: "lost", reason: error.message });
		if (!startsDurably(this.#id.purity)) return this.#try({ attempt: 1 });
		const found = started === undefined ? undefined : await this.#reconcile(started);
		if (found?.kind !== "done") throw error;
		return this.#complete(started, 1, found.result);
	}

	async #revived(kept: Kept): Promise<{ kind: "read"; value: T } | { kind: "lost"; error: JournalError }> {
		try {
			return { kind: "read", value: (await revive(kept, this.#using.results)) as T };
		} catch (error) {
			if ((error as { code?: unknown }).code !== "RESULT_LOST") throw error;
			return { kind: "lost", error: error as JournalError };
		}
	}

	async #reconcile(started: Seq): Promise<Reconciled<T>> {
		return (await this.#step.reconcile?.(this.#keyOf(started))) ?? { kind: "unknown" };
	}

	#append(draft: Draft): Promise<Appended> {
		return this.#whenSpace(() => this.#using.log.append(draft, this.#scope));
	}

	#whenSpace<R>(write: () => R | Promise<R>): Promise<R> {
		const { timers = systemTimers, signal } = this.#using;
		return whenSpace(
			write,
			({ code, message }) => this.#tell({ type: "no_space", code, reason: message }),
			timers,
			signal,
		);
	}

	#tell(event: Untold): void {
		const { lane, kind, name, place } = this.#id;
		this.#using.observe?.({ lane, kind, name, ...(place ? { at: place.at, label: place.label } : {}), ...event });
	}

	#keyOf(started: Seq): string {
		return `${this.#using.logId}:${started}`;
	}
}

interface Try {
	readonly attempt: number;
	/** The first durable start, where there was one. */
	started?: Seq;
	/** What the world said before. */
	readonly before?: Kept;
}

type Untold = StepEvent extends infer Event ? (Event extends unknown ? Omit<Event, keyof Called> : never) : never;

const isDiscarded = (error: unknown): boolean => (error as { code?: unknown } | undefined)?.code === "STEP_DISCARDED";

const numbered = (attempt: number): { attempt?: number } => (attempt > 1 ? { attempt } : {});

function failedBefore({ name, lane }: Identity, reason: Reason): JournalError {
	return new JournalError("STEP_FAILED", `${name} failed before, and is not tried again: ${reason.message}`, {
		lane,
		reason,
	});
}
