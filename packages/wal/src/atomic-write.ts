import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, mkdir, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";

/**
 * Writes a whole file so that a crash leaves the old one or the new one, never a mix: a temporary file in the same
 * directory, all bytes, fsync, rename, fsync of the directory. Missing directories are made, durably too.
 */
export async function atomicWrite(path: string, content: string | Uint8Array): Promise<void> {
	const directory = dirname(path);
	await makeDirectory(directory);
	const temporary = `${path}.${randomBytes(6).toString("hex")}.tmp`;
	try {
		const file = await open(temporary, "wx", 0o600);
		try {
			await writeAll(file, typeof content === "string" ? Buffer.from(content) : content, 0);
			await file.sync();
		} finally {
			await file.close();
		}
		await rename(temporary, path);
	} catch (error) {
		await rm(temporary, { force: true });
		throw error;
	}
	await syncDirectory(directory);
}

/** Writes every byte; a write may be short without an error, so what it says it wrote is what counts. */
async function writeAll(file: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
	let done = 0;
	while (done < bytes.length) {
		const { bytesWritten } = await file.write(bytes, done, bytes.length - done, position + done);
		if (bytesWritten === 0) throw new Error(`only ${done} of ${bytes.length} bytes could be written`);
		done += bytesWritten;
	}
}

/** Directories that are durable in their parents, as this process has seen to. */
const durable = new Set<string>();

/**
 * Makes a directory and its missing parents, each durable in its own parent; those that are there too, once a process: they
 * may have been made a moment ago by one that died before it had synced them.
 */
async function makeDirectory(path: string): Promise<void> {
	const first = await mkdir(path, { recursive: true, mode: 0o700 });
	if (first !== undefined)
		for (let made = path; made.length >= first.length; made = dirname(made)) durable.delete(made);
	for (let at = path; !durable.has(at) && dirname(at) !== at; at = dirname(at)) {
		await syncDirectory(dirname(at)).catch((error: NodeJS.ErrnoException) => {
			// What we may not read we have not made anything in.
			if (error.code !== "EACCES") throw error;
		});
		durable.add(at);
	}
}

/** Makes what was created, renamed or removed in a directory durable. Windows has no such call and needs none. */
async function syncDirectory(path: string): Promise<void> {
	if (process.platform === "win32") return;
	const directory = await open(path, constants.O_RDONLY);
	try {
		await directory.sync();
	} finally {
		await directory.close();
	}
}
