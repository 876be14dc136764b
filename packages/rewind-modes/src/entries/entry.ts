/** An entry as its users see it, made of a record of the log. */
import { reset } from "@reyn/timetravel";
import type { Scope, Seq, WalRecord } from "@reyn/wal";
import type { Counts } from "../preview-rewind.ts";
import { rewindNote } from "../records.ts";

export interface Entry {
	/** Names this entry in its journal, for ever. */
	readonly id: string;
	readonly processId: string;
	readonly type: string;
	/** Milliseconds since 1970. */
	readonly at: number;
	/** JSON. Of the type `rewind`: {@link RewindData}. */
	readonly data: Readonly<Record<string, unknown>>;
}

/** What an entry of the type `rewind` says. */
export interface RewindData {
	/** The entry that it went to just before of. */
	readonly beforeEntry: string;
	readonly mode: string;
	readonly actor: string;
	/** The entries from that one on, as they were confirmed: all, and by facet. */
	readonly affected: Counts;
	/** What the model is told of them, for `summarize`. */
	readonly text?: string;
}

/** The type of the entry that a rewind is. */
export const REWIND = "rewind";

/** The records of a process: each process is a session of one agent. */
export const scopeOf = (processId: string): Scope => ({ agent: AGENT, session: processId });

export const AGENT = "entries";

const idOf = (seq: Seq): string => `e${seq}`;

/** The seq that an id names, there or not; undefined when it is no id. */
export function seqOf(id: string): Seq | undefined {
	const seq = /^e([1-9]\d{0,15})$/.test(id) ? Number(id.slice(1)) : undefined;
	return Number.isSafeInteger(seq) ? seq : undefined;
}

export function entryOf(record: WalRecord): Entry {
	const { seq, scope, kind, ts, data } = record;
	const of = { id: idOf(seq), processId: scope.session ?? "", at: ts };
	const rewind = rewindIn(record);
	if (rewind) return { ...of, type: REWIND, data: { ...rewind } };
	return { ...of, type: kind, data: data as Entry["data"] };
}

function rewindIn(record: WalRecord): RewindData | undefined {
	if (reset.is(record)) {
		const { target, mode, actor, counts = {} } = record.data;
		return { beforeEntry: idOf(target + 1), mode, actor, affected: countsIn(counts) };
	}
	if (!rewindNote.is(record)) return undefined;
	const { target, actor, counts, text } = record.data;
	return { beforeEntry: idOf(target + 1), mode: "summarize", actor, affected: countsIn(counts), text };
}

const countsIn = ({ conversation = 0, code = 0, other = 0, all = 0 }: Readonly<Record<string, number>>): Counts => ({
	conversation,
	code,
	other,
	all,
});
