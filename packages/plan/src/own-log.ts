/** A log of plans alone, in a directory or an engine: its one session, folded as it is written, and snapshots of that. */
import { journal, journalRecords } from "@reyn/journal";
import { capture, restore, SnapshotStore, straightPath } from "@reyn/snapshot";
import { newestSnapshot } from "@reyn/snapshot/internal";
import {
	type Appended,
	type Appender,
	type BlobStore,
	type Clock,
	fileEngine,
	type Ids,
	type LogEngine,
	openWal,
	type Scope,
	type Timers,
	type WalError,
} from "@reyn/wal";
import { blobsBelow } from "@reyn/wal/internal";
import { planRuns } from "./plan-runs.ts";
import { planRecords } from "./records.ts";
import type { PlanSession } from "./run-plan-in.ts";

/** A log, and the session in it whose plans these are. */
export interface PlanLog {
	readonly wal: { readonly id: string };
	readonly session: PlanSession & WorkingSession;
	/** For the decompositions of plans. */
	readonly blobs: BlobStore;
	/** For results of more than 1 KiB. Absent: they lie in the log. */
	readonly results?: BlobStore | undefined;
}

/** The part of `Session` of @reyn/timetravel by which a move stops work. */
export interface WorkingSession {
	begin(
		name: string,
		covers: { readonly scope: Scope },
		work: (signal: AbortSignal) => Promise<unknown>,
	): Promise<"over" | "stopped">;
}

export interface OwnLogOptions {
	/** As of `openWal`. */
	onWait?(why: WalError | undefined): void;
	/** The name of the log, in an engine that holds several. Default: `main`. */
	readonly realm?: string;
	readonly clock?: Clock;
	readonly ids?: Ids;
	readonly timers?: Timers;
}

const SESSION: Scope = { agent: "default", session: "main" };

/** @throws as `openWal` and `restore` do */
export async function openOwnLog(
	at: string | LogEngine,
	{ realm = "main", onWait, clock, ids, timers }: OwnLogOptions,
): Promise<PlanLog & { close(): Promise<void> }> {
	const engine = typeof at === "string" ? fileEngine(at, timers && { timers }) : at;
	const results = engine.blobs(realm);
	const snapshots = new SnapshotStore(blobsBelow(results, "snapshots"));
	const wal = await openWal(engine, {
		records: [...journalRecords, ...planRecords],
		realm,
		proven: (logId) => newestSnapshot(snapshots, logId, [SESSION]),
		...(onWait && { onWait }),
		...(clock && { clock }),
		...(ids && { ids }),
		...(timers && { timers }),
	});
	const sources = { wal, snapshots, projections: [journal, planRuns] };
	let view = await restore(sources, straightPath(wal.tip, SESSION)).catch(async (error) => {
		await wal.close();
		throw error;
	});
	let last: Appended | undefined;
	const log: Appender = {
		append(draft, scope) {
			last = wal.append(draft, scope);
			view = view.apply(last.record);
			return last;
		},
	};
	let isStoring = false;
	const session: PlanLog["session"] = {
		scope: SESSION,
		get view() {
			return view;
		},
		log,
		// The log is one line of history.
		async adopt() {},
		async begin(_name, _covers, work) {
			await work(FOREVER);
			return "over";
		},
		async checkpoint() {
			if (isStoring || !view.isDue) return;
			isStoring = true;
			try {
				const due = view;
				await last?.durable;
				await capture(sources, due);
			} finally {
				isStoring = false;
			}
		},
	};
	return { wal, session, blobs: blobsBelow(results, "plans"), results, close: () => wal.close() };
}

const FOREVER = new AbortController().signal;
