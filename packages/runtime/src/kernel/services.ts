/** How features talk without knowing each other: services by typed keys. */
import type { SpilledText } from "@reyn/journal";
import type { Appended, Seq } from "@reyn/wal";
import type { Piece } from "./feature.ts";
import type { Session } from "./session.ts";

declare const type: unique symbol;

/** The key of a service: who needs it and who provides it name the same. */
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
	 * Records a text of a piece of work, which is shown when the work is over; nothing where it has said one since it was last set
	 * going. What was killed after its text was recorded says nothing when it gets here again.
	 *
	 * @param since when it was last set going
	 * @param spilled where the text lies beside the log, if it is too large for a record
	 */
	record(session: Session, from: From, since: Seq, text: string, spilled?: SpilledText): Appended | undefined;
	hasRecorded(session: Session, from: From, since: Seq): boolean;
	/** Shows what it has said and nobody has seen. What cannot be shown waits, and that is told: it never rejects. */
	show(session: Session, from: From, signal?: AbortSignal): Promise<void>;
}

export type From = Pick<Piece, "kind" | "id">;

export const backgroundMessages = service<BackgroundMessages>("backgroundMessages");
