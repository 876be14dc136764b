/** The files below a directory of a state, with no link followed: behind one lies what is somebody else's. */
import type { Dirent } from "node:fs";
import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { codeOf } from "@reyn/wal";
import { assertOwnDirectory } from "@reyn/wal/internal";
import { assertOwnWay } from "./layout.ts";

/**
 * Their paths. By hand: a recursive `readdir` follows links in some versions of Node.
 *
 * @param root a directory above it: it and those between are looked at too
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
		// A link is none, and refused: it may be meant to lead there.
		else yield* filesIn(path);
	}
}

async function entriesOf(directory: string): Promise<readonly Dirent[]> {
	return (await unlessGone(readdir(directory, { withFileTypes: true }))) ?? [];
}

/** In bytes; undefined where it is gone. */
export const sizeOf = async (path: string): Promise<number | undefined> => (await unlessGone(lstat(path)))?.size;

async function unlessGone<T>(look: Promise<T>): Promise<T | undefined> {
	try {
		return await look;
	} catch (error) {
		if (["ENOENT", "ENOTDIR"].includes(codeOf(error) ?? "")) return undefined;
		throw error;
	}
}
