/** What every contender does, whatever it keeps its records in. */
import type { Entry } from "../entry.ts";

export interface Store {
	/** Resolves when the entry is on disk. */
	append(entry: Entry): Promise<unknown> | undefined;
	/** Appends and does not wait, where there is such a thing. */
	readonly unawaited?: Unawaited;
	close(): Promise<unknown> | undefined;
}

export interface Unawaited {
	/** Takes one entry, to be on disk some time later. */
	append(entry: Entry): void;
	/** Resolves when it is well to append more. */
	ready(): Promise<void>;
	/** Resolves when all of it is on disk. */
	done(): Promise<void>;
}

/**
 * Opens a new store in an empty directory.
 *
 * @param together many append at once: what waits may share a commit, where the store leaves that to its users
 */
export type Open = (directory: string, together: boolean) => Promise<Store>;
