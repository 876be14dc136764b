/** Where a runtime keeps what outlives it: the port that `fileStore` and `engineStore` fill, and who says what of it is needed. */
import { spilledResults } from "@reyn/journal";
import type { View } from "@reyn/snapshot";
import type { BlobStore, Draft, LogEngine } from "@reyn/wal";

export interface Store {
	readonly engine: LogEngine;
	/** Of the engine's logs, the one to open. */
	readonly realm: string;
	/** What lies beside the log, a store of its own for each area. An area's name has at most 9 characters. */
	blobs(area: string): BlobStore;
	/** A directory of this machine, for what only that can have: a workspace, say. */
	readonly local: string | undefined;
	/** Refuses a store that cannot be used, before its log is opened. Reads only. */
	check?(): Promise<void>;
	/** Takes away what writes that were killed have left, and what nobody reads any more. Only the writer of the log may. */
	sweep?(options: { readonly dryRun: boolean }): Promise<Gone>;
}

/** What went, or would go. */
export interface Gone {
	readonly files: number;
	readonly bytes: number;
}

/**
 * Blobs that only their owner can say who refers to. A name is below the area, and holds no name that a person gave. Of an area that
 * several have, what each refers to stays.
 */
export interface BlobArea {
	readonly area: string;
	/** What else lies there is somebody else's. */
	isName(name: string): boolean;
	ofRecord(said: Draft): readonly string[];
	ofView(view: View): readonly string[];
}

/** Results of steps, which large texts of other kinds lie among. */
export const RESULTS = "results";

/** What lies among the results, and who refers to it. */
export const amongResults = (who: Pick<BlobArea, "ofRecord" | "ofView">): BlobArea => ({
	area: RESULTS,
	isName: spilledResults.isName,
	...who,
});
