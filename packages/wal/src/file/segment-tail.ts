/** The end of the active segment, in the thread that adds to it: where the next lines go, and what is there before them. */
import { crc32 } from "node:zlib";
import { type Disk, type DiskFile, readAt, writeAll } from "../disk/disk.ts";
import { WalError } from "../errors.ts";
import { encodeHead, hex } from "../record/codec.ts";
import type { Seq } from "../record/record.ts";
import { activePath, headPath } from "./names.ts";

/** What is known of the active segment. One thread knows it at a time, and tells the other when that is to add to it. */
export interface SegmentEnd {
	readonly log: string;
	/** The first seq of the segment. */
	readonly first: Seq;
	/** Its file, as {@link DiskFile.identity} names it. */
	readonly file: string;
	/** The last record, or the one before the segment. */
	readonly seq: Seq;
	readonly crc: string;
	/** Where the next line goes, and the CRC-32 of all before it. */
	readonly end: number;
	readonly sum: number;
	/** The last bytes before that: the checksum of the last line, and its newline. */
	readonly trailer: string;
	/** How far the file reaches; what is after `end` is padding. */
	readonly allocated: number;
	/** The epoch of the last writer that has written. */
	readonly written: number;
}

/** What is known after lines were stored at the end. */
function after(at: SegmentEnd, lines: Buffer, seq: Seq, epoch: number): SegmentEnd {
	const end = at.end + lines.length;
	const trailer = trailerOf(lines);
	const crc = trailer.slice(8, 16);
	const allocated = Math.max(at.allocated, end);
	return { ...at, seq, crc, end, sum: crc32(lines, at.sum), trailer, allocated, written: epoch };
}

export const trailerOf = (lines: Buffer): string => lines.toString("latin1", lines.length - TRAILER_BYTES);

export class SegmentTail {
	readonly #disk: Disk;
	readonly #directory: string;
	readonly file: DiskFile;
	/** Undefined until a new log has one. */
	head: DiskFile | undefined;
	at: SegmentEnd;
	/** The directory's, when the files were last seen to be ours. */
	#version: string | undefined;

	constructor(disk: Disk, directory: string, file: DiskFile, head: DiskFile | undefined, at: SegmentEnd) {
		this.#disk = disk;
		this.#directory = directory;
		this.file = file;
		this.head = head;
		this.at = at;
	}

	/** Takes note that lines were stored at the end, and are durable. */
	stored(lines: Buffer, seq: Seq, epoch: number): void {
		this.at = after(this.at, lines, seq, epoch);
		this.writeHead();
	}

	/** Not synced: it only has to survive the process. It never says more than is durable. */
	writeHead(): void {
		const { log, first, seq, end, sum, written } = this.at;
		const head = encodeHead({ log, segment: first, seq, offset: end, sum: hex(sum), epoch: written });
		writeAll(this.head as DiskFile, Buffer.from(head), 0);
	}

	/**
	 * A file that grew, shrank or was replaced behind our back has another writer: what we add could destroy its records.
	 *
	 * @throws WalError `WAL_CORRUPT`
	 */
	assertUntouched(): void {
		const found = this.#wasReplaced() ?? this.#wasWrittenTo();
		if (found === undefined) return;
		const path = activePath(this.#directory);
		throw new WalError("WAL_CORRUPT", `${path} was changed by another program: ${found}`, { path });
	}

	/** The files themselves are only looked at when something has happened in their directory. */
	#wasReplaced(): string | undefined {
		const version = this.#disk.version(this.#directory);
		if (version !== undefined && version === this.#version) return undefined;
		this.#version = version;
		if (this.#disk.identity(activePath(this.#directory)) !== this.file.identity()) return "it was replaced or removed";
		return this.#disk.identity(headPath(this.#directory)) === this.head?.identity()
			? undefined
			: "its wal.head was replaced or removed";
	}

	/** Bytes put into the same file, as `cp` does it, change neither its inode nor, in the space allocated ahead, its size. */
	#wasWrittenTo(): string | undefined {
		const { seq, end, trailer, allocated } = this.at;
		const last = readAt(this.file, end - TRAILER_BYTES, TRAILER_BYTES + 1);
		if (last.toString("latin1", 0, TRAILER_BYTES) !== trailer) return `seq ${seq} does not end at byte ${end}`;
		if (allocated > end && last[TRAILER_BYTES] !== NEWLINE) return `byte ${end} was written to`;
		return readAt(this.file, allocated - 1, 2).length === 1 ? undefined : `it does not end at byte ${allocated}`;
	}
}

/** What fills the space that is allocated ahead. */
export const NEWLINE = 0x0a;

/** `,"crc":"1a2b3c4d"}` and a newline. */
export const TRAILER_BYTES = 19;
