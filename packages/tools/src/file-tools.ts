/** `list`, `search` and `read`: the tools that look at one directory; and, for who wants them, those that change it. */
import type { Tool } from "@reyn/journal";
import { systemTimers } from "@reyn/wal";
import { Effort, type Limits } from "./effort.ts";
import { listFiles } from "./list-files.ts";
import { readFile } from "./read-file.ts";
import { openRoot, type RootDirectory, type RootOptions } from "./root-directory.ts";
import { searchFiles } from "./search-files.ts";
import { MAX_FILE_BYTES } from "./work-files.ts";
import { writeTools } from "./write-files.ts";

export interface FileToolOptions extends RootOptions {
	/** Files above this size are named but not read, searched or changed. Default 1 MB. */
	readonly maxFileBytes?: number;
	/** A walk stops after this many files and directories and says so. Default 20,000. */
	readonly maxFiles?: number;
	/** `write`, `edit` and `remove` too; `read` says the version of a file then. Say by a gate which calls may be made. Default: false. */
	readonly writes?: boolean;
}

/** What each file tool works on. */
export interface Workspace {
	readonly maxFileBytes: number;
	/** Are there tools that change files? */
	readonly writes?: boolean;
	root(): Promise<RootDirectory>;
	/** What one call may use. */
	effort(signal: AbortSignal): Effort;
}

export const defaultLimits: Limits = {
	maxFiles: 20_000,
	maxBytes: 256_000_000,
	maxMs: 20_000,
	maxCompared: 200_000_000,
};

/**
 * `list`, `search` and `read` over one directory, and with `writes` `write`, `edit` and `remove`. They never leave the directory and
 * follow no symbolic link.
 */
export function createFileTools(root: string, options: FileToolOptions = {}): readonly Tool[] {
	const { maxFileBytes = MAX_FILE_BYTES, maxFiles = defaultLimits.maxFiles, writes = false } = options;
	return fileToolsOver({
		...{ maxFileBytes, writes },
		root: () => openRoot(root, options),
		effort: (signal) => new Effort({ ...defaultLimits, maxFiles }, signal, systemTimers),
	});
}

export const fileToolsOver = (workspace: Workspace): readonly Tool[] => [
	listFiles(workspace),
	searchFiles(workspace),
	readFile(workspace),
	...(workspace.writes ? writeTools(workspace) : []),
];
