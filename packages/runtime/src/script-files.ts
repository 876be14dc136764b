/** What a script run keeps beside the log: its text, its arguments and its result, each under its own hash, so that no two lives mix. */
import { hash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { atomicWrite, canonicalJson } from "@reyn/wal";
import { RuntimeError } from "./errors.ts";

/** The hash that names a version of a script, or of its arguments. */
export const versionOf = (text: string): string => hash("sha256", text, "hex");

/** Arguments as they are kept. @throws WalError `WAL_NOT_JSON` naming the field */
export const argsText = (args: unknown): string => canonicalJson(args ?? null);

/** The same JSON, of whose texts and names of fields nothing is written that must not be. */
export function redacted<T>(value: T, redact: (text: string) => string): T {
	const each = (_: string, part: unknown): unknown => {
		if (typeof part === "string") return redact(part);
		if (typeof part !== "object" || part === null || Array.isArray(part)) return part;
		return Object.fromEntries(Object.entries(part).map(([name, field]) => [redact(name), field]));
	};
	return value === undefined ? value : JSON.parse(JSON.stringify(value), each);
}

export interface ScriptText {
	/** The name of its file, without a directory. */
	readonly name: string;
	readonly source: string;
}

export class ScriptFiles {
	readonly #directory: string;

	/** @param directory of one run; made when something is kept */
	constructor(directory: string) {
		this.#directory = directory;
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

	async #keep(what: string, ending: string, text: string): Promise<string> {
		const sha256 = versionOf(text);
		await atomicWrite(this.#pathOf(what, ending, sha256), text);
		return sha256;
	}

	async #read(what: string, ending: string, sha256: string): Promise<string> {
		const path = this.#pathOf(what, ending, sha256);
		let text: string;
		try {
			text = await readFile(path, "utf8");
		} catch (error) {
			throw lost(path, (error as Error).message);
		}
		if (versionOf(text) !== sha256) throw lost(path, "it is not what its name and the log say");
		return text;
	}

	#pathOf(what: string, ending: string, sha256: string): string {
		return join(this.#directory, `${what}-${sha256.slice(0, 16)}.${ending}`);
	}
}

function lost(path: string, why: string): RuntimeError {
	return new RuntimeError(
		"RUNTIME_SCRIPT_LOST",
		`${path} cannot be used: ${why}. Bring it back from a copy; the steps of the run are in the log, and nothing of them is lost`,
		{ path },
	);
}
