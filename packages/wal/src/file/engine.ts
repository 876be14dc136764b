/** The log in a directory: `wal.jsonl`, one JSON object a line, and `wal.lock` beside it. */
import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import { encodeHeader, type LogHeader, type StoredRecord } from "../codec.ts";
import type { LogEngine, OpenEngine, OpenLog, TornTail } from "../engine.ts";
import { WalError } from "../errors.ts";
import type { Seq } from "../record.ts";
import { atomicWrite, makeDirectory, syncDirectory, writeAll } from "./atomic-write.ts";
import { type Lock, takeLock } from "./lock.ts";
import { INDEX_STEP, readRecords, type Scan, type SparseIndex, scan } from "./scan.ts";

/** A log in `directory`, which a writer makes when it is missing. */
export function fileEngine(directory: string): LogEngine {
	const path = join(directory, "wal.jsonl");
	return {
		async open({ readOnly, header, seen }: OpenEngine): Promise<OpenLog> {
			if (readOnly) return openReader(path, seen);
			const lock = await asWalError(path, async () => {
				await makeDirectory(directory);
				return takeLock(join(directory, "wal.lock"));
			});
			try {
				return await asWalError(path, () => openWriter(directory, path, header, seen, lock));
			} catch (error) {
				await lock.release();
				throw error;
			}
		},
	};
}

async function openReader(path: string, seen: (record: StoredRecord) => void): Promise<OpenLog> {
	const file = await asWalError(path, () => open(path, "r"));
	try {
		const found = await scan(file, path, seen);
		const torn = found.torn && { seq: found.next, ...(await tailOf(file, found.torn.offset)).about };
		return new FileLog({ path, file, found, torn, lock: undefined });
	} catch (error) {
		await file.close();
		throw error;
	}
}

async function openWriter(
	directory: string,
	path: string,
	fresh: LogHeader,
	seen: (record: StoredRecord) => void,
	lock: Lock,
): Promise<OpenLog> {
	const file = await openOrMake(path, fresh);
	try {
		const found = await scan(file, path, seen);
		const torn = found.torn && (await setAside(file, path, found));
		// A last record whose newline was lost is whole: complete it, or the next one would be glued to it.
		if (found.unended) await writeAll(file, Buffer.from("\n"), found.end);
		// A record that was read may still be in the page cache only: what is shown from here on has to survive a power cut.
		await file.datasync();
		await syncDirectory(directory);
		return new FileLog({ path, file, found: found.unended ? { ...found, end: found.end + 1 } : found, torn, lock });
	} catch (error) {
		await file.close();
		throw error;
	}
}

async function openOrMake(path: string, fresh: LogHeader): Promise<FileHandle> {
	const flags = constants.O_RDWR;
	try {
		return await open(path, flags);
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
	}
	await atomicWrite(path, encodeHeader(fresh));
	return open(path, flags);
}

/** Copies the tail to a file of its own before it is cut: evidence is never destroyed. */
async function setAside(file: FileHandle, path: string, { end, next, torn }: Scan): Promise<TornTail> {
	const tail = await tailOf(file, (torn as { offset: number }).offset);
	const keptIn = `${path}.broken-${next}-${tail.about.sha256.slice(0, 8)}`;
	await atomicWrite(keptIn, tail.bytes);
	await file.truncate(end);
	return { seq: next, ...tail.about, keptIn };
}

async function tailOf(
	file: FileHandle,
	offset: number,
): Promise<{ bytes: Buffer; about: { bytes: number; sha256: string } }> {
	const { size } = await file.stat();
	const bytes = Buffer.alloc(size - offset);
	for (let done = 0; done < bytes.length; ) {
		const { bytesRead } = await file.read(bytes, done, bytes.length - done, offset + done);
		if (bytesRead === 0) break;
		done += bytesRead;
	}
	return { bytes, about: { bytes: bytes.length, sha256: createHash("sha256").update(bytes).digest("hex") } };
}

interface Opened {
	readonly path: string;
	readonly file: FileHandle;
	readonly found: Scan;
	readonly torn: TornTail | undefined;
	readonly lock: Lock | undefined;
}

class FileLog implements OpenLog {
	readonly header: LogHeader;
	readonly torn?: TornTail;
	readonly #path: string;
	readonly #file: FileHandle;
	readonly #index: SparseIndex;
	readonly #lock: Lock | undefined;
	#end: number;

	constructor({ path, file, found, torn, lock }: Opened) {
		this.header = found.header;
		if (torn) this.torn = torn;
		this.#path = path;
		this.#file = file;
		this.#index = found.index;
		this.#end = found.end;
		this.#lock = lock;
	}

	async append(first: Seq, lines: readonly string[]): Promise<void> {
		const bytes = Buffer.from(lines.join(""));
		await this.#assertUntouched();
		await writeAll(this.#file, bytes, this.#end);
		await this.#file.datasync();
		this.#addToIndex(first, lines);
		this.#end += bytes.length;
	}

	async *read(after: Seq): AsyncIterable<StoredRecord> {
		const from = this.#nearest(after + 1);
		if (!from) return;
		for await (const record of readRecords(this.#file, this.#path, from)) {
			if (record.seq > after) yield record;
		}
	}

	async close(): Promise<void> {
		await this.#file.close();
		await this.#lock?.release();
	}

	/** A file that grew, shrank or was replaced behind our back has another writer; what we add could destroy its records. */
	async #assertUntouched(): Promise<void> {
		const { size, nlink } = await this.#file.stat();
		if (size !== this.#end || nlink === 0) {
			throw new WalError(
				"WAL_CORRUPT",
				`${this.#path} was changed by another program: expected ${this.#end} bytes, found ${nlink === 0 ? "it removed" : size}`,
				{ path: this.#path },
			);
		}
	}

	#addToIndex(first: Seq, lines: readonly string[]): void {
		let offset = this.#end;
		for (const [i, line] of lines.entries()) {
			if ((first + i - this.header.first) % INDEX_STEP === 0) this.#index.push({ seq: first + i, offset });
			offset += Buffer.byteLength(line);
		}
	}

	/** The last indexed record that is not after `seq`. */
	#nearest(seq: Seq): { seq: Seq; offset: number } | undefined {
		const at = Math.floor((Math.max(seq, this.header.first) - this.header.first) / INDEX_STEP);
		return this.#index[Math.min(at, this.#index.length - 1)];
	}
}

/** An error of the file system, with the path and what to do about it. */
async function asWalError<T>(path: string, run: () => Promise<T>): Promise<T> {
	try {
		return await run();
	} catch (error) {
		const { code, message } = error as NodeJS.ErrnoException;
		if (error instanceof WalError || code === undefined) throw error;
		const hint = code === "ENOENT" ? "there is no log here yet; a writer makes one" : message;
		throw new WalError("WAL_IO", `cannot open ${path} (${code}): ${hint}`, { path, code }, { cause: error });
	}
}
