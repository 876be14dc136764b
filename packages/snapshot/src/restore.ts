/** Restores a state from the newest snapshot on its path, and captures a state as a new snapshot. */
import { codeOf, type Scope, type Seq, type Wal, type WalRecord, within } from "@reyn/wal";
import { parseData } from "@reyn/wal/internal";
import { SnapshotError } from "./errors.ts";
import { kindsOf, View } from "./fold.ts";
import type { Path } from "./path.ts";
import { type AnyProjection, projectionsAt } from "./projection.ts";
import { crcAt } from "./record-crc.ts";
import { encodeSnapshot, foldUpTo, isYounger, loadSnapshot, readRoot } from "./snapshot.ts";
import { Damage, rootName, type SnapshotStore, Unreadable } from "./store.ts";

/** The sources that a state is restored from. */
export interface Sources {
	readonly wal: Wal;
	readonly snapshots: SnapshotStore;
	readonly projections: readonly AnyProjection[];
	/** Leave damaged snapshots where they are, since only the writer of the log may set them aside. Default: false. */
	readonly readOnly?: boolean;
	/** The kept states that stand for records removed by a truncation. Absent: the log has all records. */
	readonly bases?: Bases;
}

/** Snapshots that the log cannot replace any more. */
export interface Bases {
	/** A store of their own: ordinary snapshots are a cache that may be lost. */
	readonly snapshots: SnapshotStore;
	/** Their seqs, newest first, with the crc of the record at each, which the log may not have any more. */
	readonly crcs: ReadonlyMap<Seq, string>;
	/** The kinds of record up to the newest of them. A projection that folds none of these lost nothing, so it may be newer than they are. */
	readonly kinds: ReadonlySet<string>;
	/** Where a state without a kept snapshot begins, if none of its projections lost anything. Absent: at genesis. */
	readonly begins?: Seq;
}

/**
 * The state at the end of a path: the newest snapshot that lies on it, and the records after that.
 *
 * @throws SnapshotError `SNAPSHOT_NEWER_FORMAT`, `SNAPSHOT_NO_BASE`, `SNAPSHOT_OTHER_LOG`, `SNAPSHOT_PROJECTION`,
 * `SNAPSHOT_SAME_NAME`
 */
export async function restore({ projections, ...rest }: Sources, path: Path): Promise<View> {
	const from: Sources = { ...rest, projections: projectionsAt(path.scope, projections) };
	const { bases } = from;
	let view = await newestBase(from, path, () => from.snapshots.roots(path.scope, from.readOnly ?? false));
	if (bases) {
		const after = view?.seq ?? 0;
		const newer = [...bases.crcs.keys()].filter((seq) => seq > after);
		const kept = { ...from, snapshots: bases.snapshots, readOnly: true };
		view = (await newestBase(kept, path, async () => newer, bases)) ?? view;
	}
	return replay(from, path, view ?? begun(from, path));
}

/** The state to begin a replay with when there is no snapshot. */
function begun({ projections, bases }: Sources, path: Path): View {
	const empty = View.empty(path.scope, projections);
	if (bases?.begins === undefined || !projections.every((each) => isYounger(each, bases.kinds))) return empty;
	const seq = Math.min(bases.begins, path.tip);
	return foldUpTo(seq, handed({ projections }, path, 0), empty).at(seq);
}

/** Folds the rest of a path into a view. */
async function replay(from: Sources, path: Path, base: View): Promise<View> {
	const kinds = kindsOf(from.projections);
	let view = base;
	const atHand = handed(from, path, base.seq);
	let next = atHand.next();
	const takeBefore = (seq: Seq): void => {
		for (; !next.done && next.value.seq < seq; next = atHand.next())
			if (next.value.seq > view.seq) view = view.apply(next.value);
	};
	for (const { after, through } of path.rangesAfter(base.seq)) {
		const range = { after, through, scope: path.scope, kinds: { only: kinds } };
		try {
			for await (const record of from.wal.read(range)) {
				if (!path.has(record)) continue;
				takeBefore(record.seq);
				view = view.apply(record);
			}
		} catch (error) {
			throw codeOf(error) === "WAL_TRUNCATED" ? noBase(path, base.seq, error) : error;
		}
	}
	takeBefore(path.tip + 1);
	return view.restoredAt(path.tip);
}

/** The records at hand after a seq, parsed as the log would: they may have been kept by a program that did not know their kind. */
function* handed(
	{ projections }: Pick<Sources, "projections">,
	path: Path,
	after: Seq,
): Generator<WalRecord, undefined> {
	if (!path.atHand) return;
	const handlers = new Map(projections.flatMap((each) => [...each.handlers]));
	for (const record of path.atHand(after)) {
		if (record.seq > path.tip) return;
		const handler = handlers.get(record.kind);
		if (!handler || !within(record.scope, path.scope)) continue;
		const { kind, schema } = handler;
		yield schema ? { ...record, data: parseData({ kind, schema }, record.data, record.seq) } : record;
	}
}

/**
 * Stores a view whose record is durable: a snapshot never gets ahead of the log. Of its lists only new parts are stored; the rest is
 * shared with older snapshots.
 *
 * @throws SnapshotError `SNAPSHOT_AHEAD`, `SNAPSHOT_NOT_JSON`, `SNAPSHOT_OTHER_LOG`; `SNAPSHOT_NOT_STORED` when the store failed: the
 * log and older snapshots are as they were
 */
export async function capture({ wal, snapshots, readOnly }: Sources, view: View): Promise<void> {
	const { seq } = view;
	// Genesis needs no snapshot: every restore can start there.
	if (seq === 0) return;
	if (seq > wal.durableTip)
		throw new SnapshotError("SNAPSHOT_AHEAD", `seq ${seq} is not durable yet; await it before the capture`, { seq });
	await snapshots.exclusively(async () => {
		try {
			if (readOnly) throw new Error("only the writer of the log stores snapshots");
			const crc = await crcAt(wal, seq);
			if (crc === undefined) throw new Error(`the log begins at seq ${wal.first}`);
			await snapshots.assertOf(wal.id, true);
			const { text, fresh } = await encodeSnapshot({ log: wal.id, scope: view.scope, seq, crc }, view, snapshots);
			// Chunks before the root that names them: a root without its chunks could not be restored.
			await snapshots.putChunks(fresh);
			await snapshots.putRoot(view.scope, seq, text);
			view.wasStored(text.length);
		} catch (cause) {
			if (cause instanceof SnapshotError) throw cause;
			const { code, message } = cause as NodeJS.ErrnoException;
			throw new SnapshotError(
				"SNAPSHOT_NOT_STORED",
				`the snapshot at seq ${seq} could not be stored (${code ?? "error"}: ${message}). Nothing is lost: the log has its records, and a start reads more of them`,
				{ scope: view.scope, seq, code },
				{ cause },
			);
		}
	});
}

/**
 * The seq of the newest sound snapshot that a store holds of a log; 0 when it holds none. Its record was durable when it
 * was stored, so a log that ends before it has lost something: give this to `openWal` as `proven`.
 */
export async function newestSnapshot(snapshots: SnapshotStore, logId: string, scopes: readonly Scope[]): Promise<Seq> {
	let newest = 0;
	for (const scope of scopes) {
		for (const seq of await snapshots.roots(scope, true)) {
			if (seq <= newest) break;
			const text = await snapshots.root(scope, seq).catch((error: unknown) => {
				if (!(error instanceof Unreadable)) throw error;
			});
			const read = readRoot(text ?? "");
			if (read.kind === "root" && read.root.log === logId && read.root.seq === seq) newest = seq;
		}
	}
	return newest;
}

/**
 * The newest snapshot on a path. One that cannot be read just now is skipped: an older one, or the log, does as well.
 *
 * @param seqs gives the seqs that may have a snapshot, newest first
 */
async function newestBase(
	from: Sources,
	path: Path,
	seqs: () => Promise<readonly Seq[]>,
	bases?: Bases,
): Promise<View | undefined> {
	const { wal, snapshots, projections } = from;
	const kinds = kindsOf(projections);
	// Exclusive, since a collection could remove the chunks while they are read.
	return snapshots.exclusively(async () => {
		try {
			await snapshots.assertOf(wal.id, false);
			for (const seq of await seqs()) {
				if (seq > path.tip || !path.isBase(seq, kinds)) continue;
				const base = await baseAt(from, path, seq, bases);
				if (base) return base;
			}
		} catch (error) {
			if (!(error instanceof Unreadable)) throw error;
		}
		return undefined;
	});
}

/** The snapshot at a seq, if it is sound and fits this log and these projections. */
async function baseAt(
	{ wal, snapshots, projections, readOnly }: Sources,
	path: Path,
	seq: Seq,
	bases?: Bases,
): Promise<View | undefined> {
	const { scope } = path;
	const name = rootName(scope, seq);
	try {
		const [text, crc] = await Promise.all([snapshots.rootNamed(name), bases?.crcs.get(seq) ?? crcAt(wal, seq)]);
		if (text === undefined || crc === undefined) return undefined;
		const key = { log: wal.id, scope, seq, crc };
		const read = readRoot(text);
		if (read.kind === "rotten") throw new Damage(name, read.why);
		if (read.kind === "newer") throw newer(key, read.version);
		const loaded = await loadSnapshot(read.root, key, projections, snapshots, {
			bytes: text.length,
			...(bases ? { before: bases.kinds, atHand: handed({ projections }, path, 0) } : {}),
		});
		if (loaded.kind === "newer") throw newer(key, loaded.version);
		return loaded.kind === "view" ? loaded.view : undefined;
	} catch (error) {
		if (error instanceof Unreadable) return undefined;
		if (!(error instanceof Damage)) throw error;
		// Only the damaged blob is set aside. If it is a chunk, the next snapshot stores it again, and the roots that name it are sound
		// again. If it cannot be moved, for lack of space, it stays and is found damaged again: the restored state is the same.
		if (!readOnly) await snapshots.setAside(error.blob).catch(() => {});
		return undefined;
	}
}

function noBase({ tip, scope }: Path, seq: Seq, cause: unknown): SnapshotError {
	const { seq: missing } = (cause as { detail: { seq: Seq } }).detail;
	return new SnapshotError(
		"SNAPSHOT_NO_BASE",
		`the state at seq ${tip} needs records from seq ${missing} on, which were taken away, and no kept state stands for them that is sound and that all projections of now can take (the newest is of seq ${seq}). Bring the kept states back from a backup; give a projection that has changed its migrate(); a new one cannot fold records that are gone, unless it mayBeginLate`,
		{ scope, seq: tip, missing },
		{ cause },
	);
}

function newer({ scope, seq }: { readonly scope: Scope; readonly seq: Seq }, version: unknown): SnapshotError {
	return new SnapshotError(
		"SNAPSHOT_NEWER_FORMAT",
		`the snapshot at seq ${seq} is of version ${version}, which this version of Reyn does not know. It was written by a newer Reyn: upgrade to open it`,
		{ scope, seq, version },
	);
}
