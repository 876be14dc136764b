/** Whole files for whoever keeps some beside the log: the old one or the new one after a crash, never a mix. */
import { durableFiles } from "./durable-files.ts";

/**
 * Writes a whole file so that a crash leaves the old one or the new one, never a mix: a temporary file in the same
 * directory, all bytes, fsync, rename, fsync of the directory. Missing directories are made, durably too.
 */
export async function atomicWrite(path: string, content: string | Uint8Array): Promise<void> {
	await durableFiles.write(path, typeof content === "string" ? Buffer.from(content) : content);
}

/** Takes files of one directory away, durably when it resolves. One that is not there is none to take. */
export async function removeFiles(directory: string, names: readonly string[]): Promise<void> {
	await durableFiles.removeAll(directory, names);
}
