import type { Scope, Seq, Wal, WalRecord } from "@reyn/wal";
import { SnapshotError } from "./errors.ts";
import { kindsOf, View } from "./fold.ts";
import type { Path } from "./path.ts";
import type { AnyProjection } from "./projection.ts";
import { decodeSnapshot, encodeSnapshot, identifySnapshot } from "./snapshot.ts";
import type { SnapshotStore } from "./store.ts";

/** What a state is made from. */
export interface Sources {
	readonly wal: Wal;
	readonly snapshots: SnapshotStore;
	readonly projections: readonly AnyProjection[];
	/** May be set on a log that nobody writes: a rotten snapshot is then left where it is. Default: false. */
	readonly readOnly?: boolean;
}

/**
 * The state at the end of a path: the newest snapshot that lies on it, and the records after that.
 *
 * @throws SnapshotError `SNAPSHOT_NEWER_FORMAT`, `SNAPSHOT_PROJECTION`
 */
export async function restore(from: Sources, path: Path): Promise<View> {
	let view = (await newestBase(from, path)) ?? View.empty(path.scope, from.projections);
	const kinds = kindsOf(from.projections);
	for (const { after, through } of path.ranges) {
		if (through <= view.seq) continue;
		const range = { after: Math.max(after, view.seq), through, scope: path.scope, kinds: { only: kinds } };
		for await (const record of from.wal.read(range)) {
			if (path.has(record)) view = view.apply(record);
		}
	}
	return view.at(path.tip);
}

/**
 * Stores a view once its own record is durable: a snapshot never gets ahead of the log.
 *
 * @throws SnapshotError `SNAPSHOT_AHEAD`; `SNAPSHOT_NOT_STORED` when the store could not: the log has all that it had, and
 * older snapshots are as they were
 */
export async function capture({ wal, snapshots }: Sources, view: View, record: WalRecord): Promise<void> {
	const ahead = (why: string): SnapshotError => new SnapshotError("SNAPSHOT_AHEAD", why, { seq: record.seq });
	if (record.seq !== view.seq)
		throw ahead(`a snapshot at seq ${record.seq} needs the view at that seq; this one is at ${view.seq}`);
	if (record.seq > wal.durableTip) throw ahead(`seq ${record.seq} is not durable yet; await it before the capture`);
	const key = { log: wal.id, scope: view.scope, seq: record.seq, crc: record.crc };
	const text = encodeSnapshot(key, view);
	try {
		await snapshots.put(view.scope, record.seq, text);
	} catch (cause) {
		const { code, message } = cause as NodeJS.ErrnoException;
		throw new SnapshotError(
			"SNAPSHOT_NOT_STORED",
			`the snapshot at seq ${record.seq} could not be stored (${code ?? "error"}: ${message}). Nothing is lost: the log has its records, and a start reads more of them`,
			{ scope: view.scope, seq: record.seq, code },
			{ cause },
		);
	}
}

/**
 * The seq of the newest sound snapshot that a store holds of a log; 0 when it holds none. Its record was durable when it
 * was stored, so a log that ends before it has lost something: give this to `openWal` as `proven`.
 */
export async function newestSnapshot(snapshots: SnapshotStore, logId: string, scopes: readonly Scope[]): Promise<Seq> {
	let newest = 0;
	for (const scope of scopes) {
		for (const seq of await snapshots.list(scope)) {
			if (seq <= newest) break;
			const found = identifySnapshot((await snapshots.get(scope, seq)) ?? "");
			if (found?.log === logId && found.seq === seq) newest = seq;
		}
	}
	return newest;
}

async function newestBase({ wal, snapshots, projections, readOnly }: Sources, path: Path): Promise<View | undefined> {
	const kinds = kindsOf(projections);
	for (const seq of await snapshots.list(path.scope)) {
		if (seq > path.tip || !path.isBase(seq, kinds)) continue;
		const [text, crc] = [await snapshots.get(path.scope, seq), await crcAt(wal, seq)];
		if (text === undefined || crc === undefined) continue;
		const loaded = decodeSnapshot(text, { log: wal.id, scope: path.scope, seq, crc }, projections);
		switch (loaded.kind) {
			case "view":
				return loaded.view;
			case "rotten":
				if (!readOnly) await snapshots.setAside(path.scope, seq);
				break;
			case "newer":
				throw newer(path.scope, seq, loaded.version);
			case "foreign":
				break;
		}
	}
	return undefined;
}

async function crcAt(wal: Wal, seq: Seq): Promise<string | undefined> {
	if (seq > wal.tip) return undefined;
	for await (const { crc } of wal.read({ after: seq - 1, through: seq })) return crc;
	return undefined;
}

function newer(scope: Scope, seq: Seq, version: unknown): SnapshotError {
	return new SnapshotError(
		"SNAPSHOT_NEWER_FORMAT",
		`the snapshot at seq ${seq} is of version ${version}, which this version of Reyn does not know. It was written by a newer Reyn: upgrade to open it`,
		{ scope, seq, version },
	);
}
