/** The stored index of a timeline: parts beside the snapshots, and as much a cache as they are (docs/adr/0034). */
import { SnapshotError, type SnapshotStore } from "@reyn/snapshot";
import { type BlobStore, codeOf, type Seq, type Wal, type WalRecord } from "@reyn/wal";
import { decodePart, encodePart, type IndexPart, type PartEnd, type PartKey } from "./index-part.ts";

/** How many parts are read at the same time. */
const AT_ONCE = 32;

/**
 * After how many records more a part is stored. They are few while the log is short, and many once it is long: so an open reads a
 * sixteenth of the log at most, and a million records make about a hundred and fifty parts.
 *
 * @param stored how many records the parts have up to now
 */
export const usualPart = (stored: number): number => Math.min(Math.max(Math.ceil(stored / 16), 2048), 8192);

export interface StoredIndexOptions {
	readonly wal: Wal;
	/** The record before the first one of the index. */
	readonly from: Seq;
	/** See {@link PartKey}. */
	readonly rules: string;
	readonly partAfter?: ((stored: number) => number) | undefined;
}

export class StoredIndex {
	readonly #snapshots: SnapshotStore;
	readonly #blobs: BlobStore;
	readonly #options: StoredIndexOptions;
	readonly #wal: Wal;
	readonly #key: PartKey;
	#end: PartEnd;
	/** Up to where the newest put tried to come: after one that failed, there is another one after as many records. */
	#tried: Seq = 0;
	/** The names of the parts that are believed. */
	readonly #believed = new Set<string>();
	/** Were all others removed? */
	#isClean = false;

	constructor(snapshots: SnapshotStore, options: StoredIndexOptions) {
		this.#snapshots = snapshots;
		this.#blobs = snapshots.beside("index");
		this.#options = options;
		this.#wal = options.wal;
		this.#key = { log: options.wal.id, rules: options.rules };
		this.#end = { seq: options.from, crc: "" };
	}

	/** Where the next part begins: the seq before its first record, and the crc there. */
	get end(): PartEnd {
		return this.#end;
	}

	/** Are there enough durable records for another part? */
	get isDue(): boolean {
		const { from, partAfter = usualPart } = this.#options;
		const { seq } = this.#end;
		return this.#wal.durableTip - Math.max(seq, this.#tried) >= partAfter(seq - from);
	}

	/**
	 * The parts that this log bears out, in order. Each goes on where the one before it ends, and of the last one's record the log has
	 * the same crc: since each record's crc is also of the crc before it, all records before are the same too.
	 *
	 * @param parsed gives a record as the log does
	 * @throws WalError `WAL_UNSAFE`
	 */
	async load(parsed: (record: WalRecord) => WalRecord): Promise<readonly IndexPart[]> {
		const parts: IndexPart[] = [];
		let { end } = this;
		for (const part of await this.#read(parsed)) {
			if (part.after !== end.seq || part.prev !== end.crc) continue;
			parts.push(part);
			end = { seq: part.through, crc: part.crc };
		}
		while (parts.length > 0 && !(await this.#isOfLog(parts.at(-1) as IndexPart))) parts.pop();
		for (const part of parts) this.#took(part);
		return parts;
	}

	/**
	 * Stores the next part, whose records are durable.
	 *
	 * @throws SnapshotError `SNAPSHOT_NOT_STORED`, `SNAPSHOT_OTHER_LOG`; WalError `WAL_UNSAFE`
	 */
	async put(part: IndexPart): Promise<void> {
		this.#tried = part.through;
		try {
			await this.#snapshots.assertOf(this.#wal.id, true);
			await this.#clean();
			await this.#blobs.put(nameOf(part.after), Buffer.from(encodePart(part, this.#key)));
		} catch (cause) {
			throw notStored(part, cause);
		}
		this.#took(part);
	}

	/** Removes all parts, for an index that begins at another seq. */
	async anew(from: Seq): Promise<StoredIndex> {
		const next = new StoredIndex(this.#snapshots, { ...this.#options, from });
		// What is in the way of the next index only costs space: its first part tries again.
		await next.#clean().catch(() => {});
		return next;
	}

	#took({ after, through, crc }: IndexPart): void {
		this.#end = { seq: through, crc };
		this.#believed.add(nameOf(after));
	}

	/** Removes what no index goes on from. */
	async #clean(): Promise<void> {
		if (this.#isClean) return;
		const idle = (await this.#blobs.list("")).filter((name) => !this.#believed.has(name));
		if (await this.#snapshots.isOwn()) for (const name of idle) await this.#blobs.delete(name);
		this.#isClean = true;
	}

	/** What can be read of the parts. */
	async #read(parsed: (record: WalRecord) => WalRecord): Promise<readonly IndexPart[]> {
		const parts: IndexPart[] = [];
		try {
			const names = (await this.#blobs.list("")).filter((name) => name >= nameOf(this.#end.seq));
			for (let i = 0; i < names.length; i += AT_ONCE) {
				const some = await Promise.all(names.slice(i, i + AT_ONCE).map((name) => this.#blobs.get(name)));
				for (const bytes of some) {
					const part = bytes && decodePart(Buffer.from(bytes).toString(), this.#key);
					if (part) parts.push({ ...part, records: part.records.map(parsed) });
				}
			}
		} catch (error) {
			// Somebody else may have written here: then nothing can be trusted. Whatever else it is, the log has all there is.
			if (codeOf(error) === "WAL_UNSAFE") throw error;
		}
		return parts;
	}

	async #isOfLog({ through, crc }: IndexPart): Promise<boolean> {
		const { first, durableTip } = this.#wal;
		if (through < first || through > durableTip) return false;
		for await (const record of this.#wal.read({ after: through - 1, through, dataOf: [] })) return record.crc === crc;
		return false;
	}
}

/** By the record before its first one: another part that begins there takes its place. */
const nameOf = (after: Seq): string => String(after).padStart(20, "0");

function notStored({ through }: IndexPart, cause: unknown): unknown {
	if (cause instanceof SnapshotError || codeOf(cause) === "WAL_UNSAFE") return cause;
	const { code, message } = cause as NodeJS.ErrnoException;
	return new SnapshotError(
		"SNAPSHOT_NOT_STORED",
		`the index of the timeline up to seq ${through} could not be stored (${code ?? "error"}: ${message}). Nothing is lost: the log has its records, and a start reads more of them`,
		{ seq: through, code },
		{ cause },
	);
}
