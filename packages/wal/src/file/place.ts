/** Where a log lies, and what an acknowledgement means there. */
import type { FileSystem } from "../disk/disk.ts";
import type { Place } from "../engine/engine.ts";

/** @param found what `Disk.fileSystem` says */
export function placeOn(found: FileSystem | undefined): Place {
	if (!found) return { durability: "disk" };
	return { durability: found.kind === "memory" ? "machine" : "unproven", fileSystem: found.name };
}
