/** What a file system does not say of itself it has to show before a log lies on it. */
import { dirname, join } from "node:path";
import { type Disk, type DiskFile, type FileSystem, readAt, writeAll } from "../disk/disk.ts";
import { codeOf, WalError } from "../errors.ts";
import { renameOver } from "./atomic-write.ts";

/** Refuses a network file system, by name. @throws WalError `WAL_IO` */
export function assertNoNetwork(found: FileSystem | undefined, directory: string): void {
	if (found?.kind !== "network") return;
	throw new WalError(
		"WAL_IO",
		`${directory} is on ${found.name}, where locks and syncs may not hold; keep the log on a local disk, or force it (allowNetwork)`,
		{ path: directory, network: found.name },
	);
}

/**
 * Refuses what does not show that it keeps a second writer out, syncs, and gives back what was written. What it does not show: whether a
 * sync reaches a disk, and whether another machine that has the same files sees the lock. Leaves nothing behind.
 *
 * @throws WalError `WAL_IO`
 */
export function assertSound(disk: Disk, directory: string, found: FileSystem | undefined): void {
	if (found?.kind !== "opaque") return;
	const why = objection(disk, directory);
	if (why !== undefined) throw unsound(directory, found, why);
}

/** As `Disk.lock`. @throws WalError `WAL_IO` where the file system is one that was to be tried, and has no locks */
export function lockOn(
	disk: Disk,
	path: string,
	text: string,
	found: FileSystem | undefined,
): ReturnType<Disk["lock"]> {
	try {
		return disk.lock(path, text);
	} catch (error) {
		if (found?.kind !== "opaque" || error instanceof WalError) throw error;
		throw unsound(dirname(path), found, said("it is locked", error));
	}
}

const unsound = (path: string, { name }: FileSystem, why: string): WalError =>
	new WalError(
		"WAL_IO",
		`${path} is on ${name}, which was tried: ${why}. Keep the log on a local disk; if nobody else opens it, and it may be lost, force it (allowNetwork)`,
		{ path, network: name, why },
	);

const said = (doing: string, error: unknown): string =>
	`when ${doing}, it says ${codeOf(error) ?? (error as Error).message}`;

/** What is wrong with files here; undefined when nothing is. */
function objection(disk: Disk, directory: string): string | undefined {
	const [path, renamed] = [join(directory, "wal.trial.tmp"), join(directory, "wal.tried.tmp")];
	const text = Buffer.from(`${directory}\n`);
	const open: DiskFile[] = [];
	const remove = (): void => {
		for (const each of [path, renamed]) if (disk.identity(each) !== undefined) disk.remove(each);
	};
	let doing = "a file is made";
	try {
		remove();
		const mine = disk.open(path, "create");
		open.push(mine);
		doing = "it is written to and synced";
		writeAll(mine, text, 0);
		mine.sync();
		doing = "it is locked";
		if (!mine.tryLock()) return "a lock on a file that nobody else has is refused";
		const other = disk.open(path, "write");
		open.push(other);
		if (other.tryLock()) return "a lock keeps nobody out";
		doing = "it is read through another open file";
		if (!readAt(other, 0, text.length + 1).equals(text))
			return "what is written through one open file is not seen through another";
		doing = "it is renamed";
		renameOver(disk, path, renamed);
		if (disk.identity(renamed) !== mine.identity()) return "a file that is renamed is another one then";
		doing = "its directory is synced";
		disk.syncDirectory(directory);
		return undefined;
	} catch (error) {
		return said(doing, error);
	} finally {
		for (const file of open) file.close();
		try {
			remove();
		} catch {
			// The next opening tries that again.
		}
	}
}
