/** The records of a segment that are sound in themselves, wherever they stand: for tools that go on where a reader stops. */

import type { Disk, DiskFile } from "../disk/disk.ts";
import type { Decoded, StoredRecord } from "../record/codec.ts";
import { LineReader } from "./lines.ts";

/** A line that is no padding, and what it says. */
export interface CheckedLine {
	readonly bytes: Buffer;
	readonly offset: number;
	/** Where the next line starts. */
	readonly end: number;
	readonly decoded: Decoded;
}

export function* checkedLines(file: DiskFile, from = 0): Generator<CheckedLine> {
	const lines = new LineReader(file, from);
	while (lines.fill()) {
		while (lines.next()) {
			if (lines.isPadding) continue;
			const { offset, after: end } = lines;
			yield { bytes: Buffer.from(lines.bytes), offset, end, decoded: lines.decode() };
		}
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
