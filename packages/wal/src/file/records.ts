/** The records of a segment that are sound in themselves, wherever they stand: for tools that go on where a reader stops. */
import { type Decoded, decodeLine, type StoredRecord } from "../codec.ts";
import type { Disk, DiskFile } from "../disk.ts";
import { readLines } from "./lines.ts";
import { isPadding } from "./scan.ts";

/** A line that is no padding, and what it says. */
export interface CheckedLine {
	readonly bytes: Buffer;
	readonly offset: number;
	/** Where the next line starts. */
	readonly end: number;
	readonly decoded: Decoded;
}

export function* checkedLines(file: DiskFile, from = 0): Generator<CheckedLine> {
	for (const { bytes, offset, complete } of readLines(file, from)) {
		if (isPadding(bytes)) continue;
		yield { bytes, offset, end: offset + bytes.length + (complete ? 1 : 0), decoded: decodeLine(bytes) };
	}
}

export interface RecordLine extends CheckedLine {
	readonly record: StoredRecord;
}

export function* recordLines(file: DiskFile, from = 0): Generator<RecordLine> {
	for (const line of checkedLines(file, from))
		if (line.decoded.type === "record") yield { ...line, record: line.decoded.record };
}

/** What `use` makes of a file that is open to be read for so long. */
export function withFile<T>(disk: Disk, path: string, use: (file: DiskFile) => T): T {
	const file = disk.open(path, "read");
	try {
		return use(file);
	} finally {
		file.close();
	}
}
