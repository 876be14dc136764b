/** The port for whole files, over `node:fs/promises`. */
import { constants } from "node:fs";
import { lstat, mkdir, open, readdir, rename, unlink } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { codeOf } from "../errors.ts";
import type { Files } from "./files.ts";
import { assertOwnDirectory, readOwnFile } from "./own-files.ts";

/** The files of the real file system, each call in a thread of libuv's. */
export const nodeFiles: Files = {
	async create(path) {
		const file = await open(path, "wx", 0o600);
		return {
			write: async (bytes, position) => (await file.write(bytes, 0, bytes.length, position)).bytesWritten,
			sync: () => file.datasync(),
			close: () => file.close(),
		};
	},
	read: readOwnFile,
	size: async (path) => (await unless(["ENOENT", "ENOTDIR"], lstat(path)))?.size,
	async list(directory) {
		const found = await unless(["ENOENT", "ENOTDIR"], lstat(directory));
		if (!found || found.isFile()) return [];
		assertOwnDirectory(directory);
		return (await unless(["ENOENT"], readdir(directory))) ?? [];
	},
	assertOwn: async (directory) => assertOwnDirectory(directory),
	makeDirectory: async (path) =>
		(await unless(
			["EEXIST"],
			mkdir(path, { mode: 0o700 }).then(() => true),
		)) ?? false,
	rename,
	...(process.platform === "win32" && { pause: (ms) => sleep(ms) }),
	remove: (path) => unless(["ENOENT"], unlink(path)),
	async syncDirectory(path) {
		// Windows has no such call, and keeps its directories in order without one.
		if (process.platform === "win32") return;
		const directory = await open(path, constants.O_RDONLY | constants.O_DIRECTORY);
		try {
			await directory.sync();
		} finally {
			await directory.close();
		}
	},
};

/** What comes of a call, or undefined when it fails with one of these codes. */
async function unless<T>(codes: readonly string[], call: Promise<T>): Promise<T | undefined> {
	try {
		return await call;
	} catch (error) {
		if (codes.includes(codeOf(error) ?? "")) return undefined;
		throw error;
	}
}
