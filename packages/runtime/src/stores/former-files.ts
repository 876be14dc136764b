/**
 * Files of older versions, read as if they were blobs: each is a blob under the hash of its content. They are read and collected like
 * blobs; none is written any more.
 */
import { hash } from "node:crypto";
import { basename, dirname, relative, sep } from "node:path";
import { type BlobStore, isReynError, WalError } from "@reyn/wal";
import { hashOwnFile, readOwnFile, removeFiles } from "@reyn/wal/internal";
import { formerPlansIn, type Layout } from "./layout.ts";
import { filesBelow, sizeOf } from "./own-tree.ts";

interface Former {
	readonly path: string;
	/** The first digits of the hash, as the file's name has them. */
	readonly begins: string;
	/** The most bytes that were ever written to such a file. */
	readonly limit: number;
}

/** Adds the files of older versions to the blobs of an area. */
export function withFormerFiles(layout: Layout, area: string, blobs: BlobStore): BlobStore {
	const formersOf = kinds[area];
	if (!formersOf) return blobs;
	/** The blob names of files that were read and sound. A cache is safe: nobody writes there any more, and readers check the hash. */
	const names = new Map<string, string>();

	const nameOf = async ({ path, begins, limit }: Former): Promise<string | undefined> => {
		const sha256 = await unlessTooLarge(hashOwnFile(path, limit));
		// A file whose content does not match its name is left alone.
		return sha256?.startsWith(begins) ? `${sha256.slice(0, 2)}/${sha256}` : undefined;
	};

	/** The files whose names may stand for a hash, and whose size is possible. */
	async function candidates(sha256: string | undefined, limit: number): Promise<readonly Former[]> {
		const found: Former[] = [];
		let bytes = 0;
		for await (const former of formersOf?.(layout) ?? []) {
			if (sha256 !== undefined && !sha256.startsWith(former.begins)) continue;
			const size = (await sizeOf(former.path)) ?? 0;
			if (size > Math.min(former.limit, limit)) continue;
			found.push(former);
			if (!names.has(former.path)) bytes += size;
		}
		if (bytes > MAX_HASHED) throw tooMuch(layout, area, found.length, bytes);
		return found;
	}

	async function* named(
		sha256?: string,
		limit = MAX_RESULT,
	): AsyncGenerator<{ readonly path: string; readonly name: string }> {
		for (const former of await candidates(sha256, limit)) {
			const name = names.get(former.path) ?? (await nameOf(former));
			if (name === undefined) continue;
			names.set(former.path, name);
			yield { path: former.path, name };
		}
	}

	/** The files that are the blob of this name. */
	async function* called(name: string, limit?: number): AsyncGenerator<string> {
		for await (const each of named(basename(name), limit)) if (each.name === name) yield each.path;
	}

	return {
		put: (name, bytes) => blobs.put(name, bytes),
		async get(name, limit) {
			let failure: unknown;
			const found = await blobs.get(name, limit).catch((error: unknown) => {
				failure = error;
				return undefined;
			});
			// A damaged blob must not hide a sound file of an older version.
			if (found && hash("sha256", found) === basename(name)) return found;
			for await (const path of called(name, limit)) {
				const bytes = await readOwnFile(path, limit ?? MAX_RESULT);
				if (bytes) return bytes;
			}
			if (failure) throw failure;
			return found;
		},
		async size(name) {
			const found = await blobs.size?.(name);
			if (found !== undefined) return found;
			for await (const path of called(name)) return sizeOf(path);
			return undefined;
		},
		async list(prefix) {
			const found = new Set(await blobs.list(prefix));
			for await (const { name } of named()) if (name.startsWith(prefix)) found.add(name);
			return [...found].sort();
		},
		async delete(name) {
			for await (const path of called(name)) {
				await removeFiles(dirname(path), [basename(path)]);
				names.delete(path);
			}
			await blobs.delete(name);
		},
	};
}

const kinds: Readonly<Record<string, (layout: Layout) => AsyncIterable<Former>>> = {
	async *scripts({ root, runs }) {
		for await (const path of filesBelow(root, runs)) {
			const found = /^r[0-9a-f]{8}\/(?:script-([0-9a-f]{16})\.ts|(args|result)-([0-9a-f]{16})\.json)$/.exec(
				relative(runs, path).replaceAll(sep, "/"),
			);
			const [, script, what, other] = found ?? [];
			const begins = script ?? other;
			if (begins !== undefined) yield { path, begins, limit: what === "result" ? MAX_RESULT : MAX_GIVEN };
		}
	},
	async *plans(layout) {
		for (const plans of formerPlansIn(layout))
			for await (const path of filesBelow(layout.root, plans))
				if (/^p\d+\/decomposition\.json$/.test(relative(plans, path).replaceAll(sep, "/")))
					yield { path, begins: "", limit: MAX_PLAN };
	},
};

const MAX_GIVEN = 8 * 1024 * 1024;
const MAX_RESULT = 512 * 1024 * 1024;
const MAX_PLAN = 1024 * 1024;
/** The most bytes that are hashed to find out what files are: it takes seconds, and somebody may have put gigabytes there. */
const MAX_HASHED = 512 * 1024 * 1024;

function tooMuch({ runs, agents }: Layout, area: string, files: number, bytes: number): WalError {
	const path = area === "plans" ? agents : runs;
	return new WalError(
		"WAL_TOO_LARGE",
		`${path} has ${files} files that are called as older versions called theirs, of ${bytes} bytes together; expected at most ${MAX_HASHED}, and none of them was read. Move away what is not yours`,
		{ path, files, bytes, limit: MAX_HASHED },
	);
}

async function unlessTooLarge<T>(reading: Promise<T>): Promise<T | undefined> {
	try {
		return await reading;
	} catch (error) {
		if (!isReynError(error, "WAL_TOO_LARGE")) throw error;
		return undefined;
	}
}
