/** For engines that keep lines: the records that they are, each checked, and that each follows the one before. */
import { WalError } from "../errors.ts";
import { decodeLine, type StoredRecord } from "./codec.ts";
import type { Seq } from "./record.ts";
import { RecordLine } from "./record-line.ts";

/** Lists of records that this package has checked itself. */
const checked = new WeakSet<readonly StoredRecord[]>();

/** Was each of these records checked against its checksum? What an engine made of its lines by itself was not. */
export const areChecked = (records: readonly StoredRecord[]): boolean => checked.has(records);

/** Says of a list that its records were checked. @returns the same list */
export function asChecked(records: readonly StoredRecord[]): readonly StoredRecord[] {
	checked.add(records);
	return records;
}

/**
 * The only way from stored lines to what `read` and `subscribe` of an engine give.
 *
 * @param first the seq of the first line
 * @throws WalError `WAL_CORRUPT` at the first one that is not what it has to be
 */
export function storedRecords(lines: Iterable<string | Uint8Array>, first: Seq): readonly StoredRecord[] {
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
	return asChecked(records);
}

const corrupt = (seq: Seq, why: string): WalError =>
	new WalError("WAL_CORRUPT", `seq ${seq} cannot be read: ${why}`, { seq });

/** The checksum that a line carries, with its newline or without, without the line being read; `""` of no line. */
export const crcOf = (line: string): string => (line.endsWith("\n") ? line.slice(-11, -3) : line.slice(-10, -2));
