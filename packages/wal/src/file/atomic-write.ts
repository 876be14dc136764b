/** Whole files of the log itself, and its directories, over the port that crash tests drive. */
import { dirname } from "node:path";
import { type Disk, writeAll } from "../disk/disk.ts";
import { pauseAfter } from "../disk/rename.ts";
import { codeOf } from "../errors.ts";

/**
 * Writes a whole file of the log so that a crash leaves the old one or the new one, never a mix: a temporary file in the
 * same directory, all bytes, fsync, rename, fsync of the directory. `tag` names the temporary file.
 */
export function atomicWriteTo(disk: Disk, path: string, bytes: Uint8Array, tag: string): void {
	const directory = dirname(path);
	makeDirectories(disk, directory);
	const temporary = `${path}.${tag}.tmp`;
	if (disk.identity(temporary) !== undefined) disk.remove(temporary);
	const file = disk.open(temporary, "create");
	try {
		writeAll(file, bytes, 0);
		// Before the rename: else the name could be durable and the bytes not.
		file.sync();
		file.close();
		renameOver(disk, temporary, path);
	} catch (error) {
		if (disk.identity(temporary) !== undefined) disk.remove(temporary);
		throw error;
	}
	disk.syncDirectory(directory);
}

/** As `Disk.rename`, tried again where somebody has one of the two files open. A disk that cannot pause fails at once. */
export function renameOver(disk: Pick<Disk, "rename" | "pause">, from: string, to: string): void {
	for (let tries = 0; ; tries++) {
		try {
			disk.rename(from, to);
			return;
		} catch (error) {
			const ms = pauseAfter(tries, error);
			if (ms === undefined || !disk.pause) throw error;
			disk.pause(ms);
		}
	}
}

/** Makes a directory and its missing parents, each durable in its own parent. */
export function makeDirectories(disk: Disk, path: string): void {
	if (disk.identity(path) !== undefined) return;
	const parent = dirname(path);
	if (disk.identity(parent) === undefined) makeDirectories(disk, parent);
	else syncEntry(disk, parent);
	if (disk.makeDirectory(path)) disk.syncDirectory(parent);
}

/** A directory that is there may have been made a moment ago, by a process that died before it was durable. */
export function syncEntry(disk: Disk, path: string): void {
	try {
		disk.syncDirectory(dirname(path));
	} catch (error) {
		// What we may not read we have not made anything in.
		if (codeOf(error) !== "EACCES") throw error;
	}
}
