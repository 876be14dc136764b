/** Access to the tracked files of one directory: read, write, remove and set aside. It never follows a link. */
import { isUtf8 } from "node:buffer";
import { randomBytes } from "node:crypto";
import { lstat, open, readdir, readFile, rename, rmdir, unlink } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { atomicWrite } from "@reyn/wal/internal";
import { isInside } from "./records.ts";

/** The text of a file, or null if there is none; or why no record can hold it. */
export type Found = { readonly content: string | null } | { readonly why: string };

/** The largest file, in bytes: a record's line is not longer, so no larger file was ever recorded. */
const MAX_BYTES = 8 * 1024 * 1024;

/** Names that a killed `atomicWrite` leaves, and names that `setAside` makes. */
const ownName = /\.(tmp|unrecorded-[0-9a-f]{8})$/;

export class TrackedDirectory {
	readonly #root: string;

	constructor(path: string) {
		this.#root = resolve(path);
	}

	/** The paths of all entries but directories, without the leftovers of this module. Links are listed, not followed. */
	async list(folder = ""): Promise<readonly string[]> {
		const entries = await unlessMissing(readdir(this.#at(folder), { withFileTypes: true }));
		const lists = (entries ?? [])
			.filter(({ name }) => !ownName.test(name))
			.map(async (entry) => {
				const path = folder ? `${folder}/${entry.name}` : entry.name;
				return entry.isDirectory() ? this.list(path) : [path];
			});
		return (await Promise.all(lists)).flat();
	}

	async inspect(path: string): Promise<Found> {
		const found = await unlessMissing(lstat(this.#at(path)));
		if (!found || found.isDirectory()) return { content: null };
		if (!found.isFile()) return { why: "it is no plain file" };
		if (found.size > MAX_BYTES) return { why: `it is larger than ${MAX_BYTES} bytes` };
		const bytes = await unlessMissing(readFile(this.#at(path)));
		if (!bytes) return { content: null };
		return isUtf8(bytes) ? { content: bytes.toString() } : { why: "it is not UTF-8" };
	}

	/** Why a path leads out of the directory, and must not be touched; undefined: it does not. */
	async beyond(path: string): Promise<string | undefined> {
		if (!isInside(path)) return "it is no path that a record may name";
		for (const folder of foldersAbove(path)) {
			const found = await unlessMissing(lstat(this.#at(folder)));
			if (found?.isSymbolicLink()) return `${folder} is a symbolic link`;
		}
		return undefined;
	}

	/** Writes a file. A folder of the same name is removed if there is no file in it. */
	async write(path: string, content: string): Promise<void> {
		await this.#removeFolder(path);
		await atomicWrite(this.#at(path), content);
	}

	/** Removes a file; `sync` makes that durable. */
	async remove(path: string): Promise<void> {
		await unlessMissing(unlink(this.#at(path)));
	}

	/** Removes empty folders above a path, since a file may need the name; `sync` makes that durable. */
	async prune(path: string): Promise<void> {
		for (const folder of foldersAbove(path).reverse()) {
			try {
				await rmdir(this.#at(folder));
			} catch (error) {
				if (!isMissing(error)) return;
			}
		}
	}

	/** Renames whatever is at a path, durably, to `<path>.unrecorded-<8 hex digits>`. @returns the new path */
	async setAside(path: string): Promise<string> {
		const keptIn = `${path}.unrecorded-${randomBytes(4).toString("hex")}`;
		await rename(this.#at(path), this.#at(keptIn));
		await syncDirectory(dirname(this.#at(path)));
		return keptIn;
	}

	/** Makes it durable which files exist and which do not, also those that a killed process has written or removed. */
	async sync(paths: readonly string[]): Promise<void> {
		for (const folder of new Set(["", ...paths.flatMap(foldersAbove)]))
			await unlessMissing(syncDirectory(this.#at(folder)));
	}

	/** Removes a folder and the empty folders in it. @throws `ENOTEMPTY` when there is a file below */
	async #removeFolder(path: string): Promise<void> {
		const entries = await unlessMissing(readdir(this.#at(path), { withFileTypes: true }));
		if (!entries) return;
		for (const entry of entries) if (entry.isDirectory()) await this.#removeFolder(`${path}/${entry.name}`);
		await rmdir(this.#at(path));
	}

	#at(path: string): string {
		return join(this.#root, path);
	}
}

/** `a/b/c` has `a` and `a/b` above it. */
function foldersAbove(path: string): string[] {
	return path
		.split("/")
		.slice(0, -1)
		.map((_, i, parts) => parts.slice(0, i + 1).join("/"));
}

/** Makes the names in a directory durable. Windows has no such call and needs none. */
async function syncDirectory(path: string): Promise<void> {
	if (process.platform === "win32") return;
	const directory = await open(path, "r");
	try {
		await directory.sync();
	} finally {
		await directory.close();
	}
}

async function unlessMissing<T>(run: Promise<T>): Promise<T | undefined> {
	try {
		return await run;
	} catch (error) {
		if (isMissing(error)) return undefined;
		throw error;
	}
}

/** Does an error say that a path does not exist? A file where a folder was expected counts too. */
function isMissing(error: unknown): boolean {
	const { code } = error as NodeJS.ErrnoException;
	return code === "ENOENT" || code === "ENOTDIR";
}
