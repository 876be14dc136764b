/** Facets: which kinds of record are talk and which are work, so that a mode can take back one of them. */
import type { AnyRecordKind } from "@reyn/wal";
import { rewindNote } from "./records.ts";

/** Which record kinds are talk and which are work. A kind in neither list is dropped by `both` alone. */
export interface Facets {
	/** What was said: prompts, replies, notes. */
	readonly conversation: readonly string[];
	/** Agent state and tool results; never the files of the user's workspace. */
	readonly code: readonly string[];
}

export type Facet = "conversation" | "code" | "other";

/** Makes facets from kinds of record. The note of `summarize` is added to the conversation. */
export function facetsOf({
	conversation = [],
	code = [],
}: Readonly<Partial<Record<keyof Facets, readonly AnyRecordKind[]>>>): Facets {
	const kindsOf = (records: readonly AnyRecordKind[]): readonly string[] => records.map(({ kind }) => kind);
	const talk = conversation.includes(rewindNote) ? conversation : [...conversation, rewindNote];
	return { conversation: kindsOf(talk), code: kindsOf(code) };
}

export function facetOf(kind: string, { conversation, code }: Facets): Facet {
	if (conversation.includes(kind)) return "conversation";
	return code.includes(kind) ? "code" : "other";
}
