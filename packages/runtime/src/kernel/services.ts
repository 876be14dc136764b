/** Services: how features use each other without knowing each other, by typed keys. */
import type { SpilledText } from "@reyn/journal";
import type { Appended, Seq } from "@reyn/wal";
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

export type From = Pick<Piece, "kind" | "id">;

export const backgroundMessages = service<BackgroundMessages>("backgroundMessages");
