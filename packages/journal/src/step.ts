/** What a step is: the call, what it runs on, and what it tells. */
import type { Appender, BlobStore, Clock, Seq, Timers } from "@reyn/wal";
import type { Identity, Recall, RecordedStep } from "./entry.ts";
import type { Lane } from "./lane.ts";
import type { Order } from "./order.ts";
import type { GatedCall, Verdict } from "./permit.ts";
import type { Usage } from "./ports.ts";
import type { Purity } from "./purity.ts";
import type { ModelPolicy, RetryPolicy } from "./retry.ts";

/** A call that is made once, whatever happens to the process. */
export interface Step<T> {
	/** What sort of call: `model`, `tool`, `step` … */
	readonly kind: string;
	readonly name: string;
	/** For people, where the name says little. No part of what a call is known by. */
	readonly label?: string | (() => string);
	/** JSON. Two calls with equal kind, name and arguments in one lane are told apart by their order. */
	readonly args: unknown;
	readonly purity: Purity;
	/** Makes the call. The result has to be JSON, or hold bytes as `Uint8Array`, and comes back as such. */
	call(context: StepContext): Promise<T>;
	/** The tokens that a result cost, for calls that cost tokens. Where it gives no counts, the call has failed: `STEP_USAGE`. */
	usage?(result: T): Usage;
	/**
	 * What has to be known before an effect is made: a hash of what it replaces, the id of a request. JSON, durable with the start of
	 * the try; a try after one of which nobody knows whether it happened is given what that one had.
	 */
	prepare?(context: Pick<StepContext, "signal" | "attempt">): Promise<unknown>;
	/**
	 * Asks the far side what became of an earlier try. Asked before any policy, and after a timeout. Where it rejects it is tried again
	 * as `retry` says; after that the call stays in doubt, and is not made: `CALL_IN_DOUBT`.
	 */
	reconcile?(idempotencyKey: string, prepared?: unknown): Promise<Reconciled<T>>;
	/** What becomes of it in doubt, as {@link InDoubt} has it. Default: as `whenInDoubt` says. */
	readonly inDoubt?: InDoubt | undefined;
	/** What `skip` gives as the result of a step in doubt. */
	readonly empty?: T;
	/**
	 * Of a call in a loop: which one it is, by {@link Lane.rounds}. Where that is recorded it is this step, of a model also if tools,
	 * instructions or the model have changed since. Absent: the arguments alone say which step it is.
	 */
	readonly round?: string | undefined;
	/** How often a failing call is tried, and with what pauses. Default: once. */
	readonly retry?: RetryPolicy | undefined;
	/** What its caller is told in place of how the last try failed. */
	endedBy?(error: unknown, attempt: number): unknown;
	/**
	 * How long one try may take, in milliseconds, and one answer of `reconcile`. The signal of the try aborts then, and it has
	 * failed. Default: no limit.
	 */
	readonly timeoutMs?: number | undefined;
}

export interface StepContext {
	readonly signal: AbortSignal;
	/** Names this step for ever: log id and seq of its first durable start. Absent for what starts nothing. */
	readonly idempotencyKey?: string;
	/** 1 for the first try. */
	readonly attempt: number;
	/** What `prepare` gave, as it is recorded. */
	readonly prepared?: unknown;
	/** For steps inside this one: they are recorded one by one, so what they cost is not paid again when this call is. */
	readonly lane: Lane;
}

export type Reconciled<T> =
	| { readonly kind: "done"; readonly result: T }
	/** It came to an end, and that is how it failed. */
	| { readonly kind: "failed"; readonly error: Error }
	| { readonly kind: "not_done" }
	| { readonly kind: "unknown" };

/** What else a far side gives, without types say, is no answer. */
export const isReconciled = (given: unknown): given is Reconciled<never> =>
	(["done", "failed", "not_done", "unknown"] as readonly unknown[]).includes(
		(given as { readonly kind?: unknown } | null | undefined)?.kind,
	);

/** What to do with a step that was started and whose outcome nobody knows. */
export type InDoubtPolicy = "retry" | "skip" | "discard";

/** Is it one of those, or the one more that a call may say of itself? */
export const isInDoubtPolicy = (given: unknown): given is InDoubtPolicy | InDoubt =>
	(["retry", "skip", "discard", "ask"] as readonly unknown[]).includes(given);

/** What a call says of itself for that case. `ask`: the gate decides whether it is called again; where there is none, it waits. */
export type InDoubt = "retry" | "skip" | "ask";

/** What steps run on. */
export interface Using {
	/** Folds each record into what `recall` reads before it returns: a bare log does not, and is refused with `LOG_NOT_FOLDED`. */
	readonly log: Appender;
	readonly logId: string;
	/**
	 * What the log says of a step, with all that was appended before.
	 *
	 * @param program the lane that all lanes of the step's program are below; "" is all of them
	 */
	recall(step: Identity, program: string): Recall;
	/** The steps that the log has in a lane. Absent: nobody waits for what is not asked for. */
	readonly recordedIn?: ((lane: string) => Iterable<RecordedStep>) | undefined;
	/** The same, to find what is recorded under other arguments: a round of a loop, a call whose tool is not there. Absent: none is found. */
	readonly stepsIn?: ((lane: string) => Iterable<RecordedStep>) | undefined;
	/** What had been told when the first step that the log has in a lane or below it was asked for. Absent: steps inside steps may be told later. */
	readonly firstBelow?: ((lane: string) => Seq | undefined) | undefined;
	/** Of lanes that share state: in which order their program is told how their steps ended. Absent: a lane is a program of its own. */
	readonly order?: Order | undefined;
	/** Of steps inside a call that have an order of their own: what had been told when that call was asked for. */
	readonly within?: Seq | undefined;
	/** Of the same steps: the order of that call. */
	readonly around?: Order | undefined;
	/** Of steps in a call or a program: one of them must not be made now. It stops with that, whatever it makes of it. Absent: it may go on. */
	stopped?(error: Error): void;
	whenInDoubt(step: { readonly name: string; readonly lane: string }): InDoubtPolicy;
	/** Asked before each call of a tool or a model that is made, and not recalled: once, however often it is tried. Absent: all pass. */
	readonly gate?: ((call: GatedCall) => Promise<Verdict>) | undefined;
	readonly signal: AbortSignal;
	/** Told of each step, for meters and notices. */
	observe?(event: StepEvent): void;
	/** Where results above 32 KiB go. Absent: into their records, which hold 8 MiB. */
	readonly results?: BlobStore | undefined;
	/** Takes out of a text what must not be written, a key say. The run goes on with what it leaves, as every replay will. */
	redact?(text: string): string;
	readonly clock?: Clock | undefined;
	readonly timers?: Timers | undefined;
	/** Draws from 0 to below 1, for pauses. Default: `Math.random`. */
	random?(): number;
	/** What is other than by default where a model is asked. */
	readonly modelPolicy?: ModelPolicy | undefined;
}

/** Which call an event is about. In a script `at` counts the calls of its lane, and `label` is for people. */
export interface Called {
	readonly lane: string;
	readonly kind: string;
	readonly name: string;
	readonly at?: number;
	readonly label?: string;
}

export type StepEvent = Called &
	(
		| { readonly type: "calling"; readonly attempt: number }
		/** Recalled: nothing was called, `usage` is saved. */
		| { readonly type: "ghost"; readonly usage?: Usage }
		/** Called: `usage` was paid, by this call itself or by the steps inside it, which say so too (`inner`). */
		| { readonly type: "live"; readonly usage?: Usage; readonly inner: boolean }
		/** A try of so many (`limit`) has failed, and another follows after a pause. */
		| {
				readonly type: "retrying";
				readonly attempt: number;
				readonly limit: number;
				readonly reason: string;
				readonly pauseMs: number;
		  }
		| { readonly type: "failed"; readonly reason: string }
		/** `waits`: the far side cannot be asked, and why; it stays in doubt, and is asked about when the work goes on. */
		| {
				readonly type: "in_doubt";
				readonly decision: InDoubtPolicy | "reconciled" | "waits";
				readonly reason?: string;
		  }
		/** The world is not asked again, since effects rest on what it said then; or it was, and failed (`reason`). */
		| { readonly type: "world_kept"; readonly reason?: string }
		/** An effect begins although so many recorded steps were not asked for: it may be one of them in another order. */
		| { readonly type: "changed"; readonly unasked: number }
		/** The recorded result cannot be read, so the call is made again. */
		| { readonly type: "lost"; readonly reason: string }
		/** The disk is full: what is to be recorded of it waits for space. `code`: `WAL_FULL` of the log, else the system's. */
		| { readonly type: "no_space"; readonly code: string; readonly reason: string }
	);
