/** Whole files: a crash leaves the old one or the new one, never a mix, and what has resolved is durable. */
import { randomBytes } from "node:crypto";
import { basename, dirname, join } from "node:path";
import type { Files, NewFile } from "./files.ts";
import { nodeFiles } from "./node-files.ts";
import { renameFileOver } from "./rename.ts";

export class DurableFiles {
	readonly #files: Files;
	/** Directories that are durable in their parents, and those in theirs, as this process has seen to. */
	readonly #durable = new Set<string>();

	constructor(files: Files) {
		this.#files = files;
	}

	/** Undefined when there is none. */
	read(path: string, limit = MAX_BYTES): Promise<Uint8Array | undefined> {
		return this.#files.read(path, limit);
	}

	/** Undefined when there is none. */
	size(path: string): Promise<number | undefined> {
		return this.#files.size(path);
	}

	/** The names in a directory, without the temporary ones; none when it is missing. */
	async list(directory: string): Promise<readonly string[]> {
		return (await this.#files.list(directory)).filter((name) => !name.endsWith(TEMPORARY));
	}

	/** @throws WalError `WAL_UNSAFE` */
	async assertOwn(directories: readonly string[]): Promise<void> {
		for (const directory of directories) await this.#files.assertOwn(directory);
	}

	/**
	 * A temporary file in the same directory, all bytes, fsync, rename, fsync of the directory. Missing directories are made.
	 * Of several at once for one path, any may be the last. After an error the old file is there, or, when it was the sync of
	 * the directory that failed, maybe the new one.
	 */
	async write(path: string, bytes: Uint8Array): Promise<void> {
		const directory = dirname(path);
		await this.#makeDirectory(directory);
		await this.#ensureDurable(directory);
		const temporary = join(directory, `${randomBytes(8).toString("hex")}${TEMPORARY}`);
		const file = await this.#files.create(temporary);
		try {
			try {
				await writeAll(file, bytes);
				// Before the rename: else the name could be durable and the bytes not.
				await file.sync();
			} finally {
				await file.close();
			}
			await renameFileOver(this.#files, temporary, path);
		} catch (error) {
			// If it cannot be removed either, the first error is still the one to tell.
			await this.#files.remove(temporary).catch(() => {});
			throw error;
		}
		await this.#files.syncDirectory(directory);
	}

	remove(path: string): Promise<void> {
		return this.removeAll(dirname(path), [basename(path)]);
	}

	/** Those of these names in a directory. Synced though they are gone: who removed them may not have come to that. */
	async removeAll(directory: string, names: readonly string[]): Promise<void> {
		await this.#files.assertOwn(directory);
		for (const name of names) await this.#files.remove(join(directory, name));
		await this.#files.syncDirectory(directory).catch(unlessCode("ENOENT"));
	}

	/** With its missing parents. */
	async #makeDirectory(path: string): Promise<void> {
		const parent = dirname(path);
		const isNew = await this.#files.makeDirectory(path).catch(async (error) => {
			if (error.code !== "ENOENT" || parent === path) throw error;
			await this.#makeDirectory(parent);
			return this.#files.makeDirectory(path);
		});
		if (isNew) this.#durable.delete(path);
	}

	/**
	 * Makes a directory durable in its parent, and that one in its own, once a process: also those that were there, since who
	 * made them may have died a moment ago, before it had synced them.
	 */
	async #ensureDurable(path: string): Promise<void> {
		const parent = dirname(path);
		if (this.#durable.has(path) || parent === path) return;
		await this.#ensureDurable(parent);
		// What we may not read we have not made anything in.
		await this.#files.syncDirectory(parent).catch(unlessCode("EACCES"));
		this.#durable.add(path);
	}
}

/** Those of the real file system. */
export const durableFiles = new DurableFiles(nodeFiles);

/** No text is longer, so none was written. */
const MAX_BYTES = 512 * 1024 * 1024;

/** How the name of a temporary file ends. */
const TEMPORARY = ".tmp";

/** Is this the name of a file that a write made until it was renamed? What a killed one has left is never read. */
export const isTemporaryName = (name: string): boolean => /^[0-9a-f]{16}\.tmp$/.test(name);

/** Writes every byte, or throws: a short write without an error is what a full disk looks like. */
async function writeAll(file: NewFile, bytes: Uint8Array): Promise<void> {
	for (let done = 0; done < bytes.length; ) {
		const written = await file.write(bytes.subarray(done), done);
		if (written === 0)
			throw Object.assign(new Error(`only ${done} of ${bytes.length} bytes could be written`), { code: "ENOSPC" });
		done += written;
	}
}

/** Handles the error that has this code. */
const unlessCode = (code: string) => (error: NodeJS.ErrnoException) => {
	if (error.code !== code) throw error;
};
