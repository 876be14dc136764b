/** Blobs in a directory: a file each. On the caller's thread: a `put` waits for two syncs. */
import { join } from "node:path";
import { checkedBlobName } from "../blob-name.ts";
import { type Disk, readAt } from "../disk.ts";
import type { BlobStore } from "../engine.ts";
import { asFileName } from "../record.ts";
import { atomicWriteTo } from "./atomic-write.ts";
import { withFile } from "./records.ts";

export function fileBlobs(disk: Disk, directory: string): BlobStore {
	const pathOf = (name: string): string => join(directory, asFileName(checkedBlobName(name)));
	return {
		async put(name, bytes) {
			atomicWriteTo(disk, pathOf(name), bytes, "new");
		},
		async get(name) {
			const path = pathOf(name);
			if (disk.identity(path) === undefined) return undefined;
			return withFile(disk, path, (file) => readAt(file, 0, file.size()));
		},
		async list(prefix) {
			const names = disk.list(directory).filter((name) => !name.endsWith(".new.tmp"));
			return names
				.map(decodeURIComponent)
				.filter((name) => name.startsWith(prefix))
				.sort();
		},
		async delete(name) {
			const path = pathOf(name);
			if (disk.identity(path) === undefined) return;
			disk.remove(path);
			disk.syncDirectory(directory);
		},
	};
}
