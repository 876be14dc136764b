/** Finds a record in a segment without reading what is before it: each line says its seq, so the bytes can be bisected. */
import type { DiskFile } from "../disk.ts";
import type { Seq } from "../record.ts";
import { LineReader } from "./lines.ts";

/** What is read to find a line: two or three of the usual. A longer one makes it read on. */
const PROBE_BYTES = 4 * 1024;

/** A place where a line starts, and the seq that is expected there. */
export interface Place {
	readonly seq: Seq;
	readonly offset: number;
}

/** A place at or before the record of a seq, and not far before: reading on from it finds the record, if it is there. */
export function seek(file: DiskFile, start: Place, seq: Seq): Place {
	let before = start;
	if (seq === start.seq) return start;
	for (let end = file.size(); end - before.offset > PROBE_BYTES; ) {
		const middle = Math.floor((before.offset + end) / 2);
		const found = firstSound(file, middle, end);
		if (found && found.seq <= seq) before = found;
		else end = middle;
	}
	return before;
}

/** The first record after an offset that is sound in itself; of the line that stands there the start is unknown. */
function firstSound(file: DiskFile, from: number, end: number): Place | undefined {
	const lines = new LineReader(file, from, PROBE_BYTES);
	let isFirst = true;
	while (lines.fill()) {
		while (lines.next()) {
			if (lines.offset >= end) return undefined;
			const peek = isFirst ? undefined : lines.peek();
			if (peek) return { seq: peek.seq, offset: lines.offset };
			isFirst = false;
		}
	}
	return undefined;
}
