/** The port between the log and where its bytes lie. An engine stores whole lines and knows nothing of what they mean. */
import type { LogHeader, StoredRecord } from "./codec.ts";
import type { Seq } from "./record.ts";

export interface LogEngine {
	/**
	 * Opens the log, and makes it when it is not there (a reader never does: it throws `WAL_IO`). A writer takes the lock
	 * first, then cuts and sets aside a torn tail; what it finds is durable when this resolves. A reader takes no lock,
	 * changes nothing and sees the log up to its first unsound line.
	 */
	open(options: OpenEngine): Promise<OpenLog>;
}

export interface OpenEngine {
	readonly readOnly: boolean;
	/** The header to write when there is no log yet. */
	readonly header: LogHeader;
	/** Called for each record while the log is checked, oldest first. */
	readonly seen: (record: StoredRecord) => void;
}

/** An opened log. One writer, one call of `append` at a time. */
export interface OpenLog {
	readonly header: LogHeader;
	/** The torn tail that was set aside, if there was one. */
	readonly torn?: TornTail;
	/** Stores the lines in order; resolves when they are durable. After a failure nothing is known and nothing may be written again. */
	append(first: Seq, lines: readonly string[]): Promise<void>;
	/** The stored records after a seq, in order. A gap or an unsound line is `WAL_CORRUPT`, never skipped. */
	read(after: Seq): AsyncIterable<StoredRecord>;
	close(): Promise<void>;
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
