/** Several stores of blobs in one: each has its names below a part of its own. */
import type { BlobStore } from "./engine.ts";

/** The blobs whose names begin with a part, under what follows it. */
export function blobsBelow(blobs: BlobStore, part: string): BlobStore {
	const below = `${part}/`;
	return {
		put: (name, bytes) => blobs.put(below + name, bytes),
		get: (name, limit) => blobs.get(below + name, limit),
		list: async (prefix) => (await blobs.list(below + prefix)).map((name) => name.slice(below.length)),
		delete: (name) => blobs.delete(below + name),
		...(blobs.size && { size: (name: string) => blobs.size?.(below + name) ?? Promise.resolve(undefined) }),
		isOwn: async () => (await blobs.isOwn?.()) ?? true,
	};
}
