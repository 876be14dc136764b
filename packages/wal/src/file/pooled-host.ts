/**
 * A writer of the files whose flushes run in the pool of the process, which a flush reaches and comes back from sooner than a thread of
 * its own. Only what needs one write in space that is there runs in the pool; all else, and all while the pool is busy, is the
 * thread's. Never both at once: what is known of the end of the log is lent to one of them.
 */
import { type Disk, type DiskFile, flushAll } from "../disk/disk.ts";
import { isFull } from "../disk/full.ts";
import { seqMismatch } from "../engine/engine-errors.ts";
import type { Seq } from "../record/record.ts";
import type { HostSpec, LogFileHost } from "./host.ts";
import type { Meanwhile, OpenedFile } from "./log-file.ts";
import { asWalError } from "./messages.ts";
import { activePath, headPath } from "./names.ts";
import { PoolChoice } from "./pool-choice.ts";
import { type SegmentEnd, SegmentTail } from "./segment-tail.ts";

export class PooledHost implements LogFileHost {
	readonly #thread: LogFileHost;
	readonly #disk: Disk;
	readonly #directory: string;
	readonly #segmentBytes: number;
	readonly #choice = new PoolChoice();
	/** The segment that the pool adds to, open in this thread. */
	#tail: SegmentTail | undefined;
	/** Is the end of the log lent to the pool? */
	#isLent = false;
	#wasFull = false;
	/** A flush has failed: nothing is known of the file any more, so nothing more is done to it. */
	#isBroken = false;
	#flushing: Promise<void> = Promise.resolve();

	constructor(thread: LogFileHost, disk: Disk, { directory, options }: Pick<HostSpec, "directory" | "options">) {
		this.#thread = thread;
		this.#disk = disk;
		this.#directory = directory;
		this.#segmentBytes = options.segmentBytes;
	}

	lock(): Promise<string | undefined> {
		return this.#thread.lock();
	}

	recover(proven: Seq): Promise<OpenedFile> {
		return this.#thread.recover(proven);
	}

	async append(text: string, expect: Seq, count: number): Promise<SegmentEnd> {
		const lines = Buffer.from(text);
		const began = performance.now();
		const tail = this.#choice.isPool ? this.#tailWithRoom(lines.length) : undefined;
		if (tail) {
			if (expect !== tail.at.seq) throw seqMismatch(expect, tail.at.seq);
			if (await this.#flushed(tail, lines, expect + count)) {
				this.#choice.byPool(performance.now() - began);
				return tail.at;
			}
		}
		const at = await this.#thread.append(text, expect, count, this.#takeBack());
		this.#choice.byThread(performance.now() - began);
		this.#lend(at);
		return at;
	}

	truncateBefore(seq: Seq): Promise<Seq> {
		return this.#thread.truncateBefore(seq);
	}

	async close(): Promise<void> {
		await this.#flushing;
		const meanwhile = this.#takeBack();
		this.#closeTail();
		return this.#isBroken ? this.#thread.end() : this.#thread.close(meanwhile);
	}

	async end(): Promise<void> {
		await this.#flushing;
		this.#closeTail();
		await this.#thread.end();
	}

	/** @returns false: the disk is full, and the thread says what follows from that */
	async #flushed(tail: SegmentTail, lines: Buffer, last: Seq): Promise<boolean> {
		try {
			tail.assertUntouched();
			const flushing = flushAll(tail.file, lines, tail.at.end);
			// Its file is not closed meanwhile: another one could get its number.
			this.#flushing = flushing.catch(() => {});
			await flushing;
			tail.stored(lines, last, tail.at.written);
			return true;
		} catch (error) {
			if (isFull(error)) {
				this.#wasFull = true;
				return false;
			}
			this.#isBroken = true;
			throw asWalError(error, "write", activePath(this.#directory));
		}
	}

	#tailWithRoom(bytes: number): SegmentTail | undefined {
		const { at } = this.#tail ?? {};
		const hasRoom = this.#isLent && at && at.end + bytes <= Math.min(at.allocated, this.#segmentBytes);
		return hasRoom && !this.#isBroken ? this.#tail : undefined;
	}

	#lend(at: SegmentEnd): void {
		if (this.#tail?.at.file !== at.file) {
			this.#closeTail();
			this.#tail = this.#openTail(at);
		}
		if (!this.#tail) return;
		this.#tail.at = at;
		this.#isLent = true;
		this.#wasFull = false;
	}

	/** @returns undefined: it cannot be opened now (too many files are), or is another file; what was stored is durable all the same */
	#openTail(at: SegmentEnd): SegmentTail | undefined {
		let file: DiskFile | undefined;
		try {
			file = this.#disk.open(activePath(this.#directory), "flush");
			if (file.identity() === at.file) {
				const head = this.#disk.open(headPath(this.#directory), "write");
				return new SegmentTail(this.#disk, this.#directory, file, head, at);
			}
		} catch {
			// The thread goes on with the files that it has.
		}
		file?.close();
		return undefined;
	}

	/** Whatever becomes of what the thread does next: from here on it knows more. */
	#takeBack(): Meanwhile | undefined {
		const meanwhile = this.#isLent && this.#tail ? { at: this.#tail.at, wasFull: this.#wasFull } : undefined;
		this.#isLent = false;
		return meanwhile;
	}

	#closeTail(): void {
		this.#tail?.file.close();
		this.#tail?.head?.close();
		this.#tail = undefined;
	}
}
