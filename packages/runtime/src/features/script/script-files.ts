/** What a script run keeps beside the log: its text, its arguments and its result, each under its own hash, so that no two lives mix. */
import { hash } from "node:crypto";
import { join } from "node:path";
import { type ScriptRuns, scriptRecords } from "@reyn/journal/script";
import { asFileName } from "@reyn/snapshot";
import { assertOwnDirectory, atomicWrite, canonicalJson, type Draft, readOwnFile, WalError } from "@reyn/wal";
import { RuntimeError } from "../../kernel/errors.ts";
import type { Gate } from "../../kernel/shared-lock.ts";

/** The hash that names a version of a script, or of its arguments. */
export const versionOf = (text: string): string => hash("sha256", text, "hex");

/** Arguments as they are kept. @throws WalError `WAL_NOT_JSON` naming the field */
export const argsText = (args: unknown): string => canonicalJson(args ?? null);

/** Of a text, and of arguments, in bytes: the most that a record could have. */
const MAX_GIVEN = 8 * 1024 * 1024;
/** No text is longer, so no result was written that is. */
const MAX_RESULT = 512 * 1024 * 1024;

const limits = { script: MAX_GIVEN, args: MAX_GIVEN, result: MAX_RESULT } as const;
type What = keyof typeof limits;
const names = { script: "text", args: "arguments", result: "result" } as const satisfies Record<What, string>;

export interface ScriptText {
	/** The name of its file, without a directory. */
	readonly name: string;
	readonly source: string;
}

export class ScriptFiles {
	readonly #directory: string;
	readonly #gate: Gate;

	/** @param directory of one run; made when something is kept */
	constructor(directory: string, gate: Gate) {
		this.#directory = directory;
		this.#gate = gate;
	}

	/** Durable when it resolves. Gives the hash. */
	keepScript(source: string): Promise<string> {
		return this.#keep("script", "ts", source);
	}

	/** @throws WalError `WAL_NOT_JSON` naming the field */
	keepArgs(args: unknown): Promise<string> {
		return this.#keep("args", "json", argsText(args));
	}

	keepResult(result: unknown): Promise<string> {
		return this.#keep("result", "json", canonicalJson(result));
	}

	readScript(sha256: string): Promise<string> {
		return this.#read("script", "ts", sha256);
	}

	async readArgs(sha256: string): Promise<unknown> {
		return JSON.parse(await this.#read("args", "json", sha256));
	}

	async readResult(sha256: string): Promise<unknown> {
		return JSON.parse(await this.#read("result", "json", sha256));
	}

	async #keep(what: What, ending: string, text: string): Promise<string> {
		const bytes = Buffer.byteLength(text);
		if (bytes > limits[what])
			throw new WalError(
				"WAL_TOO_LARGE",
				`the ${names[what]} of a script run may have ${limits[what]} bytes; found ${bytes}. Keep what is large in a file, and give its path`,
				{ bytes, limit: limits[what] },
			);
		const sha256 = versionOf(text);
		await this.#gate.pass(async () => {
			assertOwnDirectory(this.#directory);
			await atomicWrite(this.#pathOf(what, ending, sha256), text);
		});
		return sha256;
	}

	async #read(what: What, ending: string, sha256: string): Promise<string> {
		const path = this.#pathOf(what, ending, sha256);
		const bytes = await readOwnFile(path, limits[what]).catch((error: Error & { code?: unknown }) => {
			throw error.code === "WAL_UNSAFE" ? error : lost(path, error.message);
		});
		if (!bytes) throw lost(path, "it is gone");
		const text = bytes.toString();
		if (versionOf(text) !== sha256) throw lost(path, "it is not what its name and the log say");
		return text;
	}

	#pathOf(what: string, ending: string, sha256: string): string {
		return join(this.#directory, fileName(what, ending, sha256));
	}
}

/** The files of all runs, by their names below the directory of runs: which are theirs, and who refers to them. */
export const scriptFiles = {
	isName: (name: string): boolean =>
		/^r[0-9a-f]{8}\/(script-[0-9a-f]{16}\.ts|(args|result)-[0-9a-f]{16}\.json)$/.test(name),

	ofRecord({ kind, data }: Draft): readonly string[] {
		if (!kinds.includes(kind)) return [];
		const { run, ...files } = data as { run: string } & Files;
		return namesIn(run, files);
	},

	ofState: (runs: ScriptRuns): readonly string[] => Object.entries(runs).flatMap(([run, files]) => namesIn(run, files)),
};

const kinds: readonly string[] = scriptRecords.map(({ kind }) => kind);

/** The hashes that a record or a state of a run has. */
interface Files {
	readonly script?: string;
	readonly args?: string;
	readonly result?: string | undefined;
}

const namesIn = (run: string, { script, args, result }: Files): readonly string[] =>
	[
		script !== undefined && fileName("script", "ts", script),
		args !== undefined && fileName("args", "json", args),
		result !== undefined && fileName("result", "json", result),
	].flatMap((name) => (name ? [`${asFileName(run)}/${name}`] : []));

/** A record says the hash, and may say anything. */
const fileName = (what: string, ending: string, sha256: string): string =>
	`${what}-${asFileName(sha256.slice(0, 16))}.${ending}`;

function lost(path: string, why: string): RuntimeError {
	return new RuntimeError(
		"RUNTIME_SCRIPT_LOST",
		`${path} cannot be used: ${why}. Bring it back from a copy; the steps of the run are in the log, and nothing of them is lost`,
		{ path },
	);
}
