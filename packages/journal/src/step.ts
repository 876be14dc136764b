/** The types of a step: the call itself, the ports that it runs on, and the events that it gives. */
import type { Appender, BlobStore, Clock, Seq, Timers } from "@reyn/wal";
import type { AttachedFile } from "./attached-file.ts";
import type { Identity, Recall, RecordedStep } from "./entry.ts";
import type { Lane } from "./lane.ts";
import type { Order } from "./order.ts";
import type { GatedCall, Verdict } from "./permit.ts";
import type { Keeping, Usage, Want } from "./ports.ts";
import type { Purity } from "./purity.ts";
import type { ModelPolicy, RetryPolicy } from "./retry.ts";

/** A durable call: its outcome is recorded, so that a replay recalls it instead of making it again. */
export interface Step<T> {
	/** The kind of call: `model`, `tool`, `step` … */
	readonly kind: string;
	readonly name: string;
	/** A text for people, where the name says little. It does not identify the call. */
	readonly label?: string | (() => string);
	/** JSON. Two calls with equal kind, name and arguments in one lane are told apart by their order. */
	readonly args: unknown;
	readonly purity: Purity;
	/** Makes the call. The result has to be JSON, or hold bytes as `Uint8Array`, and comes back as such. */
	call(context: StepContext): Promise<T>;
	/** The tokens that a result cost, for calls that cost tokens. If it gives no counts, the call fails with `STEP_USAGE`. */
	usage?(result: T): Usage;
	/** Says what the call would touch, for the gate; see `Tool.wants`. */
	wants?(context: Pick<StepContext, "signal">): Promise<readonly Want[]>;
	/**
	 * Finds out what has to be known before an effect is made: a hash of what it replaces, the id of a request. The result is JSON, and
	 * durable with the start of the try. A try that follows one in doubt gets the result of that one.
	 */
	prepare?(context: Pick<StepContext, "signal" | "attempt"> & Keeping): Promise<unknown>;
	/**
	 * Asks the far side what became of an earlier try. It is asked before any policy, and after a timeout. When it rejects, it is tried
	 * again as `retry` says; after that the call stays in doubt and is not made: `CALL_IN_DOUBT`.
	 */
	reconcile?(idempotencyKey: string, prepared: unknown, context: Pick<StepContext, "signal">): Promise<Reconciled<T>>;
	/** What to do with the step in doubt, when the far side does not know. Default: what `whenInDoubt` says. */
	readonly inDoubt?: InDoubt | undefined;
	/** The result of a step in doubt that is skipped. */
	readonly empty?: T;
	/**
	 * For a call in an agent loop: its name by {@link Lane.rounds}. A recorded step of that name is this step; for a model even if tools,
	 * instructions or the model have changed since. Absent: the arguments alone identify the step.
	 */
	readonly round?: string | undefined;
	/** How often a failing call is tried, and with what pauses. Default: once. */
	readonly retry?: RetryPolicy | undefined;
	/** Makes the error that the caller is told, from the error of the last try. */
	endedBy?(error: unknown, attempt: number): unknown;
	/**
	 * How long one try, and one answer of `wants`, `prepare` and `reconcile`, may take, in milliseconds. A late try has failed, and its signal aborts.
	 * Default: no limit.
	 */
	readonly timeoutMs?: number | undefined;
}

export interface StepContext {
	readonly signal: AbortSignal;
	/** Identifies the step for ever: the log's id and the seq of the first durable start. Absent for steps without effects. */
	readonly idempotencyKey?: string;
	/** 1 for the first try. */
	readonly attempt: number;
	/** The recorded result of `prepare`. */
	readonly prepared?: unknown;
	/** See {@link ToolContext}. */
	readonly attach?: (name: string, bytes: Uint8Array) => Promise<AttachedFile>;
	/** The lane for inner steps. They are recorded one by one, so they are not paid for again when this call is made again. */
	readonly lane: Lane;
}

export type Reconciled<T> =
	| { readonly kind: "done"; readonly result: T }
	/** The call was made, and failed with this error. */
	| { readonly kind: "failed"; readonly error: Error }
	| { readonly kind: "not_done" }
	| { readonly kind: "unknown" };

/** What else a far side gives, without types say, is no answer. */
export const isReconciled = (given: unknown): given is Reconciled<never> =>
	(["done", "failed", "not_done", "unknown"] as readonly unknown[]).includes(
		(given as { readonly kind?: unknown } | null | undefined)?.kind,
	);

/** What to do with a step in doubt: call it again, take `empty` for its result, or stop the work with `STEP_DISCARDED`. */
export type InDoubtPolicy = "retry" | "skip" | "discard";

/** Is this an {@link InDoubtPolicy} or an {@link InDoubt}? Code without type checks may give anything. */
export const isInDoubtPolicy = (given: unknown): given is InDoubtPolicy | InDoubt =>
	(["retry", "skip", "discard", "ask"] as readonly unknown[]).includes(given);

/** What a step says itself for that case. `ask`: the gate decides whether it is called again; without a gate the step waits. */
export type InDoubt = "retry" | "skip" | "ask";

/** The ports that steps run on. */
export interface Using {
	/** Has to fold each record into the state that `recall` reads before `append` returns; a bare log is refused: `LOG_NOT_FOLDED`. */
	readonly log: Appender;
	readonly logId: string;
	/**
	 * What the log knows of a step, from all records appended so far.
	 *
	 * @param program the root lane of the step's program; "" is the whole journal
	 */
	recall(step: Identity, program: string): Recall;
	/** The recorded steps of a lane, for the order of a replay. Absent: the order does not wait for steps that are not asked for. */
	readonly recordedIn?: ((lane: string) => Iterable<RecordedStep>) | undefined;
	/** The recorded steps of a lane, to find a step under other arguments: a round of a loop, a call of a removed tool. Absent: none. */
	readonly stepsIn?: ((lane: string) => Iterable<RecordedStep>) | undefined;
	/**
	 * The largest place that had been told when the first recorded step in a lane or below was asked for. Absent: inner steps may be
	 * told later than in the run before.
	 */
	readonly firstBelow?: ((lane: string) => Seq | undefined) | undefined;
	/**
	 * Adopts what other lines of history know of a start: called before a step that has failed, or is in doubt, is made again. Absent:
	 * there are no other lines.
	 */
	readonly adopt?: ((start: Seq) => Promise<void>) | undefined;
	/** The order of the program, for lanes that share state. Absent: each lane is a program of its own. */
	readonly order?: Order | undefined;
	/** For inner steps with an order of their own: the largest place that had been told when their outer call was asked for. */
	readonly within?: Seq | undefined;
	/** For inner steps with an order of their own: the order of the outer call. */
	readonly around?: Order | undefined;
	/** Was the lane of the program closed while steps that nobody awaits are under way? Absent: it is not. */
	isClosed?(): boolean;
	/** Called when a step must not be made now: the program or the call stops with the error, even if it catches it. Absent: it may go on. */
	stopped?(error: Error): void;
	/**
	 * Told when a program ends and leaves calls under way, that nobody awaits; `over` resolves when they are. Whoever runs the program
	 * again has to wait for that. Absent: nobody does.
	 */
	left?(over: Promise<void>): void;
	/** What to do with a step in doubt that says nothing itself. */
	whenInDoubt(step: { readonly name: string; readonly lane: string }): InDoubtPolicy | InDoubt;
	/** The same for the calls of a tool, by its name; it comes before what the tool says. Undefined, or absent: nothing is said. */
	readonly toolInDoubt?: ((name: string) => InDoubt | undefined) | undefined;
	/** Decides on each call of a tool or a model before it is made, once for all its tries; recalled calls are not asked about. Absent: all pass. */
	readonly gate?: ((call: GatedCall) => Promise<Verdict>) | undefined;
	readonly signal: AbortSignal;
	/** Gets an event for each step, for meters and notices. */
	observe?(event: StepEvent): void;
	/** Where results above 32 KiB go. Absent: into their records, which hold up to 8 MiB. */
	readonly results?: BlobStore | undefined;
	/** Where before-images go: what effects replace. Absent: nothing is kept. */
	readonly images?: BlobStore | undefined;
	/** Where the files are that messages and results name. Absent: nowhere, and none is attached. */
	readonly files?: BlobStore | undefined;
	/** Takes secrets out of a text before it is recorded. The run goes on with the redacted text, as every replay will. */
	redact?(text: string): string;
	readonly clock?: Clock | undefined;
	readonly timers?: Timers | undefined;
	/** Draws from 0 to below 1, for pauses. Default: `Math.random`. */
	random?(): number;
	/** Where asking a model differs from the default policy. */
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
		/** The result was recalled: nothing was called, and `usage` was saved. */
		| { readonly type: "ghost"; readonly usage?: Usage }
		/** The call was made: `usage` was paid. `inner`: it made inner steps, which report their usage themselves. */
		| { readonly type: "live"; readonly usage?: Usage; readonly inner: boolean }
		/** Try `attempt` of `limit` has failed, and another follows after a pause. */
		| {
				readonly type: "retrying";
				readonly attempt: number;
				readonly limit: number;
				readonly reason: string;
				readonly pauseMs: number;
		  }
		| { readonly type: "failed"; readonly reason: string }
		/** A model has counted fewer tokens (`read`) than its request has at `least`: it may have answered to a part of it. */
		| { readonly type: "unread"; readonly read: number; readonly least: number }
		/** A step in doubt was decided. `waits`: the far side could not be asked (`reason`); the step stays in doubt. */
		| {
				readonly type: "in_doubt";
				readonly decision: InDoubtPolicy | "reconciled" | "waits";
				readonly reason?: string;
		  }
		/** The world was asked again, which comes behind `live`. `moved`: it says something else than is recorded. */
		| { readonly type: "world_asked"; readonly moved: boolean }
		/** The recorded world answer stands: effects may rest on it, or asking again has failed (`reason`). */
		| { readonly type: "world_kept"; readonly reason?: string }
		/** An effect begins although `unasked` recorded steps were not asked for: it may be one of them in another order. */
		| { readonly type: "changed"; readonly unasked: number }
		/** The recorded result cannot be read, so the call is made again. */
		| { readonly type: "lost"; readonly reason: string }
		/** The disk is full: a record of the step waits for space. `code`: `WAL_FULL` of the log, else the system's. */
		| { readonly type: "no_space"; readonly code: string; readonly reason: string }
	);
