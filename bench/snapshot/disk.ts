/** What a directory takes on disk. */
import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";

export interface Disk {
	/** The lengths of all files. */
	readonly bytes: number;
	/** The blocks of all files and directories. */
	readonly allocated: number;
}

export async function diskOf(directory: string): Promise<Disk> {
	const names = await readdir(directory, { recursive: true });
	let [bytes, allocated] = [0, 0];
	for (const name of [".", ...names]) {
		const found = await lstat(join(directory, name));
		if (found.isFile()) bytes += found.size;
		allocated += found.blocks * 512;
	}
	return { bytes, allocated };
}
