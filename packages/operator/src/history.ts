/** Reports the history as a value: checkpoints, rewinds, branches, and the current position. */
import { rewindNote } from "@reyn/rewind-modes";
import { adoptedPath, type Runtime } from "@reyn/runtime";
import { type Branch, type Label, type Lineage, reset, type Timeline, type Window } from "@reyn/timetravel";
import { type Seq, scopeKey, type WalRecord } from "@reyn/wal";
import { oneLine } from "./text.ts";

export interface HistoryEntry {
	readonly seq: Seq;
	readonly ts: number;
	/** `label`: a record that is here for its labels alone. */
	readonly type: "checkpoint" | "reset" | "note" | "label" | "genesis";
	/** Of a reset: `switch` went to a line that was abandoned. */
	readonly move?: "rewind" | "switch" | "undo" | "redo" | "adopt";
	readonly title: string;
	readonly branch: string;
	readonly active: boolean;
	/** The labels of this moment. Absent: none. */
	readonly labels?: readonly string[];
	/** It was taken away by a collection, so one cannot go there any more. */
	readonly gone?: true;
}

export interface History {
	readonly tip: number;
	/** The first record that is left; of moments before it those alone can be gone to that are kept. */
	readonly retainedFrom: number;
	readonly entries: readonly HistoryEntry[];
	readonly branches: readonly {
		readonly id: number;
		readonly name: string;
		readonly parent?: string;
		readonly forkedAt: number;
		readonly last: number;
		readonly active: boolean;
		/** The labels of moments on it. Absent: none. */
		readonly labels?: readonly string[];
		/** Its end was taken away by a collection. */
		readonly gone?: true;
	}[];
}

/** Which entries are wanted. Default: all. */
export interface HistoryWindow extends Window {
	readonly type?: HistoryEntry["type"] | undefined;
}

/** Entries newest first. Checkpoints outside of the window are not looked at. */
export async function readHistory(runtime: Runtime, window: HistoryWindow = {}): Promise<History> {
	const { wal, timeline } = runtime;
	const branches = timeline.branches();
	const labelled = Map.groupBy(await timeline.labels(), (each) => each.seq);
	const entries = await entriesIn(window, runtime, (seq) => branchAt(branches, seq), labelled);
	const nameOf = (id: number | undefined): string | undefined => branches.find((branch) => branch.id === id)?.name;
	return {
		tip: wal.tip,
		retainedFrom: timeline.retainedFrom,
		entries: entries.map((entry) => ({ ...entry, ...named(labelled.get(entry.seq)), ...goneAt(entry.seq, timeline) })),
		branches: branches.map(({ id, name, parent, forkedAt, last, active }) => {
			const above = nameOf(parent);
			const own = [...labelled.values()].flat().filter((each) => branchAt(branches, each.seq) === name);
			return {
				id,
				name,
				...(above === undefined ? {} : { parent: above }),
				forkedAt,
				last,
				active,
				...named(own),
				...goneAt(last, timeline),
			};
		}),
	};
}

/** Of each sort the newest so many, and then of all of these. */
async function entriesIn(
	{ before = Number.POSITIVE_INFINITY, limit = Number.POSITIVE_INFINITY, type }: HistoryWindow,
	{ timeline }: Runtime,
	branchOf: (seq: Seq) => string,
	labelled: ReadonlyMap<Seq, readonly Label[]>,
): Promise<readonly HistoryEntry[]> {
	const { lineage } = timeline;
	const isWanted = (each: HistoryEntry["type"]): boolean => type === undefined || type === each;
	const entries: HistoryEntry[] = [];
	if (isWanted("checkpoint"))
		for (const { seq, ts, kind, title, active } of timeline.checkpoints({}, { before, limit }))
			entries.push({ seq, ts, type: "checkpoint", title: `${kind}  ${title}`, branch: branchOf(seq), active });
	const records = await timeline.records();
	let moves = 0;
	for (let at = records.length - 1; at >= 0 && moves < limit; at--) {
		const entry = moveIn(records[at] as WalRecord, timeline, branchOf);
		if (!entry || entry.seq >= before || !isWanted(entry.type)) continue;
		entries.push(entry);
		moves++;
	}
	const isCheckpoint = (seq: Seq): boolean => timeline.checkpoints({}, { before: seq + 1, limit: 1 })[0]?.seq === seq;
	for (const seq of isWanted("label") ? labelled.keys() : []) {
		if (seq >= before || isCheckpoint(seq)) continue;
		const record = await timeline.record(seq);
		if (!record || moveIn(record, timeline, branchOf)) continue;
		const where = { seq, ts: record.ts, branch: branchOf(seq), active: lineage.isActive(record) };
		entries.push({ ...where, type: "label", title: record.kind });
	}
	if (before > 0 && isWanted("genesis"))
		entries.push({ seq: 0, ts: 0, type: "genesis", title: "genesis", branch: "main", active: true });
	return entries.sort((a, b) => b.seq - a.seq).slice(0, limit === Number.POSITIVE_INFINITY ? undefined : limit);
}

/** The entry of a rewind or a note; undefined for other records. */
function moveIn(record: WalRecord, { lineage }: Timeline, branchOf: (seq: Seq) => string): HistoryEntry | undefined {
	const { seq, ts } = record;
	const where = () => ({ seq, ts, branch: branchOf(seq), active: lineage.isActive(record) });
	if (reset.is(record)) {
		const { move, text } = toldReset(record, lineage);
		return { ...where(), type: "reset", move, title: `${text} by ${record.data.actor}` };
	}
	if (!rewindNote.is(record)) return undefined;
	return { ...where(), type: "note", title: `note on #${record.data.target} by ${record.data.actor}` };
}

/** What a reset was: a way back, a switch to an abandoned line, an undo or a redo of a move, or a file that was taken over. */
function toldReset(record: WalRecord<Parameters<typeof reset>[0]>, lineage: Lineage) {
	const { seq, scope, data } = record;
	const { target, drop, mode, undoes, redoes } = data;
	if (undoes !== undefined) return { move: "undo" as const, text: `undo of #${undoes}` };
	if (redoes !== undefined) return { move: "redo" as const, text: `redo of #${redoes}` };
	const path = adoptedPath(record);
	if (path !== undefined) return { move: "adopt" as const, text: `adoption of ${oneLine(path)} as of #${target}` };
	const whose = scope.agent === undefined ? "" : ` of ${scopeKey(scope)}`;
	return lineage.isAncestor(target, scope, drop, seq - 1)
		? { move: "rewind" as const, text: `rewind to #${target}${whose} (${mode})` }
		: { move: "switch" as const, text: `switch to #${target}${whose} (${mode})` };
}

const branchAt = (branches: readonly Branch[], seq: Seq): string =>
	branches.findLast(({ first }) => first <= seq)?.name ?? "main";

const goneAt = (seq: Seq, timeline: Timeline): { readonly gone?: true } => (timeline.has(seq) ? {} : { gone: true });

const named = (found: readonly Label[] = []): { readonly labels?: readonly string[] } =>
	found.length > 0 ? { labels: found.map(({ name }) => name) } : {};
