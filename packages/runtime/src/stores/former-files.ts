/**
 * What older versions wrote where today's puts blobs: each file is a blob under the hash of what it holds. They are read and taken
 * away as blobs are, and none is written any more.
 */
import { hash } from "node:crypto";
import { basename, dirname, relative, sep } from "node:path";
import { type BlobStore, isReynError, readOwnFile, removeFiles } from "@reyn/wal";
import { formerPlansIn, type Layout } from "./layout.ts";
import { filesBelow, sizeOf } from "./own-tree.ts";

interface Former {
	readonly path: string;
	/** How its hash begins, as its name says. */
	readonly begins: string;
	/** More bytes were never written there. */
	readonly limit: number;
}

/** A store of blobs, and what lies where older versions put those of its area. */
export function withFormerFiles(layout: Layout, area: string, blobs: BlobStore): BlobStore {
	const formersOf = kinds[area];
	if (!formersOf) return blobs;
	/** Of what was read and was sound: nobody writes there any more, and who reads a blob holds it to its hash. */
	const names = new Map<string, string>();

	const nameOf = async ({ path, begins, limit }: Former): Promise<string | undefined> => {
		const bytes = await unlessTooLarge(readOwnFile(path, limit));
		const sha256 = bytes && hash("sha256", bytes, "hex");
		// What has changed under its name is not ours to judge.
		return sha256?.startsWith(begins) ? `${sha256.slice(0, 2)}/${sha256}` : undefined;
	};

	async function* named(sha256?: string): AsyncGenerator<{ readonly path: string; readonly name: string }> {
		for await (const former of formersOf?.(layout) ?? []) {
			if (sha256 !== undefined && !sha256.startsWith(former.begins)) continue;
			const name = names.get(former.path) ?? (await nameOf(former));
			if (name === undefined) continue;
			names.set(former.path, name);
			yield { path: former.path, name };
		}
	}

	/** Those that are the blob of this name. */
	async function* called(name: string): AsyncGenerator<string> {
		for await (const each of named(basename(name))) if (each.name === name) yield each.path;
	}

	return {
		put: (name, bytes) => blobs.put(name, bytes),
		async get(name, limit) {
			let failure: unknown;
			const found = await blobs.get(name, limit).catch((error: unknown) => {
				failure = error;
				return undefined;
			});
			// What lies there in its place hides no sound one.
			if (found && hash("sha256", found) === basename(name)) return found;
			for await (const path of called(name)) {
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

async function unlessTooLarge<T>(reading: Promise<T>): Promise<T | undefined> {
	try {
		return await reading;
	} catch (error) {
		if (!isReynError(error, "WAL_TOO_LARGE")) throw error;
		return undefined;
	}
}
