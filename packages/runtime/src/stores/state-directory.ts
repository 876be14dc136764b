/** The store of a state in a directory (`.reyn/`): its log and its blobs as files. */
import { basename, dirname } from "node:path";
import { fileBlobs, fileEngine, memoryBlobs } from "@reyn/wal";
import { isTemporaryName, removeFiles } from "@reyn/wal/internal";
import type { Gone, Store } from "../kernel/store.ts";
import { callFiles } from "./call-files.ts";
import { withFormerFiles } from "./former-files.ts";
import { areaIn, areasIn, assertOwnState, formerPlansIn, type Layout, layoutOf } from "./layout.ts";
import { filesBelow, sizeOf } from "./own-tree.ts";
import { trailDirectory } from "./trail-directory.ts";

export interface FileStoreOptions {
	/** Keep the log on a network file system, whose locks and syncs may not hold. Default: false, which refuses one. */
	readonly allowNetwork?: boolean | undefined;
	/**
	 * Ignore stored snapshots. Those of a state from elsewhere could say anything; only its log says which work would go on. Default:
	 * false.
	 */
	readonly withoutSnapshots?: boolean | undefined;
}

/** The store of a state directory, usually `.reyn`. Files there that are not this user's own are refused with `WAL_UNSAFE`. */
export function fileStore(
	directory: string,
	{ allowNetwork = false, withoutSnapshots = false }: FileStoreOptions = {},
): Store {
	const layout = layoutOf(directory);
	/** The puts under way. */
	const puts = new Set<Promise<void>>();
	return {
		engine: fileEngine(layout.wal, { allowNetwork }),
		realm: "main",
		local: directory,
		trail: trailDirectory(layout.events),
		config: layout.config,
		calls: callFiles(layout),
		async check() {
			assertOwnState(layout);
		},
		blobs(area) {
			if (withoutSnapshots && area === "snapshots") return memoryBlobs();
			const blobs = withFormerFiles(layout, area, fileBlobs(areaIn(layout, area)));
			return { ...blobs, put: (name, bytes) => following(puts, blobs.put(name, bytes)) };
		},
		sweep: ({ dryRun }) => sweep(layout, puts, dryRun),
	};
}

/**
 * Removes the temporary files of killed writes, and the stored states from before the log was taken over.
 *
 * @throws WalError `WAL_UNSAFE`
 */
async function sweep(layout: Layout, puts: ReadonlySet<Promise<void>>, dryRun: boolean): Promise<Gone> {
	const found: string[] = [];
	for (const { directory, isFormer } of areasIn(layout))
		for await (const path of filesBelow(layout.root, directory))
			if (isFormer || isTemporaryName(basename(path))) found.push(path);
	for (const directory of [layout.runs, layout.config, ...formerPlansIn(layout)])
		for await (const path of filesBelow(layout.root, directory)) if (isTemporaryName(basename(path))) found.push(path);
	// Temporary files of this process are gone once its writes are over; newer ones were not found above.
	await Promise.allSettled(puts);
	let [files, bytes] = [0, 0];
	for (const [directory, paths] of Map.groupBy(found, dirname)) {
		const sizes = await Promise.all(paths.map(sizeOf));
		const left = paths.filter((_, i) => sizes[i] !== undefined).map((path) => basename(path));
		if (!dryRun && left.length > 0) await removeFiles(directory, left);
		files += left.length;
		bytes += sizes.reduce<number>((sum, size = 0) => sum + size, 0);
	}
	return { files, bytes };
}

async function following(among: Set<Promise<void>>, work: Promise<void>): Promise<void> {
	among.add(work);
	try {
		await work;
	} finally {
		among.delete(work);
	}
}
