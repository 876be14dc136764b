/** For engines that keep lines: the records that they are, each checked, and that each follows the one before. */

import { WalError } from "../errors.ts";
import { decodeLine, type StoredRecord } from "./codec.ts";
import type { Seq } from "./record.ts";
import { RecordLine } from "./record-line.ts";

/**
 * @param first the seq of the first line
 * @throws WalError `WAL_CORRUPT` at the first one that is not what it has to be
 */
export function storedRecords(lines: Iterable<string | Uint8Array>, first: Seq): StoredRecord[] {
	const records: StoredRecord[] = [];
	const cursor = new RecordLine();
	let prev: string | undefined;
	for (const line of lines) {
		const seq = first + records.length;
		const bytes = typeof line === "string" ? Buffer.from(line) : Buffer.from(line.buffer, line.byteOffset, line.length);
		const end = bytes.at(-1) === 0x0a ? bytes.length - 1 : bytes.length;
		const record = cursor.read(bytes, 0, end) ? cursor.record(undefined) : undefined;
		const decoded = record ? { type: "record" as const, record } : decodeLine(bytes, 0, end);
		if (decoded.type !== "record")
			throw corrupt(seq, decoded.type === "bad" ? decoded.why : `it is a ${decoded.type} line`);
		if (decoded.record.seq !== seq) throw corrupt(seq, `it is seq ${decoded.record.seq}`);
		if (prev !== undefined && decoded.record.prev !== prev)
			throw corrupt(seq, "it does not follow the record before it");
		prev = decoded.record.crc;
		records.push(decoded.record);
	}
	return records;
}

const corrupt = (seq: Seq, why: string): WalError =>
	new WalError("WAL_CORRUPT", `seq ${seq} cannot be read: ${why}`, { seq });

/** The checksum that a line carries, without the line being read. */
export const crcOf = (line: string): string => line.slice(-11, -3);
