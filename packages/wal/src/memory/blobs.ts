/** Blobs that end with their process. */
import { checkedBlobName } from "../engine/blob-name.ts";
import type { BlobStore } from "../engine/engine.ts";

/** Blobs in memory, for tests: they end with the process. */
export function memoryBlobs(): BlobStore {
	const blobs = new Map<string, Uint8Array>();
	return {
		async put(name, bytes) {
			blobs.set(checkedBlobName(name), new Uint8Array(bytes));
		},
		async get(name) {
			const bytes = blobs.get(checkedBlobName(name));
			return bytes && new Uint8Array(bytes);
		},
		async size(name) {
			return blobs.get(checkedBlobName(name))?.length;
		},
		async list(prefix) {
			return [...blobs.keys()].filter((name) => name.startsWith(prefix)).sort();
		},
		async delete(name) {
			blobs.delete(checkedBlobName(name));
		},
	};
}
