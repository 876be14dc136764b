import type { DiskFile } from "../disk.ts";

export const CHUNK_BYTES = 1024 * 1024;

const NEWLINE = 0x0a;
const EMPTY = Buffer.alloc(0);

/** A line of a file, its newline left out. */
export interface Line {
	readonly bytes: Buffer;
	/** Where it starts in the file. */
	readonly offset: number;
	/** False for a last line that has no newline. */
	readonly complete: boolean;
}

/** Cuts chunks of a file into lines: a log may be larger than the longest string, so it is never read whole. */
export class LineCutter {
	#rest: Buffer[] = [];
	#restBytes = 0;
	#offset: number;

	constructor(offset: number) {
		this.#offset = offset;
	}

	/**
	 * The lines that end in this chunk; blank lines in a row come as one. They are views of it, so it may be filled again
	 * only when they have been used.
	 */
	*cut(chunk: Buffer): Generator<Line> {
		let start = 0;
		for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
			const piece = chunk.subarray(start, end);
			const bytes = this.#restBytes === 0 ? piece : Buffer.concat([...this.#rest, piece]);
			yield { bytes, offset: this.#offset, complete: true };
			this.#offset += bytes.length + 1;
			if (this.#restBytes > 0) {
				this.#rest = [];
				this.#restBytes = 0;
			}
			start = end + 1;
			const run = start;
			while (chunk[start] === NEWLINE) start++;
			if (start > run) yield { bytes: EMPTY, offset: this.#offset, complete: true };
			this.#offset += start - run;
		}
		if (start < chunk.length) {
			this.#rest.push(Buffer.from(chunk.subarray(start)));
			this.#restBytes += chunk.length - start;
		}
	}

	/** What comes after the last newline. */
	*end(): Generator<Line> {
		if (this.#restBytes > 0) yield { bytes: Buffer.concat(this.#rest), offset: this.#offset, complete: false };
	}
}

/** The lines of a file from an offset on. */
export function* readLines(file: DiskFile, from: number): Generator<Line> {
	const cutter = new LineCutter(from);
	const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
	for (let position = from; ; ) {
		const read = file.read(chunk, position);
		if (read === 0) break;
		position += read;
		yield* cutter.cut(chunk.subarray(0, read));
	}
	yield* cutter.end();
}
