/** Reports the history as a value: checkpoints, rewinds, branches, and the current position. */
import { rewindNote } from "@reyn/rewind-modes";
import type { Runtime } from "@reyn/runtime";
import { type Label, reset } from "@reyn/timetravel";
import { type Seq, scopeKey } from "@reyn/wal";

export interface HistoryEntry {
	readonly seq: Seq;
	readonly ts: number;
	/** `label`: a record that is here for its labels alone. */
	readonly type: "checkpoint" | "reset" | "note" | "label" | "genesis";
	readonly title: string;
	readonly branch: string;
	readonly active: boolean;
	/** The labels of this moment. Absent: none. */
	readonly labels?: readonly string[];
}

export interface History {
	readonly tip: number;
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
	}[];
}

export async function readHistory({ wal, timeline }: Runtime): Promise<History> {
	const { lineage } = timeline;
	const branches = timeline.branches();
	const branchOf = (seq: number): string => branches.findLast(({ first }) => first <= seq)?.name ?? "main";
	const entries: HistoryEntry[] = [{ seq: 0, ts: 0, type: "genesis", title: "genesis", branch: "main", active: true }];
	for (const { seq, ts, kind, title, active } of timeline.checkpoints()) {
		entries.push({ seq, ts, type: "checkpoint", title: `${kind}  ${title}`, branch: branchOf(seq), active });
	}
	for (const record of await timeline.records()) {
		if (!reset.is(record) && !rewindNote.is(record)) continue;
		const { seq, ts } = record;
		const where = { seq, ts, branch: branchOf(seq), active: lineage.isActive(record) };
		if (reset.is(record)) {
			const { target, mode, actor } = record.data;
			const whose = record.scope.agent === undefined ? "" : ` of ${scopeKey(record.scope)}`;
			entries.push({ ...where, type: "reset", title: `rewind to #${target}${whose} (${mode}) by ${actor}` });
		}
		if (rewindNote.is(record))
			entries.push({ ...where, type: "note", title: `note on #${record.data.target} by ${record.data.actor}` });
	}
	const labelled = Map.groupBy(await timeline.labels(), (each) => each.seq);
	const named = (found: readonly Label[] = []): { labels?: readonly string[] } =>
		found.length > 0 ? { labels: found.map(({ name }) => name) } : {};
	for (const seq of labelled.keys()) {
		if (entries.some((entry) => entry.seq === seq)) continue;
		const record = await timeline.record(seq);
		if (!record) continue;
		const where = { seq, ts: record.ts, branch: branchOf(seq), active: lineage.isActive(record) };
		entries.push({ ...where, type: "label", title: record.kind });
	}
	const nameOf = (id: number | undefined): string | undefined => branches.find((branch) => branch.id === id)?.name;
	return {
		tip: wal.tip,
		entries: entries.sort((a, b) => b.seq - a.seq).map((entry) => ({ ...entry, ...named(labelled.get(entry.seq)) })),
		branches: branches.map(({ id, name, parent, forkedAt, last, active }) => {
			const above = nameOf(parent);
			const own = [...labelled.values()].flat().filter((each) => branchOf(each.seq) === name);
			return { id, name, ...(above === undefined ? {} : { parent: above }), forkedAt, last, active, ...named(own) };
		}),
	};
}
