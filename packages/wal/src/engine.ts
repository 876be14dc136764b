/** The port between the log and where its bytes lie. An engine stores whole lines and knows nothing of what they mean. */
import type { StoredRecord } from "./codec.ts";
import type { Seq } from "./record.ts";

export interface LogEngine {
	/**
	 * Opens the log, and makes it when it is not there (a reader never does: it throws `WAL_IO`). A writer takes the lock
	 * first, then cuts and sets aside a torn tail; what it finds is durable when this resolves. A reader takes no lock,
	 * changes nothing and sees what is known to be durable.
	 */
	open(options: OpenEngine): Promise<OpenLog>;
}

export interface OpenEngine {
	readonly readOnly: boolean;
	/** What a new log is made with: its id, the salt that its first record follows, and the time. */
	readonly fresh: { readonly log: string; readonly salt: string; readonly now: number };
	/** The highest seq that something outside proves to have been durable in the log of this id; 0 for none. */
	proven(logId: string): Promise<Seq>;
}

/** An opened log. One writer, one call of `append` at a time. */
export interface OpenLog {
	readonly id: string;
	/** The first seq that the log still has. */
	readonly first: Seq;
	/** The last record; with none, the seq before the first one and what that one's `prev` has to be. */
	readonly tail: { readonly seq: Seq; readonly crc: string };
	/** The epoch of the last writer; 0 when there was none. */
	readonly epoch: number;
	/**
	 * The torn tails that were set aside and that no record names yet: the one of this opening, and any of an opening that
	 * came no further. A reader sets nothing aside, and has the one that is there.
	 */
	readonly torn: readonly TornTail[];
	/**
	 * Stores the lines in order; resolves when they are durable. After `WAL_FULL` none of them is stored, and the same may
	 * be tried again. After any other failure nothing is known, and nothing may be written any more.
	 */
	append(batch: Batch): Promise<void>;
	/** The stored records after a seq, in order, some at a time. A gap or an unsound line is `WAL_CORRUPT`, never skipped. */
	read(after: Seq): AsyncIterable<readonly StoredRecord[]>;
	close(): Promise<void>;
}

export interface Batch {
	readonly first: Seq;
	readonly last: Seq;
	/** The crc of the last record. */
	readonly crc: string;
	readonly lines: readonly string[];
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
