/** Texts beside the log, each under its own hash: a record says the hash, and what is read is what was written, or lost. */
import { hash } from "node:crypto";
import { type BlobStore, isReynError } from "@reyn/wal";
import { nameOf } from "./results.ts";
import { spilledResults } from "./spilled-results.ts";

export type ReadText =
	| { readonly kind: "sound"; readonly text: string }
	| { readonly kind: "lost"; readonly why: string };

export const hashedTexts = {
	isName: spilledResults.isName,

	/** What a record says may be anything: what is no hash has no name. */
	namesOf: (...hashes: readonly (string | undefined)[]): readonly string[] =>
		hashes.flatMap((sha256) => (sha256 !== undefined && isHash.test(sha256) ? [nameOf(sha256)] : [])),

	/** Durable when it resolves. Gives the hash. */
	async put(text: string, blobs: BlobStore): Promise<string> {
		const sha256 = hash("sha256", text, "hex");
		await blobs.put(nameOf(sha256), Buffer.from(text));
		return sha256;
	},

	/**
	 * Any other failure to read than its loss is thrown: it may pass.
	 *
	 * @param limit more bytes were never put there
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
