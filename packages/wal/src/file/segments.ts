/** Reading: from any seq on, across sealed segments and the active one, without the beginning. */

import type { Disk, DiskFile } from "../disk/disk.ts";
import type { Wants } from "../engine/engine.ts";
import { truncated } from "../engine/engine-errors.ts";
import { codeOf, WalError } from "../errors.ts";
import type { SegmentHeader, StoredRecord } from "../record/codec.ts";
import type { Seq } from "../record/record.ts";
import { asChecked } from "../record/stored-records.ts";
import { CHUNK_BYTES, LineReader } from "./lines.ts";
import { asWalError } from "./messages.ts";
import { activePath, sealedPath } from "./names.ts";
import { type Place, seek } from "./seek.ts";
import { readFirst, readHead } from "./survey.ts";

/** Which records of a segment, and which is the first of the next segment, if there is one. */
interface Wanted {
	readonly from: Seq;
	readonly through: Seq;
	readonly following: Seq | undefined;
	readonly wants: Wants | undefined;
}

export class Segments {
	readonly #disk: Disk;
	readonly #directory: string;
	/** First seqs, oldest first; the last one is the active segment. */
	readonly #firsts: Seq[];
	/** Of a reading that is over: thousands of short ones would each leave one to be collected, and that stops everything. */
	#spare: Buffer | undefined;
	/** Segments that begin before it may go at any time. */
	#going: Seq = 0;

	constructor(disk: Disk, directory: string, { header, sealed }: { header: SegmentHeader; sealed: readonly Seq[] }) {
		this.#disk = disk;
		this.#directory = directory;
		this.#firsts = sealed.includes(header.first) ? [...sealed] : [...sealed, header.first];
	}

	/** Takes note of the segment that a batch went to. */
	wrote(segment: Seq): void {
		if (this.#firsts.at(-1) !== segment) this.#firsts.push(segment);
	}

	/** Takes note that segments are about to go that have only records before a seq. */
	truncating(before: Seq): void {
		this.#going = Math.max(this.#going, this.#firsts.findLast((first) => first <= before) ?? 0);
	}

	/** Takes note that segments before the one that begins at `first` are gone. */
	truncated(first: Seq): void {
		this.#firsts.splice(0, this.#firsts.indexOf(first));
	}

	/** @throws WalError `WAL_CORRUPT` at the first line that does not check out, `WAL_IO` */
	async *read(after: Seq, through: Seq, wants?: Wants): AsyncGenerator<readonly StoredRecord[]> {
		try {
			if (after < through) yield* this.#read(after, through, wants);
		} catch (error) {
			throw asWalError(error, "read", this.#directory);
		}
	}

	async *#read(after: Seq, through: Seq, wants: Wants | undefined): AsyncGenerator<readonly StoredRecord[]> {
		let next = after + 1;
		for (;;) {
			// Anew each time: a truncation meanwhile takes some from the front.
			const oldest = this.#firsts[0] as Seq;
			if (next < oldest) throw truncated(next, oldest);
			const i = this.#firsts.findLastIndex((each) => each <= next);
			const first = this.#firsts[i] as Seq;
			const following = this.#firsts[i + 1];
			for await (const records of this.#readSegment(first, { from: next, through, following, wants })) {
				yield records;
				next = (records.at(-1) as StoredRecord).seq + 1;
				if (next > through) return;
			}
			if (following !== undefined && next !== following)
				throw this.#corrupt(sealedPath(this.#directory, first), 0, next, `it ends before seq ${following}`);
			if (this.#firsts.at(-1) === first) return;
		}
	}

	async *#readSegment(
		first: Seq,
		{ from, through, following, wants }: Wanted,
	): AsyncGenerator<readonly StoredRecord[]> {
		const { file, path } = this.#open(first);
		const buffer = this.#spare ?? Buffer.allocUnsafe(CHUNK_BYTES);
		this.#spare = undefined;
		try {
			const beyond = following === undefined ? this.#tip(first) : { seq: following, offset: file.size() };
			const start = seek(file, { seq: first, offset: 0 }, beyond, from);
			let { seq: next } = start;
			let prev: string | undefined;
			const lines = new LineReader(file, start.offset, buffer);
			while (lines.fill()) {
				const records: StoredRecord[] = [];
				while (lines.next()) {
					const { offset } = lines;
					const decoded = lines.isPadding ? undefined : lines.decode(wants);
					if (
						decoded?.type === "record" &&
						decoded.record.seq === next &&
						(prev === undefined || decoded.record.prev === prev)
					) {
						if (next >= from) records.push(decoded.record);
						next++;
						prev = decoded.record.crc;
						if (next <= through) continue;
						yield asChecked(records);
						return;
					}
					if (offset === 0 && decoded?.type === "header") {
						prev = decoded.header.prev;
						continue;
					}
					if (records.length > 0) yield asChecked(records);
					const isEnd =
						decoded === undefined ||
						(decoded.type === "footer" &&
							decoded.footer.last === next - 1 &&
							decoded.footer.prev === (prev ?? decoded.footer.prev));
					// A line that is still being written ends the log for this reader.
					if (isEnd || !lines.complete) return;
					const why = decoded.type === "bad" ? decoded.why : "it does not follow the record before it";
					throw this.#corrupt(path, offset, next, why);
				}
				if (records.length > 0) yield asChecked(records);
				// Other work gets its turn between two chunks.
				await new Promise((resolve) => setImmediate(resolve));
			}
		} finally {
			this.#spare = buffer;
			file.close();
		}
	}

	/** Where the active segment ends, as its head says: without one, somewhere. */
	#tip(segment: Seq): Place {
		const head = readHead(this.#disk, this.#directory);
		const isOf = head?.segment === segment;
		return isOf ? { seq: head.seq + 1, offset: head.offset } : { seq: Number.MAX_SAFE_INTEGER, offset: Infinity };
	}

	/** A segment may be sealed, and so renamed, at any time: its header tells which one was opened. */
	#open(first: Seq): { file: DiskFile; path: string } {
		const paths = [activePath(this.#directory), sealedPath(this.#directory, first)];
		const isActive = this.#firsts.at(-1) === first;
		// Twice: between the two looks it may have been renamed.
		const order = isActive ? paths : paths.reverse();
		for (const path of [...order, ...order]) {
			const file = this.#openIfThere(path);
			if (!file) continue;
			const decoded = readFirst(file);
			if (decoded.type === "header" && decoded.header.first === first) return { file, path };
			file.close();
		}
		if (first < this.#going) throw truncated(first, this.#going);
		throw this.#corrupt(sealedPath(this.#directory, first), 0, first, "the segment is gone");
	}

	#openIfThere(path: string): DiskFile | undefined {
		try {
			return this.#disk.open(path, "read");
		} catch (error) {
			if (codeOf(error) === "ENOENT") return undefined;
			throw error;
		}
	}

	#corrupt(path: string, offset: number, seq: Seq, why: string): WalError {
		return new WalError(
			"WAL_CORRUPT",
			`${path}, byte ${offset}: seq ${seq} cannot be read: ${why}. verifyLog says what is whole`,
			{ path, offset, seq },
		);
	}
}
