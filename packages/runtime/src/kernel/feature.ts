/** The interface between the kernel and a feature, in both directions. No feature knows another. */
import type { GatedCall, Model, ModelPolicy, Tool, Using, Verdict } from "@reyn/journal";
import type { AnyProjection, View } from "@reyn/snapshot";
import type { Coverage, Moved, Timeline, UndoRules } from "@reyn/timetravel";
import type { AnyRecordKind, BlobStore, Clock, Draft, Ids, Scope, Seq, Timers, Wal, WalRecord } from "@reyn/wal";
import type { Audited } from "./audit.ts";
import type { DiskSpace } from "./disk-space.ts";
import type { ModelCost } from "./meter.ts";
import type { TellContext, Told } from "./pump.ts";
import type { AnyService, Served, Service } from "./services.ts";
import type { Session } from "./session.ts";
import type { Sessions } from "./sessions.ts";
import type { BlobArea, Store } from "./store.ts";
import type { Work } from "./work.ts";

/**
 * The part of a session that a kind of record belongs to, which decides what a rewind by mode takes back: what was said, or what was
 * done. `outside`: facts about the world, which no rewind takes back and `gc` keeps. Their kinds are named `fact_…`, so that they
 * are recognised even without their feature.
 */
export type Facet = "conversation" | "code" | "outside";

/** A kind of work: declarations, which are checked before the log is opened, and one function to start it. */
export interface Feature<Host extends FeatureHost = FeatureHost> {
	/** Names, kinds, projections and services are unique among features. */
	readonly name: string;
	/** Its kinds of record, by facet. The form makes sure that no kind is left without one. */
	readonly records?: Readonly<Partial<Record<Facet, readonly AnyRecordKind[]>>>;
	/** Kinds whose records outlive `gc`: few and small. */
	readonly keeps?: readonly AnyRecordKind[];
	readonly projections?: readonly AnyProjection[];
	/** Kinds that begin something, or set it going again: a new one makes a preview stale. */
	readonly begins?: readonly AnyRecordKind[];
	/** Rules for its records that a person's `undo` takes back, or after which nothing can be redone. */
	readonly undo?: UndoRules;
	/** Its blobs beside the log; `gc` removes those that nothing refers to. */
	readonly blobs?: readonly BlobArea[];
	/** Services that it needs: a feature before it in the list has to provide them. */
	readonly needs?: readonly AnyService[];
	readonly provides?: readonly AnyService[];
	/** All work in the state of a session, oldest first, finished work included. */
	pieces?(view: View): readonly Piece[];
	/**
	 * Decides what becomes of a piece that a rewind has moved; undefined: it stays as it is.
	 *
	 * @param before the piece in the state before the rewind, if it ran there, or if the move takes back that a person had paused it
	 * @param along what the rewind has said besides
	 */
	settle?(now: Piece, before: Piece | undefined, along?: Moved["along"]): Settled | undefined;
	/**
	 * The records that end a piece in flight, where a person ends all work at once; undefined: it stays as it is. What it has running below
	 * its lane `<kind>/<id>` ends behind the first of them.
	 */
	end?(piece: Piece, reason: string): readonly Draft[] | undefined;
	/**
	 * The events of a durable record. They may depend only on the record and on what `context` looks up, so that every reader of the log
	 * gets the same. It is called for every record, those of other features included.
	 */
	tell?(record: WalRecord, context: TellContext): readonly Told[] | Promise<readonly Told[]>;
	/**
	 * The line of a record in the audit trail; undefined: it is none of its own, or not worth one. Only the record may count. Texts of
	 * people and models do not belong there.
	 */
	audit?(record: WalRecord): Audited | undefined;
	/** Called once, in the order of the list, also for a reader. It must not write or run anything. */
	start(kernel: Kernel): Host;
}

/** A piece of work in one state of a session: a turn, a plan, a run, a message that waits to be shown. */
export interface Piece {
	readonly kind: string;
	/** Unique among the pieces of its kind. */
	readonly id: string;
	/** The work to run when the piece goes on. */
	readonly work: Work;
	/**
	 * `running` goes on by itself at the next start. So does `ending`: it is given up, and its notice is still to be delivered. `paused`
	 * and `waiting` go on when a person says so, or answers.
	 */
	readonly status: "running" | "ending" | "paused" | "waiting" | "over";
	/** A title for people. */
	readonly title: string;
	/** Who waits for what it brings, by a name of theirs: its texts carry it. Absent: nobody has said so. */
	readonly chain?: string | undefined;
	/** The seq at which it was last set going: texts after it are of this run. */
	readonly since: Seq;
	/** For `paused`: a person has done it. Absent: it came about by itself, as at a limit or by a rewind. */
	readonly pausedBy?: "person" | undefined;
	/** For `ending`: the notice that is still to be delivered, and the seq of the record that ended the piece. */
	readonly unsaid?: { readonly seq: Seq; readonly text: string };
	/** The model calls and tokens that would be paid for again if the piece were lost. */
	readonly spent?: { readonly calls: number; readonly tokens: number };
}

/**
 * What becomes of a piece after a move. A piece that is `running` is set going again, if it ran in this process or `resume` was called.
 * The draft is the record that makes a piece paused or over.
 */
export interface Settled {
	readonly becomes: "running" | "waiting" | "over";
	readonly draft?: Draft;
}

/** The running side of a feature. */
export interface FeatureHost {
	readonly services?: readonly Served[];
	/** Sets a `running` or `ending` piece going from wherever it stands. If it is under way, nothing happens. Never throws. */
	goOn?(session: Session, piece: Piece): void;
	/**
	 * Ends the work that it has running as children of calls in this lane and below, since what is around them has ended. It appends the
	 * records of that before it returns.
	 */
	endBelow?(session: Session, lane: string, reason: string): void;
	/** What the model calls of such work cost so far, what is over included. @param before of that alone that was begun before this seq */
	costBelow?(session: Session, lane: string, before?: Seq): ModelCost;
	/** Tools that the feature offers to a model; made for each frame, so that they may close over it. */
	tools?(frame: Frame): readonly Tool[];
	/** Called before a move is written, which waits for it. If it throws, nothing is written, and nothing moves. */
	quiet?(coverage: Coverage): Promise<void>;
	/**
	 * Brings what it keeps outside of the log in line with a move, whose reset is durable. Called again after a crash, and has to give
	 * the same then. If it throws, the move is unfinished, and the next start goes on with it.
	 */
	moved?(move: Moved): Promise<void>;
	/** Called once by the process that writes, when the moves that a crash cut are finished. */
	opened?(): Promise<void>;
	/** Called when unfinished work is to go on, after its pieces were set going; perhaps again. */
	resumed?(): void;
	/** Called once all is quiet, before the log is closed: ends what it has open besides. */
	close?(): Promise<void>;
	/**
	 * Decides on each call of a model or a tool before it is made; recalled calls are not asked about. Every feature has to let it pass,
	 * in the order of the list. A call that waits stops its work, which asks again after `kernel.goOn` of its piece, or at the next start.
	 */
	readonly gate?: ((session: Session, call: GatedCall) => Promise<Verdict>) | undefined;
}

/** The place from which a model is asked: a turn, a step of a plan, or a phase of a skill. Tools that start work are for turns only. */
export interface Frame {
	readonly session: Session;
	readonly piece: Piece;
	readonly for: "turn" | "step" | "phase";
	/** The id of the model that is asked, where the work that it begins is to go on with that one. */
	readonly model?: string;
}

/** An agent: its model, its instructions, and its tools. */
export interface Agent {
	readonly model: Model;
	readonly tools: readonly Tool[];
	/** The instructions that the model gets before each conversation, as they are now. */
	instructions(): Promise<string>;
}

/** The kernel, as a feature sees it. */
export interface Kernel {
	readonly isReadOnly: boolean;
	/** The log, to read and follow. Append through a session instead. */
	readonly wal: Wal;
	readonly timeline: Timeline;
	readonly sessions: Sessions;
	readonly space: DiskSpace;
	readonly ids: Ids;
	readonly clock: Clock;
	readonly timers: Timers;
	readonly modelPolicy: ModelPolicy | undefined;
	/** The store of results that are too large for a record. */
	readonly results: BlobStore;
	readonly store: Pick<Store, "local" | "config">;
	/** The blobs of an area beside the log. A blob that is put there is safe from `gc` as long as this kernel is open. */
	blobs(area: string): BlobStore;
	/** @param begunWith the id of the model that a work was begun with: it goes on with that one, where it is to be had */
	agent(scope: Scope, begunWith?: string): Agent;
	/** The agent that a piece begins or goes on with. Where its model is another than the recorded one, an event says so. */
	agentFor(scope: Scope, piece: Pick<Piece, "kind" | "id">, begunWith: string | undefined): Agent;
	/** The agent's own tools, and what features offer to this frame. */
	tools(frame: Frame): readonly Tool[];
	/** The ports that steps run on: the current log, recall, results, the meter. Steps stop with the signal. */
	using(session: Session, signal: AbortSignal): Using;
	/** Takes secrets out of a text; absent: nothing is taken out. */
	readonly redact: ((text: string) => string) | undefined;
	/** Tells an event that no record has, such as a piece of text; it comes after the events of all records so far. See `tell` for others. */
	emit<Event extends { readonly type: string }>(event: Event): void;
	/** Sets a `running` piece of any feature going, unless it is under way: for a piece that a gate has held. */
	goOn(piece: Pick<Piece, "kind" | "id">): void;
	/** Ends what features have running below a lane whose end was just recorded, in the same turn of the event loop. */
	endBelow(session: Session, lane: string, reason: string): void;
	/** What model calls of such work cost, of all features. @param before of that alone that was begun before this seq */
	costBelow(session: Session, lane: string, before?: Seq): ModelCost;
	/** A piece of any feature as it is now. */
	find(which: Pick<Piece, "kind" | "id">): Piece | undefined;
	/** Resolves when `onEvent` has got the events of all records that are durable now. */
	told(): Promise<void>;
	/** Counts finished work that is not asked for again as saved, in the meter. */
	saved(calls: number, tokens: number): void;
	/** @throws RuntimeError `RUNTIME_CLOSED` once the runtime has been told to close */
	assertOpen(): void;
	/** Waits for a condition before something begins. @throws RuntimeError `RUNTIME_CLOSED` if the runtime was closed meanwhile */
	beforeClose<T>(ready: Promise<T>): Promise<T>;
	/** Runs an action that a close has to wait for, since its caller has to learn how it ended. */
	toItsEnd<T>(act: () => Promise<T>): Promise<T>;
	/**
	 * The service of a key, from a feature earlier in the list. Keys in `needs` are checked before anything is opened.
	 *
	 * @throws RuntimeError `RUNTIME_NO_SERVICE` if no feature provides it
	 */
	get<T>(key: Service<T>): T;
}
