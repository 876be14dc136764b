/** The store of a state in any engine that keeps blobs, such as a database, without a directory. */
import { type BlobStore, type LogEngine, WalError } from "@reyn/wal";
import { blobsBelow } from "@reyn/wal/internal";
import { RuntimeError } from "../kernel/errors.ts";
import type { Store } from "../kernel/store.ts";

/** The version of the layout of areas and blob names in a realm. */
const FORMAT = 1;
/** The blob that holds the version; it is written before any other. */
const SAYS = "store";

/** The store of a realm of an engine. The caller owns the engine: it outlives the runtime, and the caller closes it. */
export function engineStore(engine: LogEngine, realm = "main"): Store {
	/** Is the version known to be written? */
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
