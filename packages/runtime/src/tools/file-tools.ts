import type { Tool } from "@reyn/journal";
import { listFiles } from "./list-files.ts";
import { readFile } from "./read-file.ts";
import { openRoot, type RootDirectory } from "./root-directory.ts";
import { searchFiles } from "./search-files.ts";

export interface FileToolOptions {
	/** Files above this size are named but not read or searched. Default 1 MB. */
	readonly maxFileBytes?: number;
	/** A walk stops after this many files and says so. Default 20,000. */
	readonly maxFiles?: number;
}

/** What each file tool works on. */
export interface Workspace {
	readonly maxFileBytes: number;
	readonly maxFiles: number;
	root(): Promise<RootDirectory>;
}

/** `list`, `search` and `read` over one directory. They only look, never leave the directory and follow no symbolic link. */
export function createFileTools(root: string, options: FileToolOptions = {}): readonly Tool[] {
	const { maxFileBytes = 1_000_000, maxFiles = 20_000 } = options;
	const workspace: Workspace = { maxFileBytes, maxFiles, root: () => openRoot(root) };
	return [listFiles(workspace), searchFiles(workspace), readFile(workspace)];
}
