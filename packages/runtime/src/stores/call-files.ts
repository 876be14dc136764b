/** What tools keep of calls below a state directory: of a command who has run it, what it has printed, how it has ended. */
import { rmdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { codeOf } from "@reyn/wal";
import { removeFiles } from "@reyn/wal/internal";
import type { CallFiles, Gone } from "../kernel/store.ts";
import { type Layout, namesIn } from "./layout.ts";
import { filesBelow, sizeOf } from "./own-tree.ts";

export const callFiles = ({ root, commands }: Layout): CallFiles => ({
	list: async () => namesIn(commands).filter((name) => /^[0-9a-f]{24}$/.test(name)),
	async remove(names, { dryRun }) {
		let [files, bytes] = [0, 0];
		for (const name of names) {
			const gone = await removeBelow(root, join(commands, name), dryRun);
			files += gone.files;
			bytes += gone.bytes;
		}
		return { files, bytes };
	},
});

/** Its files first, and then the directories, which are empty then. A kill in between leaves the rest for the next collection. */
async function removeBelow(root: string, directory: string, dryRun: boolean): Promise<Gone> {
	const found: string[] = [];
	for await (const path of filesBelow(root, directory)) found.push(path);
	const sizes = await Promise.all(found.map(sizeOf));
	if (!dryRun) {
		for (const [parent, paths] of Map.groupBy(found, dirname))
			await removeFiles(
				parent,
				paths.map((path) => basename(path)),
			);
		for (const attempt of namesIn(directory)) await removeEmpty(join(directory, attempt));
		await removeEmpty(directory);
	}
	return { files: found.length, bytes: sizes.reduce<number>((sum, size = 0) => sum + size, 0) };
}

/** One in which something came meanwhile stays. */
async function removeEmpty(directory: string): Promise<void> {
	try {
		await rmdir(directory);
	} catch (error) {
		if (!["ENOENT", "ENOTEMPTY", "EEXIST"].includes(codeOf(error) ?? "")) throw error;
	}
}
