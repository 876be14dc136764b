/** No engine is trusted: what one gives is checked again. */
import { WalError } from "./errors.ts";
import type { StoredRecord } from "./record/codec.ts";
import type { Seq } from "./record/record.ts";
import { areChecked } from "./record/stored-records.ts";

/** The same batches: each record has to be the next one, and to say so itself. @throws WalError `WAL_CORRUPT` */
export async function* inOrder(
	batches: AsyncIterable<readonly StoredRecord[]>,
	after: Seq,
): AsyncGenerator<readonly StoredRecord[]> {
	let reached = after;
	let crc: string | undefined;
	for await (const records of batches) {
		if (!areChecked(records)) throw unchecked(reached);
		for (const record of records) {
			if (record.seq !== reached + 1 || (crc !== undefined && record.prev !== crc)) throw misplaced(record, reached);
			reached = record.seq;
			crc = record.crc;
		}
		yield records;
	}
}

function unchecked(reached: Seq): WalError {
	const text = `the engine gave records behind seq ${reached} that nobody has checked; an engine gives what storedRecords of @reyn/wal/engine makes of its lines`;
	return new WalError("WAL_CORRUPT", text, { seq: reached + 1 });
}

function misplaced({ seq }: StoredRecord, reached: Seq): WalError {
	return new WalError(
		"WAL_CORRUPT",
		`seq ${seq} does not follow seq ${reached}, behind which it was read. verifyLog says what is whole`,
		{ seq: reached + 1, found: seq },
	);
}
