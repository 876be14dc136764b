/** Texts beside the log, each named by its hash. The record holds the hash, so a text that is read is the one written, or it is lost. */
import { hash } from "node:crypto";
import { type BlobStore, isReynError } from "@reyn/wal";
import { nameOf } from "./blob-name.ts";
import { spilledResults } from "./spilled-results.ts";

export type ReadText =
	| { readonly kind: "sound"; readonly text: string }
	| { readonly kind: "lost"; readonly why: string };

export const hashedTexts = {
	isName: spilledResults.isName,

	/** The names of the blobs of some hashes. Anything that is no hash has none: a record may hold any text there. */
	namesOf: (...hashes: readonly (string | undefined)[]): readonly string[] =>
		hashes.flatMap((sha256) => (sha256 !== undefined && isHash.test(sha256) ? [nameOf(sha256)] : [])),

	/** Writes a text; it is durable when the promise resolves. @returns its hash */
	async put(text: string, blobs: BlobStore): Promise<string> {
		const sha256 = hash("sha256", text, "hex");
		await blobs.put(nameOf(sha256), Buffer.from(text));
		return sha256;
	},

	/**
	 * Reads a text, or says that it is lost.
	 *
	 * @param limit the most bytes that were ever written; a longer blob is not ours
	 * @throws any other failure to read, which may pass
	 */
	async get(sha256: string, blobs: BlobStore, limit: number): Promise<ReadText> {
		const [name] = hashedTexts.namesOf(sha256);
		if (name === undefined) return { kind: "lost", why: `${JSON.stringify(sha256)} is no hash` };
		let bytes: Uint8Array | undefined;
		try {
			bytes = await blobs.get(name, limit);
		} catch (error) {
			if (isReynError(error, "WAL_TOO_LARGE")) return { kind: "lost", why: (error as Error).message };
			throw error;
		}
		if (!bytes) return { kind: "lost", why: `${name} is gone` };
		if (hash("sha256", bytes, "hex") !== sha256)
			return { kind: "lost", why: `${name} is not what was written: its hash has changed` };
		return { kind: "sound", text: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString() };
	},
};

const isHash = /^[0-9a-f]{64}$/;
