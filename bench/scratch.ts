/** A directory for the files of one run, on a disk that can be synced, and gone when the run is over. */
import { mkdtemp, rm, statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** `statfs` magic numbers (linux/magic.h and the modules' own). */
const names: ReadonlyMap<number, string> = new Map([
	[0xef53, "ext4"],
	[0x58465342, "xfs"],
	[0x9123683e, "btrfs"],
	[0x2fc12fc1, "zfs"],
	[0x794c7630, "overlay"],
	[0x01021994, "tmpfs"],
]);

export async function inScratch(run: (directory: string, fileSystem: string) => Promise<void>): Promise<void> {
	const { parent, fileSystem } = await onDisk([tmpdir(), "/var/tmp", import.meta.dirname]);
	const directory = await mkdtemp(join(parent, "reyn-bench-"));
	try {
		await run(directory, fileSystem);
	} finally {
		await rm(directory, { recursive: true, force: true });
	}
}

/** The first that is not in memory, where a sync costs nothing and keeps nothing. */
async function onDisk([parent = "", ...others]: readonly string[]): Promise<{ parent: string; fileSystem: string }> {
	const type = (await statfs(parent).catch(() => undefined))?.type;
	const fileSystem = type === undefined ? "none" : (names.get(type) ?? `type 0x${type.toString(16)}`);
	const unfit = fileSystem === "none" || fileSystem === "tmpfs";
	return unfit && others.length > 0 ? onDisk(others) : { parent, fileSystem };
}
