/**
 * Blobs that are named by a record that comes after them. What was put here stays until this opening of the state ends, since its
 * record may be on the way. What another one has put and nothing names is garbage: there is one writer at a time, so that one is
 * over, and can append nothing any more. No clock says it, and no time of a file.
 */
import type { BlobStore } from "@reyn/wal";
import { SharedLock } from "../kernel/shared-lock.ts";
import type { Gone, Store } from "../kernel/store.ts";

/** Blobs that are taken away together: what is put meanwhile waits for no more than that. */
const AT_ONCE = 32;

export class Beside {
	readonly #store: Pick<Store, "blobs">;
	readonly #areas = new Map<string, BlobStore>();
	readonly #lock = new SharedLock();
	/** Those that were put, with their areas. */
	readonly #young = new Set<string>();

	constructor(store: Pick<Store, "blobs">) {
		this.#store = store;
	}

	blobs(area: string): BlobStore {
		const blobs = this.#in(area);
		return {
			put: (name, bytes) =>
				this.#lock.shared(() => {
					this.#young.add(`${area}/${name}`);
					return blobs.put(name, bytes);
				}),
			get: (name, limit) => blobs.get(name, limit),
			list: (prefix) => blobs.list(prefix),
			delete: (name) => blobs.delete(name),
		};
	}

	/** Takes those away that are garbage and not young, or only counts them. */
	async remove(area: string, isGarbage: (name: string) => boolean, dryRun: boolean): Promise<Gone> {
		const blobs = this.#in(area);
		const garbage = (await blobs.list("")).filter(isGarbage);
		let [files, bytes] = [0, 0];
		const remove = async (name: string): Promise<void> => {
			// What was put again meanwhile is young: until it is gone, none is.
			if (this.#young.has(`${area}/${name}`)) return;
			const size = await sizeOf(name, blobs);
			if (size === undefined) return;
			if (!dryRun) await blobs.delete(name);
			files++;
			bytes += size;
		};
		for (let i = 0; i < garbage.length; i += AT_ONCE)
			await this.#lock.exclusive(() => Promise.all(garbage.slice(i, i + AT_ONCE).map(remove)));
		return { files, bytes };
	}

	/** One for all: it may know by now what it has read. */
	#in(area: string): BlobStore {
		const blobs = this.#areas.get(area) ?? this.#store.blobs(area);
		this.#areas.set(area, blobs);
		return blobs;
	}
}

const sizeOf = async (name: string, blobs: BlobStore): Promise<number | undefined> =>
	blobs.size ? blobs.size(name) : (await blobs.get(name))?.length;
