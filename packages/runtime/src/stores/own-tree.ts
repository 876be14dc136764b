/** Lists the files below a directory of a state, without following links: they lead to files of others. */
import type { Dirent } from "node:fs";
import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { codeOf } from "@reyn/wal";
import { assertOwnDirectory } from "@reyn/wal/internal";
import { assertOwnWay } from "./layout.ts";

/**
 * The paths of all files below a directory. Not by a recursive `readdir`, which follows links in some versions of Node.
 *
 * @param root a directory above it; it and the directories between are checked too
 * @throws WalError `WAL_UNSAFE`
 */
export async function* filesBelow(root: string, directory: string): AsyncGenerator<string> {
	assertOwnWay(root, directory);
	yield* filesIn(directory);
}

async function* filesIn(directory: string): AsyncGenerator<string> {
	assertOwnDirectory(directory);
	for (const entry of await entriesOf(directory)) {
		const path = join(directory, entry.name);
		if (entry.isFile()) yield path;
		// A link is no directory, so the check below refuses it.
		else yield* filesIn(path);
	}
}

async function entriesOf(directory: string): Promise<readonly Dirent[]> {
	return (await unlessGone(readdir(directory, { withFileTypes: true }))) ?? [];
}

/** The size of a file in bytes; undefined: it is gone. */
export const sizeOf = async (path: string): Promise<number | undefined> => (await unlessGone(lstat(path)))?.size;

async function unlessGone<T>(look: Promise<T>): Promise<T | undefined> {
	try {
		return await look;
	} catch (error) {
		if (["ENOENT", "ENOTDIR"].includes(codeOf(error) ?? "")) return undefined;
		throw error;
	}
}
