/**
 * Blobs are put before the record that names them. So a blob that this process has put is safe from collection until the state is
 * closed: its record may be on the way. A blob that an earlier process has put, and nothing names, is garbage: there is one writer at a
 * time, so that process is over and can append no record any more. No clock and no file time is needed for this.
 */
import { type BlobStore, WalError } from "@reyn/wal";
import { SharedLock } from "../kernel/shared-lock.ts";
import type { Gone, Store } from "../kernel/store.ts";

/** How many blobs are removed under one exclusive lock: a put never waits for more than these. */
const AT_ONCE = 32;

export class Beside {
	readonly #store: Pick<Store, "blobs">;
	readonly #isReadOnly: boolean;
	readonly #areas = new Map<string, BlobStore>();
	readonly #lock = new SharedLock();
	/** The blobs that this process has put, as `area/name`. */
	readonly #young = new Set<string>();

	/** @param isReadOnly is nothing put, as nothing is recorded? */
	constructor(store: Pick<Store, "blobs">, isReadOnly = false) {
		this.#store = store;
		this.#isReadOnly = isReadOnly;
	}

	blobs(area: string): BlobStore {
		const blobs = this.#in(area);
		return {
			put: async (name, bytes) => {
				if (this.#isReadOnly)
					throw new WalError("WAL_READ_ONLY", "this state was opened with readOnly; open it for writing");
				return this.#lock.shared(() => {
					this.#young.add(`${area}/${name}`);
					return blobs.put(name, bytes);
				});
			},
			get: (name, limit) => blobs.get(name, limit),
			list: (prefix) => blobs.list(prefix),
			delete: (name) => blobs.delete(name),
		};
	}

	/** Removes the blobs that are garbage and not young, or only counts them. */
	async remove(area: string, isGarbage: (name: string) => boolean, dryRun: boolean): Promise<Gone> {
		const blobs = this.#in(area);
		const garbage = (await blobs.list("")).filter(isGarbage);
		let [files, bytes] = [0, 0];
		const remove = async (name: string): Promise<void> => {
			// Checked under the lock: a blob that was put again meanwhile is young.
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

	/** The store of an area, made once, since it may cache what it has read. */
	#in(area: string): BlobStore {
		const blobs = this.#areas.get(area) ?? this.#store.blobs(area);
		this.#areas.set(area, blobs);
		return blobs;
	}
}

const sizeOf = async (name: string, blobs: BlobStore): Promise<number | undefined> =>
	blobs.size ? blobs.size(name) : (await blobs.get(name))?.length;
