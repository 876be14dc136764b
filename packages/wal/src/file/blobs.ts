/** Blobs in a directory: `a/b` is the file `a/b.blob`. */
import { join } from "node:path";
import type { Disk } from "../disk/disk.ts";
import { DurableFiles, durableFiles } from "../disk/durable-files.ts";
import { filesOf } from "../disk/files.ts";
import { checkedBlobName, isBlobName } from "../engine/blob-name.ts";
import type { BlobStore } from "../engine/engine.ts";

export interface FileBlobsOptions {
	/** A simulated disk. Default: the real one, off the event loop. */
	readonly disk?: Disk;
}

/**
 * Blobs in a directory, which the first `put` makes: a file each, in nested directories as its name says. `list` reads only
 * directories that the prefix leads to. What is no directory or file of this user alone is refused with `WAL_UNSAFE`: behind a
 * link lies what may be somebody else's. Other errors are those of the system, with their `code`; a `put` that failed left the
 * old bytes, unless it was the sync of the directory that failed. What a crash leaves of a `put` is a `*.tmp` that nothing reads.
 */
export function fileBlobs(directory: string, { disk }: FileBlobsOptions = {}): BlobStore {
	const files = disk ? new DurableFiles(filesOf(disk)) : durableFiles;
	const pathOf = (name: string): string => join(directory, ...name.split("/").map(fileNameOf));
	const blobOf = (name: string): string => pathOf(checkedBlobName(name)) + BLOB;

	/** Looks at the directories that lead to what has this name, or begins so. */
	const assertOwn = (name: string): Promise<void> => {
		const folders = name.split("/").slice(0, -1);
		return files.assertOwn([directory, ...folders.map((_, i) => pathOf(folders.slice(0, i + 1).join("/")))]);
	};

	/** Those under `at`, which is empty or ends with a slash. */
	async function collect(at: string, prefix: string, names: string[]): Promise<void> {
		for (const entry of await files.list(pathOf(at))) {
			const isBlob = entry.endsWith(BLOB);
			const spelt = isBlob ? entry.slice(0, -BLOB.length) : entry;
			const name = at + partOf(spelt);
			// A name has one spelling: `%61` beside `a` would be the same blobs once more, at each level.
			if (!name.startsWith(prefix) || !isBlobName(name) || fileNameOf(partOf(spelt)) !== spelt) continue;
			if (isBlob) names.push(name);
			else await collect(`${name}/`, prefix, names);
		}
	}

	return {
		async put(name, bytes) {
			const path = blobOf(name);
			// What the caller does to the bytes meanwhile is not written.
			const copy = Buffer.from(bytes);
			await assertOwn(name);
			await files.write(path, copy);
		},
		async get(name, limit) {
			const path = blobOf(name);
			await assertOwn(name);
			return files.read(path, limit);
		},
		async size(name) {
			const path = blobOf(name);
			await assertOwn(name);
			return files.size(path);
		},
		async list(prefix) {
			const names: string[] = [];
			await assertOwn(prefix);
			await collect(prefix.slice(0, prefix.lastIndexOf("/") + 1), prefix, names);
			return names.sort();
		},
		async delete(name) {
			const path = blobOf(name);
			await assertOwn(name);
			await files.remove(path);
		},
		async isOwn() {
			return files.assertOwn([directory]).then(
				() => true,
				() => false,
			);
		},
	};
}

/** Tells a blob from a directory: `a` and `a/b` are both names. */
const BLOB = ".blob";

/**
 * A part of a name as a name on any file system, those too that fold case (`A` is `a`) or keep some back (`con`, `nul.x`,
 * `a.`). None ends as a blob or a temporary file does. It can be read back; a blob's name is short and of few
 * characters.
 */
const fileNameOf = (part: string): string => part.replace(keptBack, hexOf).replace(/[A-Z]|\.(?=(blob|tmp)?$)/g, hexOf);

const hexOf = (text: string): string => Buffer.from(text).toString("hex").replace(/../g, "%$&");

const partOf = (fileName: string): string =>
	fileName.replace(/%([0-9a-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));

/** Names that Windows keeps for devices, with any ending. */
const keptBack = /^(con|prn|aux|nul|com\d|lpt\d)(?=\.|$)/;
