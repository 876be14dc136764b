/** Garbage collection of blobs beside the log: removes those that no record and no state names any more. */
import { journal, stepStarted } from "@reyn/journal";
import { callName, keyOf, openStarts } from "@reyn/journal/internal";
import { type Collection as Cut, stepLate, type Timeline } from "@reyn/timetravel";
import { isMeta } from "@reyn/timetravel/internal";
import type { Draft, Seq, Wal, WalRecord } from "@reyn/wal";
import type { SessionScope } from "../kernel/session.ts";
import type { BlobArea, Gone, Store } from "../kernel/store.ts";
import type { Beside } from "./beside.ts";

/** What `gc` has removed, or would remove, from the log and beside it. */
export interface Collection extends Cut {
	readonly artifacts: ArtifactsGone;
}

/**
 * The removed blobs (results, and the texts of script runs and plans, that nothing refers to), what commands have printed whose records
 * are gone, and leftovers of killed writes. For a dry
 * run the numbers are upper bounds, since the log is cut in whole segments and their extent is not known before.
 */
export interface ArtifactsGone extends Gone {
	/** A record of an unknown kind, which may refer to any blob: so no blob was removed. */
	readonly undecided?: { readonly seq: number; readonly kind: string };
}

export interface ArtifactPorts {
	readonly store: Pick<Store, "calls" | "sweep">;
	/** The writer of the blobs, which knows the ones of this process. */
	readonly beside: Beside;
	/** The owners of the blobs. */
	readonly areas: readonly BlobArea[];
	readonly wal: Wal;
	/** The kinds of record that this program knows. */
	readonly known: readonly string[];
	readonly timeline: Timeline;
	/** All sessions ever opened, whose states are kept. */
	readonly sessions: readonly SessionScope[];
	/** Only report what would be removed. */
	readonly dryRun: boolean;
}

/**
 * Removes blobs that nothing refers to: no record of the log, on any line of history, and no state that outlives its records. If it
 * is killed, the next call removes the rest. Only the writer of the log may call it, once the cut is durable. A record that is
 * appended meanwhile can only name a blob that was put meanwhile, or was named before; neither is removed.
 */
export async function collectArtifacts(cut: Cut, ports: ArtifactPorts): Promise<ArtifactsGone> {
	const { store, beside, areas, wal, timeline, sessions, dryRun } = ports;
	const known = new Set(ports.known);
	const isKnown = (kind: string): boolean => known.has(kind) || isMeta(kind);
	/** The needed names by area: several owners may need the same blob. */
	const needed = new Map(areas.map(({ area }) => [area, new Set<string>()]));
	const need = (namesOf: (area: BlobArea) => readonly string[]): void => {
		for (const each of areas) for (const name of namesOf(each)) needed.get(each.area)?.add(name);
	};
	// What is kept of a call comes after its start, so what begins meanwhile is not looked at.
	const calls = new Set(await store.calls?.list());
	const needCall = (start: Seq): boolean => calls.delete(callName(keyOf(wal.id, start)));
	for await (const record of recordsAfter(cut, ports)) {
		const said: Draft = stepLate.is(record) ? record.data : record;
		if (calls.size > 0) startsIn(record.seq, said).forEach(needCall);
		if (!isKnown(said.kind)) return { files: 0, bytes: 0, undecided: { seq: record.seq, kind: said.kind } };
		need((area) => area.ofRecord(said));
	}
	for (const seq of cut.kept)
		for (const scope of sessions) {
			const view = await timeline.at(seq, scope);
			need((area) => area.ofView(view));
			if (calls.size > 0) openStarts(view.get(journal)).forEach(needCall);
		}
	const whole = await timeline.wholeLog.at(wal.tip);
	// One can go to genesis too.
	need((area) => area.ofLog?.(whole, [0, ...cut.kept]) ?? []);

	const gone: Gone[] = [];
	for (const [area, names] of needed) {
		const isName = (name: string): boolean => areas.some((each) => each.area === area && each.isName(name));
		gone.push(await beside.remove(area, (name) => isName(name) && !names.has(name), dryRun));
	}
	if (store.calls) gone.push(await store.calls.remove([...calls], { dryRun }));
	if (store.sweep) gone.push(await store.sweep({ dryRun }));
	return {
		files: gone.reduce((sum, { files }) => sum + files, 0),
		bytes: gone.reduce((sum, { bytes }) => sum + bytes, 0),
	};
}

/** The first starts of the call that a record is of: none where it is of none. */
function startsIn(seq: Seq, { kind, data }: Draft): readonly Seq[] {
	const { started } = (data ?? {}) as { readonly started?: unknown };
	return [...(kind === stepStarted.kind ? [seq] : []), ...(typeof started === "number" ? [started] : [])];
}

/** All records of the log, also those that a cut left before `retainedFrom`: script runs are looked up there. */
async function* recordsAfter({ retainedFrom, was, kept }: Cut, { wal, timeline, dryRun }: ArtifactPorts) {
	const first = dryRun && retainedFrom > was ? retainedFrom : wal.first;
	yield* wal.read({ after: first - 1 });
	for (const seq of kept) {
		const record: WalRecord | undefined = await timeline.record(seq);
		if (record) yield record;
	}
}
