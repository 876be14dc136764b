/** Services: how features use each other without knowing each other, by typed keys. */
import type { SpilledText } from "@reyn/journal";
import type { Appended, Scope, Seq } from "@reyn/wal";
import type { Piece } from "./feature.ts";
import type { Session } from "./session.ts";

declare const type: unique symbol;

/** The key of a service, named by the feature that provides it and by those that need it. */
export interface Service<T> {
	readonly service: string;
	readonly [type]?: (value: T) => T;
}

// biome-ignore lint/suspicious/noExplicitAny: a key in a list; `get` gives its type back.
export type AnyService = Service<any>;

export interface Served {
	readonly key: AnyService;
	readonly value: unknown;
}

export const service = <T>(name: string): Service<T> => ({ service: name });

export const serve = <T>(key: Service<T>, value: NoInfer<T>): Served => ({ key, value });

/** The messages of work in the background: records them in the conversation, and shows them. */
export interface BackgroundMessages {
	/**
	 * Records a text of a piece of work, which is shown when the work is over. If the piece has recorded one since it was last set
	 * going, nothing happens: so work that is killed after this, and gets here again, says nothing twice.
	 *
	 * @param since the seq at which the piece was last set going
	 * @param spilled where the text lies beside the log, if it is too large for a record
	 * @returns the record; undefined: there is one already
	 */
	record(session: Session, from: From, since: Seq, text: string, spilled?: SpilledText): Appended | undefined;
	hasRecorded(session: Session, from: From, since: Seq): boolean;
	/** Shows the recorded texts of a piece that were not shown yet. A text that cannot be shown waits, and an event tells so. Never rejects. */
	show(session: Session, from: From, signal?: AbortSignal): Promise<void>;
}

export type From = Pick<Piece, "kind" | "id" | "chain">;

export const backgroundMessages = service<BackgroundMessages>("backgroundMessages");

/** What a piece of work wants to know of a person. */
export interface Asking {
	/** Names what it is about: who asks again with the same key, after a crash, gets the same question. */
	readonly key: string;
	/** The lane of the call that asks: once it is closed, nobody wants to know any more. Absent: the key begins with it, or the work alone counts. */
	readonly lane?: string;
	/** What exactly is asked about, as a hash: an answer holds for these terms alone. */
	readonly terms?: string;
	/** Is it asked about a call in doubt, which may have been allowed before? That is another question. */
	readonly isAgain?: boolean;
	readonly from: From;
	readonly question: string;
	/** What a person has to see to answer it. */
	readonly lines?: readonly string[];
	/** One of these is an answer. Absent: any text is. */
	readonly choices?: readonly string[];
	/** The choice that words may follow, or the choices. */
	readonly explained?: string | readonly string[];
	/** Is it asked where nobody is here, too, and the work stops until it is answered? Default: such work is told that nobody is here. */
	readonly waits?: boolean;
}

/** The key of what a call asks by itself once it has been started. */
export const startKey = (started: number): string => `started ${started}`;

/** `nobody`: nobody is here to be asked. `later`: it is asked, and the work is to stop until it is answered. */
export type Answer = AnswerInTime | { readonly kind: "nobody" };

/** Of a question that is asked in any case. */
export type AnswerInTime =
	| { readonly kind: "answered"; readonly text: string; readonly by: string }
	| { readonly kind: "later"; readonly seq: Seq };

/** Asks people, durably: a question survives the process that asks it, and is answered from any. */
export interface Asker {
	/** @throws the signal's reason */
	ask(session: Session, asking: Asking & { readonly waits: true }, signal: AbortSignal): Promise<AnswerInTime>;
	ask(session: Session, asking: Asking, signal: AbortSignal): Promise<Answer>;
}

export const asker = service<Asker>("asker");

/** Starts work for whoever gives it an id: of one id there is one work, whatever process asks. */
export interface Starter<What> {
	/** @throws what says that it cannot be started now, or never can */
	check(what: What): Promise<void>;
	/**
	 * Starts it, unless there is one of this id in the session; resolves when its start is durable.
	 *
	 * @throws as `check` does
	 */
	begin(session: Session, work: StartedFor, what: What): Promise<void>;
	/** Resolves when the work, which is under way in this process, is so no more; undefined: it is not. */
	under(session: Session, work: StartedFor): Promise<void> | undefined;
	/** Is there such a work, and not over? */
	isOpen(session: Session, work: StartedFor): boolean;
	/** What came of it; undefined: it is not over. */
	ended(session: Session, work: StartedFor): CameOf | undefined;
}

export interface StartedFor {
	readonly id: string;
	/** A seq that none of its records is older than. */
	readonly since: Seq;
}

export interface CameOf {
	/** Of the record that it ended by: what is taken up again, and ends again, has another one then. */
	readonly end: Seq;
	readonly isDone: boolean;
	readonly text: string;
}

export const skillStarter = service<Starter<{ readonly skill: string; readonly input?: unknown }>>("skillStarter");

export const turnStarter = service<Starter<{ readonly prompt: string }>>("turnStarter");

/** What a person is asked, and has not answered yet. */
export interface OpenQuestion {
	/** Identifies the question for ever. */
	readonly seq: Seq;
	readonly scope: Scope;
	/** The work that asks: `{ kind: "turn", id: "12" }`. */
	readonly from: From;
	readonly question: string;
	/** What a person has to see to answer it, such as what would change. */
	readonly lines?: readonly string[] | undefined;
	/** One of these is an answer. Absent: any text is. */
	readonly choices?: readonly string[] | undefined;
	/** The choice that words may follow, or the choices: with `no`, `no: not this file` is an answer. */
	readonly explained?: string | readonly string[] | undefined;
}

/** Puts a question to a person. Undefined: they leave it open. */
export type AskPerson = (question: OpenQuestion & { readonly signal: AbortSignal }) => Promise<string | undefined>;
