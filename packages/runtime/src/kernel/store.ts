/** The store port of a runtime: its log and its blobs. `fileStore` and `engineStore` implement it. */
import { spilledResults } from "@reyn/journal";
import type { View } from "@reyn/snapshot";
import type { BlobStore, Draft, LogEngine, Seq } from "@reyn/wal";
import type { TrailDirectory } from "../stores/trail-files.ts";

export interface Store {
	readonly engine: LogEngine;
	/** The name of the log to open, among those of the engine. */
	readonly realm: string;
	/** The blobs beside the log, in a store of its own for each area. The name of an area has at most 9 characters. */
	blobs(area: string): BlobStore;
	/** A directory of this machine, for things that need one, such as a workspace. */
	readonly local: string | undefined;
	/** The directory of configuration files. Absent: there are none. */
	readonly config?: string;
	/** The directory of the audit trail. Absent: there is no trail. */
	readonly trail?: TrailDirectory;
	/** What tools keep of calls, each in a directory of this machine. Absent: nothing. */
	readonly calls?: CallFiles;
	/** Throws if the store cannot be used, before its log is opened. Reads only. */
	check?(): Promise<void>;
	/** Removes what killed writes have left, and what nobody reads any more. Only the writer of the log may call it. */
	sweep?(options: { readonly dryRun: boolean }): Promise<Gone>;
}

/** What tools keep of calls, such as what a command has printed. It is named by the call (`callName`), whose start is durable before. */
export interface CallFiles {
	list(): Promise<readonly string[]>;
	/** Removes all that is kept under these names, or only counts it. */
	remove(names: readonly string[], options: { readonly dryRun: boolean }): Promise<Gone>;
}

/** What was removed, or would be. */
export interface Gone {
	readonly files: number;
	readonly bytes: number;
}

/**
 * An area of blobs, whose owner says which records and states refer to which blob. Names are relative to the area, and contain no name
 * that a person gave. In an area with several owners, a blob stays while any of them refers to it.
 */
export interface BlobArea {
	readonly area: string;
	/** Does a name belong to this owner? Other blobs of the area belong to others. */
	isName(name: string): boolean;
	ofRecord(said: Draft): readonly string[];
	ofView(view: View): readonly string[];
	/** What the state of the whole log needs, so that one can go to these seqs. Absent: nothing. */
	ofLog?(view: View, moments: readonly Seq[]): readonly string[];
}

/** The area of step results, where other large texts lie too. */
export const RESULTS = "results";

/** The area of bytes as they are: before-images (what files held before tools changed them), and the files that messages and results name. */
export const IMAGES = "images";

/** An owner of attached files. */
export const amongFiles = (who: Pick<BlobArea, "ofRecord" | "ofView">): BlobArea => ({
	area: IMAGES,
	isName: spilledResults.isName,
	...who,
});

/** An owner of blobs in the area of results. */
export const amongResults = (who: Pick<BlobArea, "ofRecord" | "ofView">): BlobArea => ({
	area: RESULTS,
	isName: spilledResults.isName,
	...who,
});
