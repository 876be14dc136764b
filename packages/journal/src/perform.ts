/** The one place where a side effect happens: recall it, or start durably, call, complete. */
import { type Appender, canonicalJson, type Scope, type Seq } from "@reyn/wal";
import { isRetryable, JournalError, reasonOf } from "./errors.ts";
import { type JournalState, type Recall, recall } from "./journal.ts";
import { fingerprint } from "./key.ts";
import type { Usage } from "./ports.ts";
import { leavesOutcome, type Purity, startsDurably } from "./purity.ts";
import { stepCompleted, stepFailed, stepStarted } from "./records.ts";

/** A call that is made once, whatever happens to the process. */
export interface Step<T> {
	/** What sort of call: `model`, `tool`, `step` … */
	readonly kind: string;
	readonly name: string;
	/** JSON. Two calls with equal kind, name and arguments in one lane are told apart by their order. */
	readonly args: unknown;
	readonly purity: Purity;
	/** Makes the call. The result has to be JSON, and comes back as JSON does. */
	call(context: StepContext): Promise<T>;
	/** The tokens that a result cost, for calls that cost tokens. */
	usage?(result: T): Usage;
	/** Asks the far side what became of an earlier try. Asked before any policy. */
	reconcile?(idempotencyKey: string): Promise<Reconciled<T>>;
	/** What `skip` gives as the result of a step in doubt. */
	readonly empty?: T;
}

export interface StepContext {
	readonly signal: AbortSignal;
	/** Names this step for ever: log id and seq of its first durable start. Absent for what starts nothing. */
	readonly idempotencyKey?: string;
}

export type Reconciled<T> =
	| { readonly kind: "done"; readonly result: T }
	| { readonly kind: "not_done" }
	| { readonly kind: "unknown" };

/** What to do with a step that was started and whose outcome nobody knows. */
export type InDoubtPolicy = "retry" | "skip" | "discard";

/** What steps run on. */
export interface Using {
	readonly log: Appender;
	readonly logId: string;
	/** The journal as it is now. */
	journal(): JournalState;
	whenInDoubt(step: { readonly name: string; readonly lane: string }): InDoubtPolicy;
	readonly signal: AbortSignal;
	/** Told of each step, for meters and notices. */
	observe?(event: StepEvent): void;
}

export type StepEvent =
	/** Recalled: nothing was called, `usage` is saved. */
	| {
			readonly type: "ghost";
			readonly lane: string;
			readonly kind: string;
			readonly name: string;
			readonly usage?: Usage;
	  }
	/** Called: `usage` was paid. */
	| {
			readonly type: "live";
			readonly lane: string;
			readonly kind: string;
			readonly name: string;
			readonly usage?: Usage;
	  }
	| {
			readonly type: "in_doubt";
			readonly lane: string;
			readonly name: string;
			readonly decision: InDoubtPolicy | "reconciled";
	  }
	/** The world has moved since, but effects rest on what it said then. */
	| { readonly type: "world_kept"; readonly lane: string; readonly name: string };

/**
 * A line of steps in the order of their calls, under a structural path such as `plan/p12/s1`. A new lane of the same
 * path replays the recorded calls in the same order.
 */
export class Lane {
	readonly path: string;
	readonly #scope: Scope;
	readonly #using: Using;
	readonly #calls = new Map<string, number>();

	constructor(path: string, scope: Scope, using: Using) {
		this.path = path;
		this.#scope = scope;
		this.#using = using;
	}

	get signal(): AbortSignal {
		return this.#using.signal;
	}

	/**
	 * Runs a step, unless the log already knows how it ended.
	 *
	 * @throws JournalError `STEP_FAILED` (it failed for good before), `STEP_DISCARDED` (in doubt, and the policy says
	 * so), a WalError `WAL_NOT_JSON`; and what the call itself throws
	 */
	async perform<T>(step: Step<T>): Promise<T> {
		const fp = fingerprint(step.kind, step.name, step.args);
		const occ = this.#calls.get(fp) ?? 0;
		this.#calls.set(fp, occ + 1);
		const { kind, name, purity } = step;
		return performStep(step, { lane: this.path, fp, occ, kind, name, purity }, this.#scope, this.#using);
	}
}

interface Identity {
	readonly lane: string;
	readonly fp: string;
	readonly occ: number;
	readonly kind: string;
	readonly name: string;
	readonly purity: Purity;
}

async function performStep<T>(step: Step<T>, id: Identity, scope: Scope, using: Using): Promise<T> {
	using.signal.throwIfAborted();
	const known = recall(using.journal(), id);
	switch (known.kind) {
		case "ghost":
			using.observe?.({
				type: "ghost",
				lane: id.lane,
				kind: id.kind,
				name: id.name,
				...(known.usage ? { usage: known.usage } : {}),
			});
			return known.result as T;
		case "failed":
			throw new JournalError(
				"STEP_FAILED",
				`${id.name} failed before, and is not tried again: ${known.reason.message}`,
				{ lane: id.lane, reason: known.reason },
			);
		case "in_doubt":
			return settle(step, id, known.started, scope, using);
		case "world":
			if (known.settled) {
				using.observe?.({ type: "world_kept", lane: id.lane, name: id.name });
				return known.result as T;
			}
			return call(step, id, undefined, scope, using, known);
		case "fresh": {
			const opened = startsDurably(id.purity) ? using.log.append(stepStarted(id), scope) : undefined;
			// Durable before the effect: if this cannot be kept, the call is never made.
			await opened?.durable;
			// A repeated try keeps the key of the first: that is how the far side knows it.
			return call(step, id, known.started ?? opened?.seq, scope, using);
		}
	}
}

/** The far side is asked first; policy decides only what stays unknown. */
async function settle<T>(step: Step<T>, id: Identity, started: Seq, scope: Scope, using: Using): Promise<T> {
	const told = (decision: InDoubtPolicy | "reconciled"): void =>
		using.observe?.({ type: "in_doubt", lane: id.lane, name: id.name, decision });
	const found = (await step.reconcile?.(idempotencyKey(using, started))) ?? { kind: "unknown" };
	if (found.kind === "done") {
		told("reconciled");
		return complete(step, id, started, found.result, scope, using);
	}
	const decision = found.kind === "not_done" ? "retry" : using.whenInDoubt({ name: id.name, lane: id.lane });
	told(decision);
	switch (decision) {
		case "retry":
			return call(step, id, started, scope, using);
		case "skip":
			return complete(step, id, started, step.empty as T, scope, using);
		case "discard":
			throw new JournalError(
				"STEP_DISCARDED",
				`${id.name} was started before the process ended, and nobody knows whether it happened; the policy is to stop here`,
				{ lane: id.lane, started },
			);
	}
}

async function call<T>(
	step: Step<T>,
	id: Identity,
	started: Seq | undefined,
	scope: Scope,
	using: Using,
	before?: Recall & { kind: "world" },
): Promise<T> {
	const key = started === undefined ? {} : { idempotencyKey: idempotencyKey(using, started) };
	let result: T;
	try {
		// A call that ends although it was cancelled has an outcome: it is kept, or a paid answer would be paid again.
		result = await step.call({ signal: using.signal, ...key });
	} catch (error) {
		// A cancelled call has no outcome: an effect stays in doubt, anything else is simply called again.
		if (startsDurably(id.purity) && !using.signal.aborted) {
			using.log.append(
				stepFailed({
					...id,
					...(started === undefined ? {} : { started }),
					retryable: isRetryable(error),
					reason: reasonOf(error),
				}),
				scope,
			);
		}
		throw error;
	}
	const usage = step.usage?.(result);
	using.observe?.({ type: "live", lane: id.lane, kind: id.kind, name: id.name, ...(usage ? { usage } : {}) });
	// A world that says the same again needs no second record of it.
	if (before && canonicalJson(before.result ?? null) === canonicalJson(result ?? null)) return result;
	return complete(step, id, started, result, scope, using);
}

function complete<T>(step: Step<T>, id: Identity, started: Seq | undefined, result: T, scope: Scope, using: Using): T {
	if (!leavesOutcome(id.purity)) return result;
	const usage = step.usage?.(result);
	const done = stepCompleted({
		...id,
		...(started === undefined ? {} : { started }),
		result,
		...(usage ? { usage } : {}),
	});
	const { record } = using.log.append(done, scope);
	// What the first run goes on with is what every replay will see.
	return (record.data as { result?: unknown }).result as T;
}

const idempotencyKey = ({ logId }: Using, started: Seq): string => `${logId}:${started}`;
