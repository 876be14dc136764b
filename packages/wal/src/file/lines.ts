/** The lines of a file of the log, a chunk at a time. */
import { isAscii } from "node:buffer";
import type { DiskFile } from "../disk/disk.ts";
import type { Wants } from "../engine/engine.ts";
import { type Decoded, decodeLine, MAX_LINE_BYTES } from "../record/codec.ts";
import { RecordLine } from "../record/record-line.ts";

/** What is read at a time. As text it is no large object to V8, and what is made of it dies young. */
export const CHUNK_BYTES = 64 * 1024;

const NEWLINE = 0x0a;

/**
 * A cursor over the lines of a file, from an offset on. A log may be larger than the longest string, so it is read in
 * chunks; a log has millions of lines, so no object is made for one. `fill` reads a chunk, `next` goes through the lines
 * that end in it:
 *
 *     while (lines.fill()) while (lines.next()) use(lines.decode());
 */
export class LineReader {
	readonly #file: DiskFile;
	#buffer: Buffer;
	/** Where the buffer starts in the file, and how much of it is filled. */
	#base: number;
	#filled = 0;
	/** What is filled as text, a character a byte: `undefined` before somebody asks, `null` when it is not all ASCII. */
	#text: string | null | undefined;
	#start = 0;
	#end = 0;
	/** Where the next line starts. */
	#rest = 0;
	#complete = false;
	#atEnd = false;
	readonly #record = new RecordLine();

	/** @param buffer what is read at a time goes there; a longer line gets a larger one */
	constructor(file: DiskFile, from: number, buffer: Buffer = Buffer.allocUnsafe(CHUNK_BYTES)) {
		this.#file = file;
		this.#base = from;
		this.#buffer = buffer;
	}

	/** Reads on; false at the end of the file, when there are no more lines. */
	fill(): boolean {
		if (this.#atEnd) return false;
		this.#makeRoom();
		const read = this.#file.read(this.#buffer.subarray(this.#filled), this.#base + this.#filled);
		this.#filled += read;
		this.#atEnd = read === 0;
		this.#text = undefined;
		return this.#filled > 0;
	}

	/** Goes to the next line that ends in what was read; at the end of the file to the last one, though it has no newline. */
	next(): boolean {
		const start = this.#rest;
		const at = this.#buffer.indexOf(NEWLINE, start);
		const isWhole = at !== -1 && at < this.#filled;
		const end = isWhole ? at : this.#filled;
		// No line is longer than the longest: of what has no end a piece is taken, and is found to be none.
		const isPiece = !isWhole && end - start === MAX_LINE_BYTES;
		if (!isWhole && !isPiece && (!this.#atEnd || end === start)) return false;
		this.#complete = isWhole || isPiece;
		this.#start = start;
		this.#end = end;
		this.#rest = isWhole ? end + 1 : end;
		// Blank lines in a row are one: there may be a million of them.
		if (end === start) while (this.#rest < this.#filled && this.#buffer[this.#rest] === NEWLINE) this.#rest++;
		return true;
	}

	/** Moves what is left to the front; a line that fills the buffer gets a larger one. */
	#makeRoom(): void {
		const left = this.#buffer.subarray(this.#rest, this.#filled);
		if (left.length === this.#buffer.length) {
			this.#buffer = Buffer.allocUnsafe(Math.min(2 * left.length, MAX_LINE_BYTES));
			this.#buffer.set(left);
		} else this.#buffer.copyWithin(0, this.#rest, this.#filled);
		this.#base += this.#rest;
		this.#filled = left.length;
		this.#rest = 0;
	}

	/** Where the line starts in the file. */
	get offset(): number {
		return this.#base + this.#start;
	}

	/** Where it ends, its newline left out. */
	get end(): number {
		return this.#base + this.#end;
	}

	/** Where the next line starts. */
	get after(): number {
		return this.#base + this.#rest;
	}

	/** False for a last line that has no newline. */
	get complete(): boolean {
		return this.#complete;
	}

	/** Blank lines are space that was allocated ahead; a crash while it was may have left NULs there. */
	get isPadding(): boolean {
		for (let i = this.#start; i < this.#end; i++) if (this.#buffer[i] !== 0) return false;
		return true;
	}

	/** The line itself; the next `fill` changes it. */
	get bytes(): Buffer {
		return this.#buffer.subarray(this.#start, this.#end);
	}

	/** @param wants of records that it refuses, the data is left out where that saves work */
	decode(wants?: Wants): Decoded {
		const record = this.peek()?.record(this.#asText(), wants);
		return record ? { type: "record", record } : decodeLine(this.#buffer, this.#start, this.#end);
	}

	/** What the line of a record says of its place in the log, without its data being parsed; undefined when only `decode` can tell. */
	peek(): RecordLine | undefined {
		return this.#record.read(this.#buffer, this.#start, this.#end) ? this.#record : undefined;
	}

	#asText(): string | undefined {
		if (this.#text === undefined) {
			const filled = this.#buffer.subarray(0, this.#filled);
			this.#text = isAscii(filled) ? filled.toString("latin1") : null;
		}
		return this.#text ?? undefined;
	}
}
