/** A log of one kind of work alone, in a directory or an engine: its one session, folded as it is written, and snapshots of that. */
import { type AnyProjection, capture, restore, SnapshotStore, straightPath, type View } from "@reyn/snapshot";
import { newestSnapshot } from "@reyn/snapshot/internal";
import {
	type AnyRecordKind,
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
import { journal } from "./journal.ts";
import { journalRecords } from "./records.ts";
import type { Steppable } from "./step-ports.ts";

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

/** As `openSession` of @reyn/timetravel gives it, over a log that is one line of history. */
export interface OwnSession extends Steppable, WorkingSession {
	readonly scope: Scope;
	/** Stores the state of the session, where that is due. */
	checkpoint(kind: string, title: string, scope: Scope): Promise<void>;
}

export interface OwnLog {
	readonly wal: { readonly id: string };
	readonly session: OwnSession;
	/** For results of more than 1 KiB, and for what else lies beside the log. */
	readonly results: BlobStore;
	close(): Promise<void>;
}

const SESSION: Scope = { agent: "default", session: "main" };

/**
 * @param work its records and its projection, besides those of the journal
 * @throws as `openWal` and `restore` do
 */
export async function openOwnLog(
	at: string | LogEngine,
	work: { readonly records: readonly AnyRecordKind[]; readonly projection: AnyProjection },
	{ realm = "main", onWait, clock, ids, timers }: OwnLogOptions,
): Promise<OwnLog> {
	const engine = typeof at === "string" ? fileEngine(at, timers && { timers }) : at;
	const results = engine.blobs(realm);
	const snapshots = new SnapshotStore(blobsBelow(results, "snapshots"));
	const wal = await openWal(engine, {
		records: [...journalRecords, ...work.records],
		realm,
		proven: (logId) => newestSnapshot(snapshots, logId, [SESSION]),
		...(onWait && { onWait }),
		...(clock && { clock }),
		...(ids && { ids }),
		...(timers && { timers }),
	});
	const sources = { wal, snapshots, projections: [journal, work.projection] };
	let view: View = await restore(sources, straightPath(wal.tip, SESSION)).catch(async (error) => {
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
	const session: OwnSession = {
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
	return { wal, session, results, close: () => wal.close() };
}

const FOREVER = new AbortController().signal;
