/** Blobs beside the log that records and states name: which of them nothing names any more, and taking those away. */
import { type Collection as Cut, stepLate, type Timeline } from "@reyn/timetravel";
import { isMeta } from "@reyn/timetravel/internal";
import type { Draft, Wal, WalRecord } from "@reyn/wal";
import type { SessionScope } from "../kernel/session.ts";
import type { BlobArea, Gone, Store } from "../kernel/store.ts";
import type { Beside } from "./beside.ts";

/** What `gc` has done, or would do, in the log and beside it. */
export interface Collection extends Cut {
	readonly artifacts: ArtifactsGone;
}

/**
 * Results, what script runs and plans are made of, that nothing refers to, and what writes that were killed have left. Where a cut
 * is only foreseen, at most so many: how far its whole segments will reach is not known.
 */
export interface ArtifactsGone extends Gone {
	/** A record of a kind that is not known here, which may refer to anything: so nothing went. */
	readonly undecided?: { readonly seq: number; readonly kind: string };
}

export interface ArtifactPorts {
	readonly store: Pick<Store, "sweep">;
	/** Through which they are written. */
	readonly beside: Beside;
	/** What can lie there. */
	readonly areas: readonly BlobArea[];
	readonly wal: Wal;
	/** The kinds of record that are known here. */
	readonly known: readonly string[];
	readonly timeline: Timeline;
	/** The sessions that there ever were, whose states are kept. */
	readonly sessions: readonly SessionScope[];
	/** Only say what would go. */
	readonly dryRun: boolean;
}

/**
 * Takes away what nothing refers to that can still be reached: no record that the log has, on whatever line of history, and no
 * state that outlives its records. Killed anywhere, the next time takes the rest. Only the writer of the log may do this, once
 * the cut is durable. What a record names that comes meanwhile was put meanwhile, or was named before.
 */
export async function collectArtifacts(cut: Cut, ports: ArtifactPorts): Promise<ArtifactsGone> {
	const { store, beside, areas, timeline, sessions, dryRun } = ports;
	const known = new Set(ports.known);
	const isKnown = (kind: string): boolean => known.has(kind) || isMeta(kind);
	/** By area: what several refer to lies there once. */
	const needed = new Map(areas.map(({ area }) => [area, new Set<string>()]));
	const need = (namesOf: (area: BlobArea) => readonly string[]): void => {
		for (const each of areas) for (const name of namesOf(each)) needed.get(each.area)?.add(name);
	};
	for await (const record of recordsAfter(cut, ports)) {
		const said: Draft = stepLate.is(record) ? record.data : record;
		if (!isKnown(said.kind)) return { files: 0, bytes: 0, undecided: { seq: record.seq, kind: said.kind } };
		need((area) => area.ofRecord(said));
	}
	for (const seq of cut.kept)
		for (const scope of sessions) {
			const view = await timeline.at(seq, scope);
			need((area) => area.ofView(view));
		}

	const gone: Gone[] = [];
	for (const [area, names] of needed) {
		const isName = (name: string): boolean => areas.some((each) => each.area === area && each.isName(name));
		gone.push(await beside.remove(area, (name) => isName(name) && !names.has(name), dryRun));
	}
	if (store.sweep) gone.push(await store.sweep({ dryRun }));
	return {
		files: gone.reduce((sum, { files }) => sum + files, 0),
		bytes: gone.reduce((sum, { bytes }) => sum + bytes, 0),
	};
}

/** All that the log has: also what a cut leaves before its first record that counts, since script runs are looked up there. */
async function* recordsAfter({ retainedFrom, was, kept }: Cut, { wal, timeline, dryRun }: ArtifactPorts) {
	const first = dryRun && retainedFrom > was ? retainedFrom : wal.first;
	yield* wal.read({ after: first - 1 });
	for (const seq of kept) {
		const record: WalRecord | undefined = await timeline.record(seq);
		if (record) yield record;
	}
}
