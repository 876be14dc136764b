/** The writer of a log's files: takes the lock, recovers, appends, seals. Synchronous, so that a test can stop it anywhere. */
import { createHash } from "node:crypto";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { type Disk, type DiskFile, type DiskLock, readAt, writeAll } from "../disk/disk.ts";
import { isFull } from "../disk/full.ts";
import type { Owner, Place, TornTail } from "../engine/engine.ts";
import { seqMismatch } from "../engine/engine-errors.ts";
import { codeOf, WalError } from "../errors.ts";
import {
	type Base,
	encodeBase,
	encodeFooter,
	encodeHead,
	encodeHeader,
	type Head,
	hex,
	type SegmentHeader,
} from "../record/codec.ts";
import type { Seq } from "../record/record.ts";
import type { Follows } from "../record/wal-records.ts";
import { atomicWriteTo, makeDirectories, renameOver, syncEntry } from "./atomic-write.ts";
import { type Decision, decide } from "./decide.ts";
import { lockedBehindOurBack, readHolder, refusal } from "./messages.ts";
import {
	activePath,
	basePath,
	brokenPath,
	brokenSeq,
	headPath,
	isTemporary,
	lockPath,
	sealedFirsts,
	sealedPath,
} from "./names.ts";
import type { LogFileOptions } from "./options.ts";
import { placeOn } from "./place.ts";
import { withFile } from "./records.ts";
import { type BadLine, type Scan, sumOf } from "./scan.ts";
import { readLogId, type Survey, survey } from "./survey.ts";
import { assertNoNetwork, assertSound, lockOn } from "./trial.ts";

/** What a new log starts with. */
export interface Fresh {
	readonly log: string;
	readonly salt: string;
	readonly now: number;
}

export interface OpenedFile {
	readonly header: SegmentHeader;
	/** The last record; the header's `prev` when there is none. */
	readonly tail: { readonly seq: Seq; readonly crc: string };
	readonly epoch: number;
	/** The first seq of the oldest segment. */
	readonly first: Seq;
	/** First seq of each sealed segment, oldest first. */
	readonly sealed: readonly Seq[];
	/** As in `OpenLog`. */
	readonly torn: readonly TornTail[];
	readonly place: Place;
	/** Of a log that was made just now. */
	readonly follows?: Follows;
}

const NEWLINE = 0x0a;

/** A segment says what the one before it says. */
const adoptedAs = (header: SegmentHeader | undefined): Pick<SegmentHeader, "adopted"> =>
	header?.adopted === undefined ? {} : { adopted: header.adopted };

export class LogFile {
	readonly #disk: Disk;
	readonly #directory: string;
	readonly #options: LogFileOptions;
	readonly #lock: DiskLock;
	#active!: DiskFile;
	readonly #place: Place;
	/** Open, and locked, for as long as the log is; undefined until a new log has one. */
	#head: DiskFile | undefined;
	#header!: SegmentHeader;
	#tail!: { seq: Seq; crc: string };
	/** The directory's, when the files were last seen to be ours. */
	#version: string | undefined;
	/** Where the next record goes, and the CRC-32 of all before it. */
	#end = 0;
	#sum = 0;
	/** The last bytes before that: the checksum of the last line, and its newline. */
	#trailer: Buffer = Buffer.alloc(0);
	/** How far the file reaches; what is after `#end` is padding. */
	#allocated = 0;
	/** The first seqs of the sealed segments, oldest first. */
	#sealed: Seq[] = [];
	/** Undefined when nothing was ever taken away. */
	#base: Base | undefined;
	/** When this writer opened the log; segments that it makes say so. */
	#opening = 0;
	/** The epoch of this writer, and of the last one that has written. */
	#epoch = 0;
	#written = 0;
	/** The header of the next segment, after the last one was sealed and before there was space for it. */
	#next: SegmentHeader | undefined;
	/** A write or a sync has failed: nothing is known of the file any more, so nothing more is done to it. */
	#broken = false;

	private constructor(disk: Disk, directory: string, options: LogFileOptions, lock: DiskLock, place: Place) {
		this.#disk = disk;
		this.#directory = directory;
		this.#options = options;
		this.#lock = lock;
		this.#place = place;
	}

	/**
	 * Takes the lock, and nothing else. It is on `wal.lock`, which people remove by hand, and on `wal.head`, so that a lock
	 * file that is gone lets nobody in. @throws WalError `WAL_LOCKED`, `WAL_IO`
	 */
	static lock(disk: Disk, directory: string, options: LogFileOptions, owner: Owner): LogFile {
		makeDirectories(disk, directory);
		syncEntry(disk, directory);
		const found = disk.fileSystem(directory);
		if (!options.allowNetwork) assertNoNetwork(found, directory);
		const lock = lockOn(disk, lockPath(directory), JSON.stringify(owner), options.allowNetwork ? undefined : found);
		if ("heldBy" in lock) throw readHolder(lock.heldBy, lockPath(directory));
		const file = new LogFile(disk, directory, options, lock, placeOn(found));
		try {
			if (!options.allowNetwork) assertSound(disk, directory, found);
			if (disk.identity(headPath(directory)) !== undefined) file.#head = file.#lockHead("write");
		} catch (error) {
			file.abandon();
			throw error;
		}
		return file;
	}

	#lockHead(how: "write" | "create"): DiskFile {
		const head = this.#disk.open(headPath(this.#directory), how);
		let isLocked = false;
		try {
			isLocked = head.tryLock();
		} finally {
			if (!isLocked) head.close();
		}
		if (!isLocked) throw lockedBehindOurBack(lockPath(this.#directory));
		return head;
	}

	/** The id of the log that is there, if one is. */
	logId(): string | undefined {
		return readLogId(this.#disk, this.#directory);
	}

	/**
	 * Recovers the log and makes it ready to be appended to. What it gives back is durable. Stopped anywhere and run again,
	 * it comes to the same.
	 *
	 * @throws WalError `WAL_CORRUPT`, `WAL_NEWER_FORMAT`; nothing is changed then
	 */
	recover(proven: Seq, fresh: Fresh): OpenedFile {
		const opened = this.#recover(proven, fresh);
		const { adopt } = this.#options;
		return adopt === undefined ? opened : this.#adopt(adopt, opened);
	}

	/**
	 * What was sealed before keeps what it says. The base comes first, so that no log that says whose it is has one that does
	 * not; what it passes over before that, or a cut between the two would leave a base that may not pass anything over.
	 */
	#adopt(adopted: string, opened: OpenedFile): OpenedFile {
		if (this.#base) {
			this.#removeBefore(this.#base.first);
			this.#writeBase({ ...this.#base, adopted });
		}
		if (this.#tail.seq >= this.#header.first) this.#seal();
		else {
			this.#active.close();
			this.#next = this.#header;
		}
		this.#next = { ...(this.#next as SegmentHeader), adopted };
		this.#beginNext();
		return { ...opened, header: this.#header, sealed: [...this.#sealed] };
	}

	#recover(proven: Seq, fresh: Fresh): OpenedFile {
		this.#opening = fresh.now;
		const found = survey(this.#disk, this.#directory, "quick");
		const decision = decide(found, proven);
		const sealed = found.sealed.map(({ header }) => header.first);
		const first = sealed[0];
		if (decision.kind === "refuse") throw refusal(decision, this.#directory);
		if (decision.kind !== "fresh") assertRoom(decision, this.#directory);
		this.#base = typeof found.base === "object" ? found.base : undefined;
		this.#clean();
		switch (decision.kind) {
			case "fresh": {
				const { follows } = this.#options;
				const begins = (follows?.seq ?? 0) + 1;
				// The base comes first: without it a segment that begins later is refused.
				if (begins > 1) this.#writeBase({ log: fresh.log, first: begins });
				this.#begin({ log: fresh.log, first: begins, prev: fresh.salt, epoch: 0, created: fresh.now });
				return { ...this.#opened(sealed, first ?? begins, 0, []), ...(follows && { follows }) };
			}
			case "begin": {
				// The rename that sealed the last segment may not be durable, and what begins now takes the name that it had.
				this.#disk.syncDirectory(this.#directory);
				this.#begin({
					...decision.header,
					epoch: decision.epoch,
					created: fresh.now,
					...adoptedAs(found.sealed.at(-1)?.header),
				});
				const { first: next } = this.#header;
				// An opening that took the log over seals before its first record.
				const torn = this.#unrecorded({ header: this.#header, next, kept: [], openings: [] }, found);
				return this.#opened(sealed, first ?? next, decision.epoch, torn);
			}
			case "seal": {
				const { scan } = decision;
				const header = scan.header as SegmentHeader;
				// Padding may follow the footer, and nothing of it all may be durable yet. The head says where a record ends, and
				// stays as it is until there is a segment that has no footer.
				this.#take(scan, found.head);
				const torn = this.#unrecorded(scan, found);
				this.#active.close();
				this.#renameSealed(header.first);
				const { next, prev, epoch } = scan;
				this.#begin({ log: header.log, first: next, prev, epoch, created: fresh.now, ...adoptedAs(header) });
				return this.#opened([...sealed, header.first], first ?? header.first, scan.epoch, torn);
			}
			case "open": {
				const { scan, torn } = decision;
				const aside = torn && this.#setAside(torn, scan);
				this.#take(scan, found.head);
				this.#syncHead();
				const all = this.#unrecorded(scan, found, aside);
				return this.#opened(sealed, first ?? this.#header.first, scan.epoch, all);
			}
		}
	}

	/**
	 * Stores whole lines behind `expect`; they are durable when this returns. Gives the first seq of the segment that they are in. After `WAL_FULL` nothing of them is stored, and the same may be
	 * tried again; after any other error nothing is known, and nothing may follow.
	 */
	append(bytes: Buffer, expect: Seq, count: number): Seq {
		if (expect !== this.#tail.seq) throw seqMismatch(expect, this.#tail.seq);
		try {
			return this.#append(bytes, expect + count);
		} catch (error) {
			// Not even a later sync: it could succeed, and pass what was lost off as durable.
			this.#broken = codeOf(error) !== "WAL_FULL";
			throw error;
		}
	}

	#append(bytes: Buffer, last: Seq): Seq {
		if (!this.#next) {
			this.#assertUntouched();
			if (this.#end + bytes.length > this.#options.segmentBytes && this.#tail.seq >= this.#header.first) this.#seal();
		}
		this.#beginNext();
		this.#allocate(bytes.length);
		this.#makingSpace(() => writeAll(this.#active, bytes, this.#end));
		this.#active.sync();
		this.#end += bytes.length;
		this.#sum = crc32(bytes, this.#sum);
		this.#written = this.#epoch;
		this.#trailer = Buffer.from(bytes.subarray(-TRAILER_BYTES));
		this.#tail = { seq: last, crc: this.#trailer.toString("latin1", 8, 16) };
		this.#allocated = Math.max(this.#allocated, this.#end);
		this.#writeHead();
		return this.#header.first;
	}

	close(): void {
		try {
			if (this.#active && !this.#broken && !this.#next) {
				// What is cut off is padding, or it is not ours.
				this.#assertUntouched();
				this.#active.truncate(this.#end);
				this.#active.sync();
				this.#head?.sync();
			}
		} finally {
			this.abandon();
		}
	}

	/**
	 * Takes whole segments away whose records are all before a seq; gives the first seq that is left. What is kept is
	 * durable before a file goes: cut anywhere, they count no more, and the next time takes the rest away. An opening takes
	 * none: whoever opens the log may yet refuse it.
	 */
	truncateBefore(seq: Seq): Seq {
		const firsts = [...this.#sealed, this.#header.first];
		const first = firsts.findLast((each) => each <= seq) ?? (firsts[0] as Seq);
		if (first !== firsts[0]) {
			this.#writeBase({ log: this.#header.log, first, ...adoptedAs(this.#header) });
			this.#sealed = this.#sealed.filter((each) => each >= first);
		}
		try {
			if (this.#base) this.#removeBefore(this.#base.first);
		} catch {
			// They count no more, whatever is left of them: the next truncation takes that away.
		}
		return first;
	}

	#writeBase(base: Base): void {
		try {
			atomicWriteTo(this.#disk, basePath(this.#directory), Buffer.from(encodeBase(base)), "new");
		} catch (cause) {
			throw isFull(cause) ? this.#full(cause) : cause;
		}
		this.#base = base;
	}

	#removeBefore(first: Seq): void {
		const gone = sealedFirsts(this.#disk.list(this.#directory)).filter((each) => each < first);
		// The base that says so may have been renamed by a process that was killed, and its name not be durable.
		if (gone.length > 0) this.#disk.syncDirectory(this.#directory);
		for (const each of gone) this.#disk.remove(sealedPath(this.#directory, each));
		if (gone.length > 0) this.#disk.syncDirectory(this.#directory);
	}

	/** Lets go of everything as a crash would. */
	abandon(): void {
		this.#active?.close();
		this.#head?.close();
		this.#lock.release();
	}

	#opened(sealed: readonly Seq[], first: Seq, epoch: number, torn: readonly TornTail[]): OpenedFile {
		this.#epoch = epoch + 1;
		this.#sealed = [...sealed];
		return { header: this.#header, tail: this.#tail, epoch, first, sealed, torn, place: this.#place };
	}

	/** Removes what a crash left of files that were being written. */
	#clean(): void {
		for (const name of this.#disk.list(this.#directory))
			if (isTemporary(name)) this.#disk.remove(`${this.#directory}/${name}`);
	}

	/** Makes a new active segment. */
	#begin(header: SegmentHeader): void {
		const line = Buffer.from(encodeHeader(header));
		atomicWriteTo(this.#disk, activePath(this.#directory), line, "new");
		this.#active = this.#disk.open(activePath(this.#directory), "write");
		this.#header = header;
		this.#tail = { seq: header.first - 1, crc: header.prev };
		this.#end = line.length;
		this.#sum = crc32(line);
		this.#written = Math.max(this.#written, header.epoch);
		this.#trailer = line.subarray(-TRAILER_BYTES);
		this.#allocated = line.length;
		this.#syncHead();
	}

	/** Takes over the active segment that is there: what was read from it has to be on the disk before it is shown. */
	#take(scan: Scan, head: Head | undefined): void {
		this.#active = this.#disk.open(activePath(this.#directory), "write");
		this.#header = scan.header as SegmentHeader;
		const isOurs = head?.log === this.#header.log && head.segment === this.#header.first;
		const proven = isOurs ? Math.min(head.offset, scan.end) : 0;
		// A page whose write-back failed may be marked clean: written again, byte for byte, it is synced for certain.
		for (let position = proven; position < scan.end; position += REWRITE_BYTES) {
			writeAll(this.#active, readAt(this.#active, position, Math.min(REWRITE_BYTES, scan.end - position)), position);
		}
		this.#end = scan.end;
		if (scan.unended) {
			writeAll(this.#active, Buffer.from("\n"), scan.end);
			this.#end++;
		}
		this.#active.truncate(this.#end);
		this.#active.sync();
		this.#disk.syncDirectory(this.#directory);
		this.#allocated = this.#end;
		this.#trailer = readAt(this.#active, this.#end - TRAILER_BYTES, TRAILER_BYTES);
		this.#sum = sumOf(this.#active, scan.vouched.offset, this.#end, scan.vouched.sum);
		this.#written = scan.epoch;
		this.#tail = { seq: scan.next - 1, crc: scan.prev };
	}

	/** Copies a torn tail to a file of its own before it is cut: evidence is never destroyed. */
	#setAside({ offset, end }: BadLine, { next, header }: Scan): TornTail {
		const bytes = withFile(this.#disk, activePath(this.#directory), (file) => readAt(file, offset, end - offset));
		const keptIn = brokenPath(this.#directory, next, sha256Of(bytes, header?.adopted));
		atomicWriteTo(this.#disk, keptIn, bytes, "new");
		return { seq: next, bytes: bytes.length, sha256: sha256Of(bytes), keptIn };
	}

	/**
	 * What was set aside and has no record, since the opening that did it was stopped before. It began where the log ends
	 * now, or where a writer began, and its name has the hash of its bytes and of whose the log is: what came here with a copy,
	 * or was put here by whoever the log came from, says nothing of this log.
	 */
	#unrecorded(
		{ header, next, kept, openings }: Pick<Scan, "header" | "next" | "kept" | "openings">,
		{ sealed }: Survey,
		aside?: TornTail,
	): readonly TornTail[] {
		const whose = [header?.adopted];
		// The opening that took the log over may have been stopped before its first record: it named what it set aside before.
		if (next === header?.first) whose.push(sealed.at(-1)?.header.adopted);
		const names = this.#disk
			.list(this.#directory)
			.filter((name) => {
				const seq = brokenSeq(name);
				return seq > 0 && !kept.includes(name) && (seq === next || openings.includes(seq));
			})
			.slice(0, MAX_UNRECORDED);
		const found = aside ? [aside] : [];
		let room = MAX_UNRECORDED_BYTES;
		for (const name of names) {
			const keptIn = join(this.#directory, name);
			if (keptIn === aside?.keptIn) continue;
			const bytes = withFile(this.#disk, keptIn, (file) => {
				const size = file.size();
				return size <= room ? readAt(file, 0, size) : undefined;
			});
			if (!bytes) continue;
			room -= bytes.length;
			const seq = brokenSeq(name);
			const isOurs = whose.some((each) => brokenPath(this.#directory, seq, sha256Of(bytes, each)) === keptIn);
			if (isOurs) found.push({ seq, bytes: bytes.length, sha256: sha256Of(bytes), keptIn });
		}
		return found.sort((a, b) => a.seq - b.seq);
	}

	#syncHead(): void {
		const isNew = this.#head === undefined;
		this.#head ??= this.#lockHead("create");
		this.#writeHead();
		this.#head.sync();
		if (isNew) this.#disk.syncDirectory(this.#directory);
	}

	/** Not synced: it only has to survive the process. It never says more than is durable. */
	#writeHead(): void {
		const { log, first } = this.#header;
		writeAll(
			this.#head as DiskFile,
			Buffer.from(
				encodeHead({
					log,
					segment: first,
					seq: this.#tail.seq,
					offset: this.#end,
					sum: hex(this.#sum),
					epoch: this.#written,
				}),
			),
			0,
		);
	}

	#allocate(bytes: number): void {
		if (this.#end + bytes <= this.#allocated) return;
		const step = this.#options.allocateBytes;
		const target = Math.ceil((this.#end + bytes) / step) * step;
		const padding = Buffer.alloc(target - this.#allocated, NEWLINE);
		try {
			writeAll(this.#active, padding, this.#allocated);
		} catch (error) {
			if (!isFull(error)) throw error;
			// There may still be room for the lines themselves.
			this.#giveBack();
			return;
		}
		this.#active.sync();
		this.#allocated = target;
	}

	/** Cuts what is behind the last record. */
	#giveBack(): void {
		this.#active.truncate(this.#end);
		this.#active.sync();
		this.#allocated = this.#end;
	}

	/** A disk that is full is no broken disk: what did not fit is taken back, and the log stays as it was. */
	#makingSpace(write: () => void): void {
		try {
			write();
		} catch (cause) {
			if (!isFull(cause)) throw cause;
			this.#giveBack();
			throw this.#full(cause);
		}
	}

	#full(cause: Error & { readonly code: string }): WalError {
		const path = activePath(this.#directory);
		return new WalError(
			"WAL_FULL",
			`the disk is full (${cause.code}): nothing was added to ${path}. Free some space; what waits is written then`,
			{ code: cause.code, path },
			{ cause },
		);
	}

	/** A file that grew, shrank or was replaced behind our back has another writer: what we add could destroy its records. */
	#assertUntouched(): void {
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
		if (this.#disk.identity(activePath(this.#directory)) !== this.#active.identity())
			return "it was replaced or removed";
		return this.#disk.identity(headPath(this.#directory)) === this.#head?.identity()
			? undefined
			: "its wal.head was replaced or removed";
	}

	/** Bytes put into the same file, as `cp` does it, change neither its inode nor, in the space allocated ahead, its size. */
	#wasWrittenTo(): string | undefined {
		const last = readAt(this.#active, this.#end - TRAILER_BYTES, TRAILER_BYTES + 1);
		if (!last.subarray(0, TRAILER_BYTES).equals(this.#trailer))
			return `seq ${this.#tail.seq} does not end at byte ${this.#end}`;
		if (this.#allocated > this.#end && last[TRAILER_BYTES] !== NEWLINE) return `byte ${this.#end} was written to`;
		return readAt(this.#active, this.#allocated - 1, 2).length === 1
			? undefined
			: `it does not end at byte ${this.#allocated}`;
	}

	/** Ends the active segment with its footer, gives it its name, and begins the next. */
	#seal(): void {
		const { log, first } = this.#header;
		const { seq: last, crc } = this.#tail;
		const footer = Buffer.from(encodeFooter({ first, last, prev: crc, epoch: this.#written }));
		this.#makingSpace(() => writeAll(this.#active, footer, this.#end));
		this.#active.truncate(this.#end + footer.length);
		this.#active.sync();
		this.#head?.sync();
		this.#active.close();
		const next = { log, first: last + 1, prev: crc, epoch: this.#epoch, created: this.#opening };
		this.#next = { ...next, ...adoptedAs(this.#header) };
		this.#renameSealed(first);
		this.#sealed.push(first);
	}

	/** Begins the segment that a seal made necessary. A disk that is full leaves it for the next try. */
	#beginNext(): void {
		if (!this.#next) return;
		try {
			this.#begin(this.#next);
		} catch (cause) {
			throw isFull(cause) ? this.#full(cause) : cause;
		}
		this.#next = undefined;
	}

	#renameSealed(first: Seq): void {
		renameOver(this.#disk, activePath(this.#directory), sealedPath(this.#directory, first));
		this.#disk.syncDirectory(this.#directory);
	}
}

/** @param adopted goes before the bytes, where there is one */
function sha256Of(bytes: Uint8Array, adopted = ""): string {
	return createHash("sha256").update(adopted).update(bytes).digest("hex");
}

/** What is read to find torn tails without a record: a crash leaves one, anybody else may leave any number of gigabytes. */
const MAX_UNRECORDED = 1000;
const MAX_UNRECORDED_BYTES = 128 * 1024 * 1024;

/** No log that Reyn wrote comes near: behind it neither a seq nor an epoch could be told from the next one. */
const MAX_NUMBER = 2 ** 52;

/** @throws WalError `WAL_CORRUPT` where the next record could not be read again */
function assertRoom(decision: Extract<Decision, { kind: "begin" | "seal" | "open" }>, directory: string): void {
	const [seq, epoch] =
		decision.kind === "begin" ? [decision.header.first, decision.epoch] : [decision.scan.next, decision.scan.epoch];
	if (seq < MAX_NUMBER && epoch < MAX_NUMBER) return;
	const path = activePath(directory);
	throw new WalError(
		"WAL_CORRUPT",
		`${path} takes no more records: its next seq is ${seq}, and the epoch of its last writer ${epoch}; expected less than ${MAX_NUMBER} for both, and no Reyn comes so far. Nothing was changed. It can be looked at; to go on, begin in another directory`,
		{ path, seq, epoch },
	);
}

const REWRITE_BYTES = 1024 * 1024;

/** `,"crc":"1a2b3c4d"}` and a newline. */
const TRAILER_BYTES = 19;
