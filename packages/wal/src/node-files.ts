import { lstat, mkdir, open, readdir, readFile, rename, unlink } from "node:fs/promises";
import type { Files } from "./files.ts";

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
	read: (path) => unless(["ENOENT"], readFile(path)),
	list: async (directory) => (await unless(["ENOENT", "ENOTDIR"], readdir(directory))) ?? [],
	isLink: async (path) => (await unless(["ENOENT", "ENOTDIR"], lstat(path)))?.isSymbolicLink() ?? false,
	makeDirectory: async (path) =>
		(await unless(
			["EEXIST"],
			mkdir(path, { mode: 0o700 }).then(() => true),
		)) ?? false,
	rename,
	remove: (path) => unless(["ENOENT"], unlink(path)),
	async syncDirectory(path) {
		// Windows has no such call, and keeps its directories in order without one.
		if (process.platform === "win32") return;
		const directory = await open(path, "r");
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
		if (codes.includes((error as NodeJS.ErrnoException).code ?? "")) return undefined;
		throw error;
	}
}
