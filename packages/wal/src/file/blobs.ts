/** Blobs in a directory: `a/b` is the file `a/b.blob`. */
import { join } from "node:path";
import { checkedBlobName, isBlobName } from "../blob-name.ts";
import type { Disk } from "../disk.ts";
import { DurableFiles, durableFiles } from "../durable-files.ts";
import type { BlobStore } from "../engine.ts";
import { filesOf } from "../files.ts";

export interface FileBlobsOptions {
	/** A simulated disk. Default: the real one, off the event loop. */
	readonly disk?: Disk;
}

/**
 * Blobs in a directory, which the first `put` makes: a file each, in nested directories as its name says. `list` reads only
 * directories that the prefix leads to. Behind a link nothing is listed or deleted, since it may be somebody else's; a
 * `directory` that is a link itself is read and written, and nothing in it deleted. Errors are those of the system, with their
 * `code`; a `put` that failed left the old bytes, unless it was the sync of the directory that failed. What a crash leaves of a
 * `put` is a `*.tmp` that nothing reads.
 */
export function fileBlobs(directory: string, { disk }: FileBlobsOptions = {}): BlobStore {
	const files = disk ? new DurableFiles(filesOf(disk)) : durableFiles;
	const pathOf = (name: string): string => join(directory, ...name.split("/").map(fileNameOf));
	const blobOf = (name: string): string => pathOf(checkedBlobName(name)) + BLOB;

	/** The directories below ours that lead to what has this name, or begins so. */
	const foldersOf = (name: string): readonly string[] =>
		name
			.split("/")
			.slice(0, -1)
			.map((_, i, parts) => pathOf(parts.slice(0, i + 1).join("/")));

	async function hasLink(folders: readonly string[]): Promise<boolean> {
		for (const folder of folders) if (await files.isLink(folder)) return true;
		return false;
	}

	/** Those under `at`, which is empty or ends with a slash. */
	async function collect(at: string, prefix: string, names: string[]): Promise<void> {
		for (const entry of await files.list(pathOf(at))) {
			const isBlob = entry.endsWith(BLOB);
			const name = at + partOf(isBlob ? entry.slice(0, -BLOB.length) : entry);
			if (!name.startsWith(prefix) || !isBlobName(name)) continue;
			if (isBlob) names.push(name);
			else if (!(await files.isLink(pathOf(name)))) await collect(`${name}/`, prefix, names);
		}
	}

	return {
		async put(name, bytes) {
			// What the caller does to the bytes meanwhile is not written.
			await files.write(blobOf(name), Buffer.from(bytes));
		},
		async get(name) {
			return files.read(blobOf(name));
		},
		async list(prefix) {
			const names: string[] = [];
			if (await hasLink(foldersOf(prefix))) return names;
			await collect(prefix.slice(0, prefix.lastIndexOf("/") + 1), prefix, names);
			return names.sort();
		},
		async delete(name) {
			const path = blobOf(name);
			if (!(await hasLink([directory, ...foldersOf(name)]))) await files.remove(path);
		},
		async isOwn() {
			return !(await files.isLink(directory));
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
