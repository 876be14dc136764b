/** A state in a realm of any engine that keeps blobs: a database, say. Nothing of it lies in a directory. */
import { type BlobStore, type LogEngine, WalError } from "@reyn/wal";
import { blobsBelow } from "@reyn/wal/internal";
import { RuntimeError } from "../kernel/errors.ts";
import type { Store } from "../kernel/store.ts";

/** How areas and names below them lie in a realm. */
const FORMAT = 1;
/** The blob that says so, from the first one on. */
const SAYS = "store";

/** The store of a realm of an engine. The engine is the caller's: it outlives the runtime, and is closed by who made it. */
export function engineStore(engine: LogEngine, realm = "main"): Store {
	/** Is the format known to be said? */
	let isSaid = false;
	const all = (): BlobStore => {
		const blobs = (engine as Partial<LogEngine>).blobs?.(realm);
		if (blobs) return blobs;
		throw new RuntimeError(
			"RUNTIME_STORE",
			"the engine keeps no blobs, and large results, plans, scripts and snapshots have to lie somewhere; nothing was written. Give one whose `blobs` of a realm is a BlobStore",
		);
	};
	return {
		engine,
		realm,
		local: undefined,
		async check() {
			const said = await all().get(SAYS);
			if (!said) return;
			const format = Number(Buffer.from(said).toString());
			if (format !== FORMAT)
				throw new WalError(
					"WAL_NEWER_FORMAT",
					`the store of the realm "${realm}" is in format ${format}; this version of Reyn reads format ${FORMAT}. Upgrade to open it`,
					{ realm, version: format },
				);
			isSaid = true;
		},
		blobs(area) {
			const blobs = all();
			const own = blobsBelow(blobs, area);
			return {
				...own,
				async put(name, bytes) {
					if (!isSaid) await blobs.put(SAYS, Buffer.from(String(FORMAT)));
					isSaid = true;
					await own.put(name, bytes);
				},
			};
		},
	};
}
