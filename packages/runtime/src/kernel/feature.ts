/** What the kernel knows of a feature, and what a feature gets of the kernel. No feature knows another. */
import type { GatedCall, Model, ModelPolicy, Tool, Using, Verdict } from "@reyn/journal";
import type { AnyProjection, View } from "@reyn/snapshot";
import type { Timeline, UndoRules } from "@reyn/timetravel";
import type { AnyRecordKind, BlobStore, Clock, Draft, Ids, Scope, Seq, Timers, Wal, WalRecord } from "@reyn/wal";
import type { DiskSpace } from "./disk-space.ts";
import type { TellContext, Told } from "./pump.ts";
import type { AnyService, Served, Service } from "./services.ts";
import type { Session } from "./session.ts";
import type { Sessions } from "./sessions.ts";
import type { BlobArea, Store } from "./store.ts";
import type { Work } from "./work.ts";

/**
 * What a rewind by mode takes along: what was said, or what was done. `outside`: facts about the world, which no rewind takes back and
 * `gc` keeps; their kinds are named `fact_…`, so that they are known as such whether their feature is here or not.
 */
export type Facet = "conversation" | "code" | "outside";

/** A kind of work: pure facts, checked before the log is opened, and one way to begin. */
export interface Feature<Host extends FeatureHost = FeatureHost> {
	/** Names, kinds, projections and services are unique among features. */
	readonly name: string;
	/** Its kinds of record in the list that says what each is: none can be left unclassified. */
	readonly records?: Readonly<Partial<Record<Facet, readonly AnyRecordKind[]>>>;
	/** Kinds whose records outlive `gc`: few and small. */
	readonly keeps?: readonly AnyRecordKind[];
	readonly projections?: readonly AnyProjection[];
	/** Kinds that begin something, or set it going again: one that comes makes a preview stale. */
	readonly begins?: readonly AnyRecordKind[];
	/** Its records that a person's `undo` takes back, or after which nothing can be redone. */
	readonly undo?: UndoRules;
	/** What it keeps beside the log: what nobody refers to goes with `gc`. */
	readonly blobs?: readonly BlobArea[];
	/** Services without which it cannot be: a feature before it in the list provides them. */
	readonly needs?: readonly AnyService[];
	readonly provides?: readonly AnyService[];
	/** All work that the state of a session knows, oldest first, finished work too. */
	pieces?(view: View): readonly Piece[];
	/**
	 * What a rewind that has moved a running piece makes of it; nothing: it stays as it is.
	 *
	 * @param before as it ran before the rewind, where it did
	 */
	settle?(now: Piece, before: Piece | undefined): Settled | undefined;
	/**
	 * What a durable record tells who listens: of the record and what is looked up alone, so that all who read the log are told the
	 * same. It is asked of every record, also of other features.
	 */
	tell?(record: WalRecord, context: TellContext): readonly Told[] | Promise<readonly Told[]>;
	/** Called once, in the order of the list, also where one only reads. Writes nothing, runs nothing. */
	start(kernel: Kernel): Host;
}

/** A piece of work as it is in one state: a turn, a plan, a run, a message that waits to be shown. */
export interface Piece {
	readonly kind: string;
	/** Unique among the pieces of its kind. */
	readonly id: string;
	/** What runs where it goes on. */
	readonly work: Work;
	/**
	 * `running` goes on by itself at the next start, and so does `ending`, which is given up and has that still to say; `paused` and
	 * `waiting` go on when somebody says so, or answers.
	 */
	readonly status: "running" | "ending" | "paused" | "waiting" | "over";
	/** For people. */
	readonly title: string;
	/** When it was last set going: what it says counts from there. */
	readonly since: Seq;
	/** Of one that is `ending`: what it has still to say, and the record that ended it. */
	readonly unsaid?: { readonly seq: Seq; readonly text: string };
	/** What would be paid again if it were lost. */
	readonly spent?: { readonly calls: number; readonly tokens: number };
}

/**
 * What is `running` again is set going after the move, if it ran in this process, or this has been told to `resume`. The draft makes it
 * paused or over.
 */
export interface Settled {
	readonly becomes: "running" | "waiting" | "over";
	readonly draft?: Draft;
}

/** What a feature does once the kernel is there. */
export interface FeatureHost {
	readonly services?: readonly Served[];
	/** Sets a piece going that runs or ends, from wherever it stands. Where it is under way it does nothing. Never throws. */
	goOn?(session: Session, piece: Piece): void;
	/** Tools for whoever asks a model; made for this frame, so that they may close over it. */
	tools?(frame: Frame): readonly Tool[];
	/**
	 * Before each call of a model or a tool that is made and not recalled: all have to let it pass, in the order of the list. One that
	 * waits stops its work, which asks again when `kernel.goOn` is called for its piece, or at the next start.
	 */
	gate?(session: Session, call: GatedCall): Promise<Verdict>;
}

/** Where a model is asked. Work may be started from a turn; from a step it may not. */
export interface Frame {
	readonly session: Session;
	readonly piece: Piece;
	readonly for: "turn" | "step";
}

/** Who works in a session: what it is told, whom it asks, and what it may use. */
export interface Agent {
	readonly model: Model;
	readonly tools: readonly Tool[];
	/** Before each conversation. */
	readonly instructions: string;
}

/** The kernel, as a feature sees it. */
export interface Kernel {
	readonly isReadOnly: boolean;
	/** To read and to follow; one appends through a session. */
	readonly wal: Wal;
	readonly timeline: Timeline;
	readonly sessions: Sessions;
	readonly space: DiskSpace;
	readonly ids: Ids;
	readonly clock: Clock;
	readonly timers: Timers;
	readonly modelPolicy: ModelPolicy | undefined;
	/** Results that are too large for a record. */
	readonly results: BlobStore;
	readonly store: Pick<Store, "local">;
	/** What lies beside the log in an area. What is put there is no garbage as long as this kernel is open. */
	blobs(area: string): BlobStore;
	agent(scope: Scope): Agent;
	/** The agent's own tools, and what features offer to this frame. */
	tools(frame: Frame): readonly Tool[];
	/** What steps run on: the log of now, recall, results, the meter. They stop with the signal. */
	using(session: Session, signal: AbortSignal): Using;
	/** Takes out of a text what must not be written; absent: nothing is. */
	readonly redact: ((text: string) => string) | undefined;
	/** For what no record says: pieces of text, notices. It is told once all is told that was recorded before it. All else says `tell`. */
	emit<Event extends { readonly type: string }>(event: Event): void;
	/** Goes on with a piece of any feature that runs, unless it is under way: it was held, and is not any more. */
	goOn(piece: Pick<Piece, "kind" | "id">): void;
	/** A piece of any feature as it is now. */
	find(which: Pick<Piece, "kind" | "id">): Piece | undefined;
	/** Resolves when `onEvent` has been told of all that is durable now. */
	told(): Promise<void>;
	/** Work that was finished before and is not even asked for: the meter counts it as free. */
	saved(calls: number, tokens: number): void;
	/** @throws RuntimeError `RUNTIME_CLOSED` once the runtime has been told to close */
	assertOpen(): void;
	/** Waits for what has to be before something is begun. @throws RuntimeError `RUNTIME_CLOSED` when a close came meanwhile */
	beforeClose<T>(ready: Promise<T>): Promise<T>;
	/** What ends something is told as it ended: a close waits for it. */
	toItsEnd<T>(act: () => Promise<T>): Promise<T>;
	/**
	 * A service of a feature before this one. A key in `needs` is checked before anything is opened.
	 *
	 * @throws RuntimeError `RUNTIME_NO_SERVICE` for one that none of them has provided
	 */
	get<T>(key: Service<T>): T;
}
