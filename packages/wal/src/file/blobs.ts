/** Blobs in a directory: a file each, under its name. */
import { readdir, readFile, rm } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { atomicWrite } from "../atomic-write.ts";
import { checkedBlobName } from "../blob-name.ts";
import type { BlobStore } from "../engine.ts";

export function fileBlobs(directory: string): BlobStore {
	const pathOf = (name: string): string => join(directory, ...checkedBlobName(name).split("/"));
	return {
		put: (name, bytes) => atomicWrite(pathOf(name), bytes),
		get: (name) => unlessMissing(() => readFile(pathOf(name))),
		async list(prefix) {
			const entries = (await unlessMissing(() => readdir(directory, { recursive: true, withFileTypes: true }))) ?? [];
			return entries
				.filter((entry) => entry.isFile() && !entry.name.endsWith(".tmp"))
				.map((entry) => relative(directory, join(entry.parentPath, entry.name)).split(sep).join("/"))
				.filter((name) => name.startsWith(prefix))
				.sort();
		},
		async delete(name) {
			await rm(pathOf(name), { force: true });
		},
	};
}

async function unlessMissing<T>(run: () => Promise<T>): Promise<T | undefined> {
	try {
		return await run();
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
		throw error;
	}
}
