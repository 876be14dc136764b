/**
 * The blobs that a script run keeps beside the log: its text, its arguments and its result. Each is named by its hash, so that a
 * rewind to an earlier version of the script finds that version.
 */
import { hash } from "node:crypto";
import { hashedTexts } from "@reyn/journal/internal";
import { scriptRecords, scriptRuns } from "@reyn/journal/script";
import { type BlobStore, canonicalJson, WalError } from "@reyn/wal";
import { RuntimeError } from "../../kernel/errors.ts";
import type { BlobArea } from "../../kernel/store.ts";

/** The hash that names a version of a script, or of its arguments. */
export const versionOf = (text: string): string => hash("sha256", text, "hex");

/** The stored text of arguments: canonical JSON. @throws WalError `WAL_NOT_JSON` naming the field */
export const argsText = (args: unknown): string => canonicalJson(args ?? null);

/** The largest text of a script or of arguments, in bytes: as much as a record could hold. */
const MAX_GIVEN = 8 * 1024 * 1024;
/** The largest result, in bytes: no string of V8 is longer, so no larger one was ever written. */
const MAX_RESULT = 512 * 1024 * 1024;

const limits = { text: MAX_GIVEN, arguments: MAX_GIVEN, result: MAX_RESULT } as const;
type What = keyof typeof limits;

export interface ScriptText {
	/** The name of its file, without a directory. */
	readonly name: string;
	readonly source: string;
}

export class ScriptFiles {
	readonly #blobs: BlobStore;

	/** @param blobs the blobs of {@link scriptsArea} */
	constructor(blobs: BlobStore) {
		this.#blobs = blobs;
	}

	/** Stores a script; it is durable when the promise resolves. @returns its hash */
	keepScript(source: string): Promise<string> {
		return this.#keep("text", source);
	}

	/** @throws WalError `WAL_NOT_JSON` naming the field */
	keepArgs(args: unknown): Promise<string> {
		return this.#keep("arguments", argsText(args));
	}

	keepResult(result: unknown): Promise<string> {
		return this.#keep("result", canonicalJson(result));
	}

	readScript(sha256: string): Promise<string> {
		return this.#read("text", sha256);
	}

	async readArgs(sha256: string): Promise<unknown> {
		return JSON.parse(await this.#read("arguments", sha256));
	}

	async readResult(sha256: string): Promise<unknown> {
		return JSON.parse(await this.#read("result", sha256));
	}

	async #keep(what: What, text: string): Promise<string> {
		const bytes = Buffer.byteLength(text);
		if (bytes > limits[what])
			throw new WalError(
				"WAL_TOO_LARGE",
				`the ${what} of a script run may have ${limits[what]} bytes; found ${bytes}. Keep what is large in a file, and give its path`,
				{ bytes, limit: limits[what] },
			);
		return hashedTexts.put(text, this.#blobs);
	}

	async #read(what: What, sha256: string): Promise<string> {
		const read = await hashedTexts.get(sha256, this.#blobs, limits[what]);
		if (read.kind === "sound") return read.text;
		throw new RuntimeError(
			"RUNTIME_SCRIPT_LOST",
			`the ${what} of the script run cannot be used: in ${AREA}, ${read.why}. Bring it back from a copy; the steps of the run are in the log, and nothing of them is lost`,
			{ what, sha256 },
		);
	}
}

const AREA = "scripts";

/** The area of these blobs: which names belong to it, and which records and states refer to them. */
export const scriptsArea: BlobArea = {
	area: AREA,
	isName: hashedTexts.isName,
	ofRecord: ({ kind, data }) => (kinds.includes(kind) ? namesIn(data as Hashes) : []),
	ofView: (view) => Object.values(view.get(scriptRuns)).flatMap(namesIn),
};

const kinds: readonly string[] = scriptRecords.map(({ kind }) => kind);

/** The hashes in a record or a state of a run. */
interface Hashes {
	readonly script?: string;
	readonly args?: string;
	readonly result?: string | undefined;
}

const namesIn = ({ script, args, result }: Hashes): readonly string[] => hashedTexts.namesOf(script, args, result);
