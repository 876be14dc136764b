/** The names of a log's files, once. */
import { join } from "node:path";
import type { Seq } from "../record/record.ts";

export const activePath = (directory: string): string => join(directory, "wal.jsonl");
export const headPath = (directory: string): string => join(directory, "wal.head");
export const basePath = (directory: string): string => join(directory, "wal.base");
export const lockPath = (directory: string): string => join(directory, "wal.lock");
export const sealedPath = (directory: string, first: Seq): string =>
	join(directory, `wal-${String(first).padStart(20, "0")}.jsonl`);

const SEALED = /^wal-(\d{20})\.jsonl$/;

/** The first seqs of the sealed segments, oldest first. */
export function sealedFirsts(names: readonly string[]): Seq[] {
	return names
		.flatMap((name) => SEALED.exec(name)?.[1] ?? [])
		.map(Number)
		.sort((a, b) => a - b);
}

/** The paths of the sealed segments, oldest first. */
export function sealedPaths(directory: string, names: readonly string[]): readonly string[] {
	return names
		.filter((name) => SEALED.test(name))
		.sort()
		.map((name) => join(directory, name));
}

/** What a crash may have left of a file that was being written; nothing ever refers to it. */
export const isTemporary = (name: string): boolean => /^wal\..*\.tmp$/.test(name);

const BROKEN = /^wal\.jsonl\.broken-(\d+)-[0-9a-f]{8}$/;

/** Does it keep the bytes of a torn tail? */
export const isBroken = (name: string): boolean => BROKEN.test(name);

/** The seq that those bytes would have begun with. */
export const brokenSeq = (name: string): Seq => Number(BROKEN.exec(name)?.[1] ?? 0);

/** Where they are kept. @param hash of them, and in a log that was taken over of what it says since before them */
export const brokenPath = (directory: string, seq: Seq, hash: string): string =>
	`${activePath(directory)}.broken-${seq}-${hash.slice(0, 8)}`;

/** Where a repair keeps a segment that it replaces: the first seq that it gave up, and the segment's SHA-256. */
export const repairedPath = (path: string, seq: Seq, sha256: string): string =>
	`${path}.repaired-${seq}-${sha256.slice(0, 8)}`;
