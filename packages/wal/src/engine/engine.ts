/**
 * The port between the log and where its bytes lie. An engine stores whole lines under a gap-free seq and knows nothing of
 * what they mean; what is above the port needs no change for another one. The rules that an engine has to keep are tests:
 * `testEngine` of `@reyn/wal/testing`.
 */
import type { StoredRecord } from "../record/codec.ts";
import type { Scope, Seq } from "../record/record.ts";

export interface LogEngine {
	readonly caps: EngineCaps;
	/**
	 * The log of a realm: one project, one gap-free seq, one writer at a time. Opens nothing yet, and may give the same object again.
	 * A realm may have any name that is not empty: as a part of a name in a store it has to be escaped.
	 */
	log(realm: string): RealmLog;
	blobs(realm: string): BlobStore;
	/**
	 * The names of the realms that have a log, in order (of UTF-16 units, as `sort` of an array has it), a page at a time.
	 *
	 * @param after only those that come after this name. Default: from the first
	 * @returns at most 1,000; none when there are no more
	 */
	realms(after?: string): Promise<readonly string[]>;
	/** Lets go of what the engine holds open. Logs are closed before; a log's own `close` leaves its engine open, since others may use it. */
	close(): Promise<void>;
}

export interface EngineCaps {
	/** False when a batch that was not acknowledged may survive as a prefix of itself. */
	readonly atomicBatch: boolean;
	/** What an acknowledgement means: in this process, on one disk, on a majority of several. */
	readonly durability: "memory" | "disk" | "quorum";
	readonly maxBatchRecords: number;
	/** Of the lines of a batch as UTF-8; a single line may be longer. */
	readonly maxBatchBytes: number;
	/** The longest line as UTF-8, its newline included: a longer record is refused before it has a seq. Absent: the format's 8 MiB. */
	readonly maxLineBytes?: number;
	/** A lease lasts so long unless it is renewed, which the log does each third of it; undefined when it ends with its process, and at once. */
	readonly leaseMs: number | undefined;
	/**
	 * A call without an answer for so long counts as `WAL_INDETERMINATE`: the log minds it for each call but `subscribe`. Below `leaseMs`,
	 * and well below a third of it, so that a renewal can be asked for again. Undefined when each call comes to its end by itself.
	 */
	readonly answerMs: number | undefined;
}

/**
 * One realm's log. Errors: `WAL_FENCED` when a newer writer exists, and nothing of this call was or will be stored;
 * `WAL_SEQ_MISMATCH` (`detail.actual`) when the tail is not the expected one; `WAL_INDETERMINATE` when the call may or may
 * not have happened; `WAL_UNAVAILABLE` when it certainly has not; `WAL_FULL` likewise, until there is space; `WAL_CORRUPT`,
 * `WAL_IO`. After any other failure of an append nothing is known, and nothing more may be written under the lease. The log makes one
 * `append` at a time, never without lines and, but for a single line, never with more than `caps` say; other calls come beside it.
 * Lines are given with their newline, and stored as they are.
 */
export interface RealmLog {
	/**
	 * Becomes the writer: the epoch goes up by one, and the opening lines are stored behind the tail, in one step. What is
	 * found is durable when this resolves. Makes the log when there is none. Where another writer lives it throws at once, or waits for
	 * well less than `answerMs`. It may look first, ask `proven` and `opening`, and store only if tail and epoch are still the same, else
	 * look again: both may be asked several times, and what they throw leaves the log as it was.
	 *
	 * @throws WalError `WAL_LOCKED` when another writer lives, `WAL_CORRUPT`, `WAL_NEWER_FORMAT`, `WAL_IO`
	 */
	acquire(options: Acquire): Promise<Lease>;
	/** Keeps a lease for another `caps.leaseMs`. One that has ended goes on too, as long as nobody has taken it; a server that starts again has it still. */
	renew(lease: Lease): Promise<void>;
	/**
	 * Lets the next writer in. The epoch stays. Of a lease that is not the newest one, or was given back already, it resolves and does
	 * nothing; other calls under such a lease are `WAL_FENCED`.
	 */
	release(lease: Lease): Promise<void>;
	/**
	 * Stores lines behind `expect`, the seq of the last one that is there; resolves when they are durable. The epoch of the
	 * lease and the tail are checked in the same step as the write, so that the same call may be tried again for ever, and
	 * happens once at most.
	 */
	append(lease: Lease, expect: Seq, lines: readonly string[]): Promise<void>;
	/** How far the log is durable; undefined when there is none. The writer's own view is never behind its acknowledgements. */
	tail(): Promise<Tail | undefined>;
	/**
	 * The durable records of `(after, through]`, or those up to what `tail` found, in order, some at a time: lists that `storedRecords`
	 * made, since what it has not checked is refused. Ends at the tail, gives nothing where there is no log, and no list that is empty. A
	 * gap is `WAL_CORRUPT`, what retention took away `WAL_TRUNCATED`. The data of records that are not wanted may be left out, which saves
	 * most of the work; an engine may give all.
	 */
	read(after: Seq, through: Seq, wants?: Wants): AsyncIterable<readonly StoredRecord[]>;
	/**
	 * As `read`, and then what becomes durable, until the signal: nothing is lost, nothing comes twice. A lost connection is mended in
	 * here, going on behind what was given: what this throws ends the `follow` of a user. No limit of time is minded for it.
	 */
	subscribe(after: Seq, options: { readonly signal: AbortSignal }): AsyncIterable<readonly StoredRecord[]>;
	/**
	 * Takes records before a seq away, as far as the engine can; gives the first seq that is left, the tail's next at most. The tail stays.
	 * May be asked again, also for a seq that is gone.
	 */
	truncateBefore(lease: Lease, seq: Seq): Promise<Seq>;
}

/** Is the data of such a record asked for? */
export type Wants = (kind: string, scope: Scope) => boolean;

export interface Acquire {
	/** What is told to those who come while this writer lives. */
	readonly owner: Owner;
	/** What a new log is made with: its id, the salt that its first record follows, and the time. */
	readonly fresh: { readonly log: string; readonly salt: string; readonly now: number };
	/**
	 * Names this call: who asks again under the name of the lease that is held gets that lease, since only its answer was lost. Under the
	 * name of one that was given back or taken, it is a new call.
	 */
	readonly nonce: string;
	/** Take a lease that has not ended. An engine whose writer holds a lock of the system refuses. */
	readonly steal?: boolean;
	/**
	 * The highest seq that something outside proves to have been durable in the log of this id; 0 for none. Asked with the id of the log
	 * that is there (`fresh.log` where there is none), before the lease is taken: a log that ends before it is `endsEarly`.
	 */
	proven(logId: string): Promise<Seq>;
	/** The lines that a writer begins with: its epoch, and what was found. */
	opening(at: Opening): readonly string[];
}

export interface Owner {
	readonly pid: number;
	readonly host: string;
	/** The boot of the machine, and the namespace of its process ids, where the system says so: a pid means something only there. */
	readonly boot?: string;
	readonly pids?: string;
	/** ISO 8601. */
	readonly started: string;
	readonly command: string;
}

export interface Opening {
	/** The seq of the first opening line, and the crc of the line before it: of a new log 1, and `fresh.salt`. */
	readonly seq: Seq;
	readonly prev: string;
	readonly epoch: number;
	/** The torn tails that were set aside and that no record names yet; none where batches are atomic. */
	readonly torn: readonly TornTail[];
	/** The record of another log that this one goes on behind, where it was made just now. */
	readonly follows?: { readonly log: string; readonly seq: Seq };
}

/** What says how far the log is durable (`wal.head`) is missing, is unsound, or says less than the log itself does. */
export type Behind = "head missing" | "head unsound" | "head old";

/** Where a log lies, and so what an acknowledgement means. */
export interface Place {
	/**
	 * As `EngineCaps.durability` says; for files what lies under them may say less. `machine`: it ends with the power of the machine (tmpfs).
	 * `unproven`: a sync succeeds, and nothing says whether it reaches a disk, or whether a lock is seen from another machine (FUSE,
	 * virtiofs, 9p, a network file system that was forced).
	 */
	readonly durability: EngineCaps["durability"] | "machine" | "unproven";
	/** What the system calls the file system, where that is why. */
	readonly fileSystem?: string;
}

/** The right to write. */
export interface Lease {
	readonly log: string;
	readonly epoch: number;
	/** The first seq that the log still has. */
	readonly first: Seq;
	/** The last opening line. */
	readonly tail: { readonly seq: Seq; readonly crc: string };
	readonly torn: readonly TornTail[];
	/** Absent: what the engine's caps say. */
	readonly place?: Place;
}

export interface Tail {
	readonly log: string;
	readonly first: Seq;
	/** The last durable record; `first - 1` when there is none. */
	readonly seq: Seq;
	/** The last record that a writer would find, where whole ones lie behind it that nothing proves durable, as a kill leaves them. */
	readonly found?: Seq;
	/** The epoch of the last writer. */
	readonly epoch: number;
	/** Bytes behind it that are not whole; whether they will be, a writer knows. */
	readonly torn: readonly TornTail[];
	/** Why more may be durable than `seq`; absent when nothing says so. */
	readonly behind?: Behind;
	/** Absent: what the engine's caps say. */
	readonly place?: Place;
}

/** Bytes after the last sound record, none of them acknowledged. */
export interface TornTail {
	/** The seq that the first of them would have had. */
	readonly seq: Seq;
	readonly bytes: number;
	readonly sha256: string;
	/** Where they are kept now; absent for a reader, who leaves them where they are. */
	readonly keptIn?: string;
}

/**
 * Bytes under a name: snapshots, results that are too large for a record. Not fenced: they mean nothing until a record
 * names them. A name is parts of letters, digits, `.`, `_` and `-`, divided by `/`.
 */
export interface BlobStore {
	/**
	 * Copies the bytes before it waits for anything. Durable when it resolves, and whole: a crash leaves the old bytes or the new ones. Of several at once under one name,
	 * any may be the last.
	 */
	put(name: string, bytes: Uint8Array): Promise<void>;
	/**
	 * Undefined when there is none. What a `put` that was cut has left may be there, and not be durable.
	 *
	 * @param limit more bytes were never put there: a store may refuse a larger blob with `WAL_TOO_LARGE`, instead of reading it
	 */
	get(name: string, limit?: number): Promise<Uint8Array | undefined>;
	/** In bytes, without reading them; undefined when there is none. Absent: read it. */
	size?(name: string): Promise<number | undefined>;
	/** The names that begin so, in order. */
	list(prefix: string): Promise<readonly string[]>;
	/** Durable when it resolves. Does nothing when there is none. */
	delete(name: string): Promise<void>;
	/** May what lies here be taken away? Where not, it may be somebody else's, and `delete` does nothing. Absent: it may. */
	isOwn?(): Promise<boolean>;
}
