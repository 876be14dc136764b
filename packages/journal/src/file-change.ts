/** A change of one file, as a tool's `prepare` says it: so the log knows which file a step changed, and what that held before. */
import { hash } from "node:crypto";
import type { BlobStore, WalRecord } from "@reyn/wal";
import { z } from "zod";
import { nameOf } from "./blob-name.ts";
import { stepStarted } from "./records.ts";

/** The first digits of the SHA-256 of what a file holds. */
const version = z.string().regex(/^[0-9a-f]{16}$/);

const imageSchema = z.object({
	/** Of the bytes, which lie beside the log under it. */
	sha256: z.string().regex(/^[0-9a-f]{64}$/),
	bytes: z.int().nonnegative(),
	/** The permissions of the file. */
	mode: z.int().min(0).max(0o777),
});

export const fileChangeSchema = z.object({
	/** Below the root of the tools, with `/`. */
	path: z.string().min(1),
	/** What the file holds before and after; null: there is none. */
	before: version.nullable(),
	after: version.nullable(),
	/** The before-image. Absent: there was no file, or nothing was kept. */
	image: imageSchema.exactOptional(),
	/** The uppermost directory on its way that was missing: the change makes it, and those below it. */
	makes: z.string().min(1).exactOptional(),
});

/** A change of one file; a tool whose `prepare` gives one is known to change that file alone. */
export type FileChange = z.infer<typeof fileChangeSchema>;

/** What a file held before it was changed: the name and the size of a blob, and the permissions of the file. */
export type BeforeImage = z.infer<typeof imageSchema>;

/** The file that a started step changes; undefined: it is no such step. */
export function fileChangeOf({ kind, data }: Pick<WalRecord, "kind" | "data">): FileChange | undefined {
	if (kind !== stepStarted.kind) return undefined;
	return fileChangeSchema.safeParse((data as { readonly prepared?: unknown }).prepared).data;
}

/** A version of a file, by what it holds. */
export const fileVersion = (bytes: Uint8Array): string => hash("sha256", bytes, "hex").slice(0, 16);

/** Keeps bytes as a blob under their hash; durable when it resolves. */
export async function keepImage(bytes: Uint8Array, images: BlobStore): Promise<Omit<BeforeImage, "mode">> {
	const sha256 = hash("sha256", bytes, "hex");
	await images.put(nameOf(sha256), bytes);
	return { sha256, bytes: bytes.length };
}

/** The bytes of a before-image; undefined: they are missing, or others. */
export async function readImage({ sha256, bytes }: BeforeImage, images: BlobStore): Promise<Uint8Array | undefined> {
	const found = await images.get(nameOf(sha256), bytes).catch((error: { code?: unknown }) => {
		if (error.code === "WAL_TOO_LARGE") return undefined;
		throw error;
	});
	return found && hash("sha256", found) === sha256 ? found : undefined;
}

/** The name of the blob of a change, in the store of images. */
export const imageNameOf = ({ image }: Pick<FileChange, "image">): readonly string[] =>
	image ? [nameOf(image.sha256)] : [];

/** The files that tools change, seen through the door that the tools go through. */
export interface WorkFiles {
	/** @param path as in a {@link FileChange}, which may come from somebody else's log */
	read(path: string): Promise<FileContent>;
	/**
	 * Puts a file in its place, as one change that is durable when it resolves; null takes it away.
	 *
	 * @throws where it cannot: nothing has changed then
	 */
	put(path: string, content: { readonly bytes: Uint8Array; readonly mode: number } | null, how: PutFile): Promise<void>;
	/** Takes away what a put of this token has left that was cut. */
	forget(path: string, token: string): Promise<void>;
	/** The directories on the way of files. Absent: those that a change has made stay when it is taken back. */
	readonly directories?: WorkDirectories;
}

export interface WorkDirectories {
	/** The uppermost directory on the way to a file that is missing; undefined: none is. */
	missing(path: string): Promise<string | undefined>;
	/** Takes away a directory and then those around it, up to and with `from`, as far as each is empty; durable when it resolves. */
	clear(path: string, from: string): Promise<void>;
	/** What lies in a directory: the paths of its files and links at any depth, and of directories that are empty; undefined: it is none. */
	inside(path: string): Promise<readonly string[] | undefined>;
}

export interface PutFile {
	/** Names the put, so that what is not whole can be found after a crash. */
	readonly token: string;
	/** There must be none yet. */
	readonly isNew: boolean;
}

/** What a file holds. `unknown`: it cannot be said, and why. */
export type FileContent =
	| { readonly kind: "file"; readonly bytes: Uint8Array; readonly mode: number }
	| { readonly kind: "none" }
	| { readonly kind: "unknown"; readonly why: string };
