/** The log that is gone back in: sessions take turns, and what the state is at each record of theirs is known beforehand. */
import { join } from "node:path";
import { type AnyProjection, defineProjection, fileSnapshots, type SnapshotStore, View } from "@reyn/snapshot";
import { openTimeline, timetravelRecords } from "@reyn/timetravel";
import { openWal, type Scope, type Seq, type Wal } from "@reyn/wal";
import { z } from "zod";
import { entryPut } from "../entries.ts";
import { entryAt } from "../entry.ts";

/** Entries and, last, a checkpoint. */
export const TURN_RECORDS = 10;
/** Before it the log says who writes. */
const FIRST_SEQ = 2;

export interface Layout {
	readonly sessions: number;
	/** Of each session. */
	readonly turns: number;
}

/** A record, and how many entries of its session there are up to it. */
export interface Place {
	readonly seq: Seq;
	readonly entries: number;
}

/** The one that is measured: as many go before it as after it. */
export const measuredSession = (sessions: number): Scope => scopeOf(Math.floor(sessions / 2));

/** Where a record of the session that is measured lies: the one that so many others of its own come before. */
export function placeOf(before: number, sessions: number): Place {
	const [turn, inTurn] = [Math.floor(before / TURN_RECORDS), before % TURN_RECORDS];
	const turnsBefore = turn * sessions + Math.floor(sessions / 2);
	const entries = turn * (TURN_RECORDS - 1) + Math.min(inTurn + 1, TURN_RECORDS - 1);
	return { seq: FIRST_SEQ + turnsBefore * TURN_RECORDS + inTurn, entries };
}

/** Each entry counts once, in order: the versions of so many have one sum. */
export function isAsOf(view: View, entries: number): boolean {
	const { count, sum, newest } = view.get(progress);
	const text = entries === 0 ? "" : entryAt(entries - 1).text;
	return count === entries && sum === (entries * (entries - 1)) / 2 && newest === text;
}

export interface Stores {
	readonly wal: Wal;
	readonly snapshots: SnapshotStore;
	readonly projections: readonly AnyProjection[];
}

export async function openStores(directory: string): Promise<Stores> {
	const wal = await openWal(directory, { records: [entryPut, ...timetravelRecords] });
	return { wal, snapshots: fileSnapshots(join(directory, "snapshots")), projections: [progress] };
}

/** A turn of each session, and then the next one of each. Snapshots are stored as the timeline sees fit. */
export async function writeLog(directory: string, { sessions, turns }: Layout): Promise<void> {
	const stores = await openStores(directory);
	await using wal = stores.wal;
	const timeline = await openTimeline(stores);
	const views = Array.from({ length: sessions }, (_, i) => View.empty(scopeOf(i), stores.projections));
	if (wal.tip !== FIRST_SEQ - 1) throw new Error(`expected a new log to be at seq ${FIRST_SEQ - 1}, found ${wal.tip}`);
	const checkpoints: Promise<Seq>[] = [];
	for (let turn = 0; turn < turns; turn++) {
		for (const [i, before] of views.entries()) {
			await wal.ready();
			let view = before;
			for (let entry = turn * (TURN_RECORDS - 1); entry < (turn + 1) * (TURN_RECORDS - 1); entry++)
				view = view.apply(wal.append(entryPut(entryAt(entry)), view.scope).record);
			views[i] = view;
			const stored = timeline.checkpoint("turn", `turn ${turn}`, view.scope, view);
			// Whether a snapshot is due at the next one depends on whether this one has been stored.
			if (view.isDue) await stored;
			else checkpoints.push(stored);
		}
	}
	await Promise.all(checkpoints);
}

const scopeOf = (session: number): Scope => ({ agent: "default", session: `session-${session}` });

const progress = defineProjection({
	name: "progress",
	version: 1,
	schema: z.object({ count: z.int(), sum: z.int(), newest: z.string() }),
	init: () => ({ count: 0, sum: 0, newest: "" }),
	handle: (on) => [
		on(entryPut, ({ count, sum }, { text, version }) => ({ count: count + 1, sum: sum + version, newest: text })),
	],
});
