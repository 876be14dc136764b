/** The events of files. */
import type { FilesRestored } from "./file-restore.ts";

/** A start has finished a move that a crash had cut, and that takes files along. */
export interface FilesEvent extends FilesRestored {
	readonly type: "files_restored";
}
