import { constants, type Stats } from "node:fs";
import { type FileHandle, lstat, open, readdir, realpath } from "node:fs/promises";
import { join } from "node:path";
import { ToolError } from "./tool-error.ts";

/** What a directory holds, in byte order of the paths below it (a directory sorts as `name/`). */
export interface Entries {
	readonly directories: readonly string[];
	readonly files: readonly string[];
	/** Symbolic links: shown, never followed. */
	readonly links: readonly string[];
}

/** The only door to the disk for the file tools: below one root, never through a symbolic link. */
export interface RootDirectory {
	/** Opens the directory at a path of `parsePath`; the caller closes it. */
	directory(path: readonly string[]): Promise<Directory>;
	/** Opens a regular file at a path of `parsePath`; the caller closes it. */
	file(path: readonly string[]): Promise<OpenFile>;
}

/** A regular file, and its size when it was opened. */
export interface OpenFile {
	readonly handle: FileHandle;
	readonly bytes: number;
}

const closed = new Set([".git", ".reyn"]);

/** `"src/./a.ts"` → `["src", "a.ts"]`; refuses what could leave the root or reach the state of git and of Reyn. */
export function parsePath(path: string): readonly string[] {
	const shown = showPath(path);
	const windows = process.platform === "win32";
	if (path.includes("\0")) throw outside(`path ${shown} contains a NUL character`);
	if (path.startsWith("/") || (windows && /^([a-z]:|\\)/i.test(path))) {
		throw outside(`path ${shown} is absolute; give one relative to the root, such as "src"`);
	}
	const names = path.split(windows ? /[/\\]/ : "/").filter((name) => name !== "" && name !== ".");
	if (names.includes("..")) throw outside(`path ${shown} contains ".."; the file tools never leave the root`);
	const inside = names.find((name) => closed.has(name.toLowerCase()));
	if (inside !== undefined) throw outside(`path ${shown} lies in ${inside}, which is closed to the file tools`);
	return names;
}

/** A path as printed in output: quoted when it would otherwise break the line. */
export function showPath(path: string): string {
	// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this looks for
	return path === "" || /[\u0000-\u001f\u007f]/.test(path) ? JSON.stringify(path) : path.toWellFormed();
}

/** Names that a walk never enters. */
export const isSkipped = (name: string): boolean => closed.has(name.toLowerCase()) || name === "node_modules";

/**
 * `procfs`: open each component relative to the descriptor of the one before, so that no rename or link swapped in
 * between is ever followed. Without procfs each component is looked at first and compared with what was opened.
 */
export async function openRoot(root: string, { procfs }: { procfs?: boolean } = {}): Promise<RootDirectory> {
	const real = await realpath(root).catch((error: unknown) => {
		throw failure(error, root);
	});
	const anchored = procfs ?? (await hasProcfs());
	const top = () => Directory.open(real, "", anchored);

	const directory = async (path: readonly string[]): Promise<Directory> => {
		let at = await top();
		for (const name of path) {
			try {
				const next = await at.directory(name);
				await at.close();
				at = next;
			} catch (error) {
				await at.close();
				throw error;
			}
		}
		return at;
	};

	return {
		directory,
		async file(path) {
			const name = path.at(-1);
			if (name === undefined)
				throw new ToolError("TOOL_NOT_TEXT", "the root is a directory, not a file; list shows it");
			const parent = await directory(path.slice(0, -1));
			try {
				return await parent.file(name);
			} finally {
				await parent.close();
			}
		},
	};
}

/** One open directory. */
export class Directory {
	/** Relative to the root, with `/`; empty for the root itself. */
	readonly path: string;
	readonly #disk: string;
	readonly #anchor: FileHandle | undefined;

	private constructor(disk: string, path: string, anchor: FileHandle | undefined) {
		this.#disk = disk;
		this.path = path;
		this.#anchor = anchor;
	}

	static async open(disk: string, path: string, anchored: boolean): Promise<Directory> {
		const fail = (error: unknown) => {
			throw failure(error, path);
		};
		if (anchored) return new Directory(disk, path, await openDirectory(disk).catch(fail));
		const stats = await lstat(disk).catch(fail);
		if (!stats.isDirectory()) throw notADirectory(path, stats);
		return new Directory(disk, path, undefined);
	}

	/** The path below the root of an entry. */
	below(name: string): string {
		return this.path === "" ? name : `${this.path}/${name}`;
	}

	async entries(): Promise<Entries> {
		const directories: string[] = [];
		const files: string[] = [];
		const links: string[] = [];
		const found = await readdir(this.#base(), { withFileTypes: true }).catch((error: unknown) => {
			throw failure(error, this.path);
		});
		for (const entry of found) {
			if (entry.isSymbolicLink()) links.push(entry.name);
			else if (entry.isDirectory()) directories.push(entry.name);
			else if (entry.isFile()) files.push(entry.name);
		}
		const byPath = (suffix: string) => (a: string, b: string) => compareBytes(a + suffix, b + suffix);
		return { directories: directories.sort(byPath("/")), files: files.sort(byPath("")), links: links.sort(byPath("")) };
	}

	async directory(name: string): Promise<Directory> {
		const disk = join(this.#disk, name);
		if (this.#anchor === undefined) return Directory.open(disk, this.below(name), false);
		try {
			return new Directory(disk, this.below(name), await openDirectory(join(this.#base(), name)));
		} catch (error) {
			throw await this.#explain(name, error);
		}
	}

	async file(name: string): Promise<OpenFile> {
		const at = join(this.#base(), name);
		const before = this.#anchor === undefined ? await this.#look(name) : undefined;
		if (before !== undefined && !before.isFile()) throw notAFile(this.below(name), before);
		let handle: FileHandle;
		try {
			// O_NONBLOCK: a pipe must not make the open wait for a writer.
			handle = await open(at, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
		} catch (error) {
			throw await this.#explain(name, error);
		}
		try {
			const opened = await handle.stat();
			if (!opened.isFile()) throw notAFile(this.below(name), opened);
			if (before !== undefined && (before.ino !== opened.ino || before.dev !== opened.dev)) {
				throw outside(`${showPath(this.below(name))} was replaced while it was opened; try again`);
			}
			return { handle, bytes: opened.size };
		} catch (error) {
			await handle.close();
			throw error;
		}
	}

	async close(): Promise<void> {
		await this.#anchor?.close();
	}

	#base(): string {
		return this.#anchor === undefined ? this.#disk : `/proc/self/fd/${this.#anchor.fd}`;
	}

	#look(name: string): Promise<Stats> {
		return lstat(join(this.#base(), name)).catch((error: unknown) => {
			throw failure(error, this.below(name));
		});
	}

	/** Only for the message: the refusal has already happened. */
	async #explain(name: string, error: unknown): Promise<Error> {
		if (error instanceof ToolError) return error;
		const stats = await lstat(join(this.#base(), name)).catch(() => undefined);
		if (stats?.isSymbolicLink()) return isALink(this.below(name));
		if (codeOf(error) === "ENOTDIR" && stats !== undefined) return notADirectory(this.below(name), stats);
		return failure(error, this.below(name));
	}
}

/** Byte order of UTF-8, which is the order of code points and not that of UTF-16 units. */
export function compareBytes(a: string, b: string): number {
	if (a === b) return 0;
	const length = Math.min(a.length, b.length);
	for (let i = 0; i < length; i++) {
		const x = a.charCodeAt(i);
		const y = b.charCodeAt(i);
		if (x !== y) return isSurrogate(x) === isSurrogate(y) ? x - y : isSurrogate(x) ? 1 : -1;
	}
	return a.length - b.length;
}

// A surrogate stands for a code point above all the others of the basic plane.
const isSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdfff;

const openDirectory = (at: string): Promise<FileHandle> =>
	open(at, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);

const hasProcfs = (): Promise<boolean> =>
	process.platform === "linux"
		? readdir("/proc/self/fd").then(
				() => true,
				() => false,
			)
		: Promise.resolve(false);

function failure(error: unknown, path: string): Error {
	const shown = path === "" ? "the root" : showPath(path);
	const code = codeOf(error);
	if (code === "ENOENT") return new ToolError("TOOL_NOT_FOUND", `no such file or directory: ${shown}`);
	if (code === "ENOTDIR") return new ToolError("TOOL_NOT_FOUND", `${shown} is not a directory`);
	if (code === "ELOOP") return isALink(path);
	return new ToolError("TOOL_UNREADABLE", `${shown} cannot be read (${code ?? String(error)})`, {}, { cause: error });
}

function notADirectory(path: string, stats: Stats): ToolError {
	if (stats.isSymbolicLink()) return isALink(path);
	return new ToolError("TOOL_NOT_FOUND", `${showPath(path)} is not a directory; read shows a file`);
}

function notAFile(path: string, stats: Stats): ToolError {
	if (stats.isSymbolicLink()) return isALink(path);
	const what = stats.isDirectory() ? "a directory; list shows it" : "not a regular file";
	return new ToolError("TOOL_NOT_TEXT", `${showPath(path)} is ${what}`);
}

const isALink = (path: string): ToolError =>
	outside(`${showPath(path)} is a symbolic link; the file tools follow none, so that they never leave the root`);

const outside = (message: string): ToolError => new ToolError("TOOL_OUTSIDE_ROOT", message);

const codeOf = (error: unknown): string | undefined =>
	error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
