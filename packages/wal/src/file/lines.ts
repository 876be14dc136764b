import type { FileHandle } from "node:fs/promises";

const CHUNK_BYTES = 1024 * 1024;
const NEWLINE = 0x0a;

/** A line of a file, its newline left out. */
export interface Line {
	readonly bytes: Buffer;
	/** Where it starts in the file. */
	readonly offset: number;
	/** False for a last line that has no newline. */
	readonly complete: boolean;
}

/** The lines of a file from an offset on, read in chunks of 1 MiB: a log may be larger than the longest string. */
export async function* readLines(file: FileHandle, from: number): AsyncGenerator<Line> {
	const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
	let rest: Buffer = Buffer.alloc(0);
	let offset = from;
	for (let position = from; ; ) {
		const { bytesRead } = await file.read(chunk, 0, CHUNK_BYTES, position);
		if (bytesRead === 0) break;
		position += bytesRead;
		const fresh = chunk.subarray(0, bytesRead);
		const data = rest.length === 0 ? Buffer.from(fresh) : Buffer.concat([rest, fresh]);
		let start = 0;
		for (let end = data.indexOf(NEWLINE); end !== -1; end = data.indexOf(NEWLINE, start)) {
			yield { bytes: data.subarray(start, end), offset: offset + start, complete: true };
			start = end + 1;
		}
		rest = data.subarray(start);
		offset += start;
	}
	if (rest.length > 0) yield { bytes: rest, offset, complete: false };
}
