/** The directory of an audit trail on a disk: its files are this user's own, and no link is followed. */
import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { codeOf } from "@reyn/wal";
import { appendOwn, assertOwnDirectory, readOwnPart, removeFiles } from "@reyn/wal/internal";
import { sizeOf } from "./own-tree.ts";
import type { TrailDirectory } from "./trail-files.ts";

export function trailDirectory(directory: string): TrailDirectory {
	return {
		async list() {
			assertOwnDirectory(directory);
			const names = await readdir(directory).catch((error: unknown) => {
				if (codeOf(error) === "ENOENT") return [];
				throw error;
			});
			return Promise.all(names.map(async (name) => ({ name, bytes: (await sizeOf(join(directory, name))) ?? 0 })));
		},
		read: async (name, position, most) =>
			(await readOwnPart(join(directory, name), position, most)) ?? new Uint8Array(0),
		async create(name, bytes) {
			assertOwnDirectory(directory);
			await mkdir(directory, { mode: 0o700 }).catch((error: unknown) => {
				if (codeOf(error) !== "EEXIST") throw error;
			});
			await appendOwn(join(directory, name), bytes, "new");
		},
		append: (name, bytes) => appendOwn(join(directory, name), bytes, "more"),
		remove: (names) => removeFiles(directory, names),
	};
}
