/** Finds a record in a segment without reading what is before it: each line says its seq, so the bytes can be bisected. */
import type { DiskFile } from "../disk/disk.ts";
import type { Seq } from "../record/record.ts";
import { LineReader } from "./lines.ts";

/** What is read to find a line: two or three of the usual. A longer one makes it read on. */
const PROBE_BYTES = 4 * 1024;

/** A place where a line starts, and the seq that is expected there. */
export interface Place {
	readonly seq: Seq;
	readonly offset: number;
}

/** So few records are read over sooner than they are probed for. */
const NEAR = 4;

/**
 * A place at or before the record of a seq, and not far before: reading on from it finds the record, if it is there. By
 * turns it looks where the record should lie if all were of one length, and in the middle, so that uneven lengths cost no
 * more than twice a bisection (as interpolation-sequential search: Gonnet and Rogers, "The interpolation-sequential search
 * algorithm", 1977).
 *
 * @param beyond a place behind it, as far as is known: where it is wrong, the place that is given lies further before
 */
export function seek(file: DiskFile, start: Place, beyond: Place, seq: Seq): Place {
	let before = start;
	let after: Place = { seq: beyond.seq, offset: Math.min(beyond.offset, file.size()) };
	let isGuess = true;
	const buffer = Buffer.allocUnsafe(PROBE_BYTES);
	while (seq - before.seq > NEAR && after.offset - before.offset > PROBE_BYTES) {
		const share = isGuess ? (seq - before.seq) / (after.seq - before.seq) : 0.5;
		const span = after.offset - before.offset;
		// Half a probe less, to come down before it and not behind.
		const from = before.offset + Math.floor(Math.min(Math.max(share, 0), 1) * span - PROBE_BYTES / 2);
		const at = Math.max(from, before.offset + 1);
		const found = firstSound(file, at, after.offset, buffer);
		if (found && found.seq <= seq) before = found;
		else after = { seq: found?.seq ?? after.seq, offset: at };
		isGuess = !isGuess;
	}
	return before;
}

/** The first record after an offset that is sound in itself; of the line that stands there the start is unknown. */
function firstSound(file: DiskFile, from: number, end: number, buffer: Buffer): Place | undefined {
	const lines = new LineReader(file, from, buffer);
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
