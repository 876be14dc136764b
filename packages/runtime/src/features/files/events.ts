/** The events of files. */
import type { Seq } from "@reyn/wal";
import type { KeptFile } from "./file-restore.ts";

/** A move has taken files back to what they held at `to`, except those that it kept. Also at a start that has finished what a crash cut. */
export interface FilesEvent {
	readonly type: "files_restored";
	readonly to: Seq;
	readonly changed: number;
	readonly kept: readonly KeptFile[];
}
