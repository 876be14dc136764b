/** The only door to the disk for the file tools: below one root, never through a symbolic link, never into what is closed. */
import { createHash } from "node:crypto";
import { constants, type Stats } from "node:fs";
import {
	type FileHandle,
	link,
	lstat,
	mkdir,
	open,
	opendir,
	realpath,
	rename,
	rm,
	rmdir,
	stat,
	unlink,
} from "node:fs/promises";
import { dirname, join } from "node:path";
import { codeOf } from "@reyn/wal";
import type { Effort } from "./effort.ts";
import { ToolError } from "./errors.ts";
import { showCount } from "./text-file.ts";

/** What a directory holds, in byte order of the paths below it (a directory sorts as `name/`). */
export interface Entries {
	readonly directories: readonly string[];
	readonly files: readonly string[];
	/** Symbolic links: shown, never followed. */
	readonly links: readonly string[];
}

export interface RootOptions {
	/**
	 * Directories that are closed to the tools by what they are, whatever they are called and however they are reached: the
	 * state directory, and where secrets lie. One that is not there closes nothing.
	 */
	readonly closed?: readonly string[];
	/**
	 * Is this path below the root closed too, such as `config/secrets.json`? What lies in a closed directory is closed with it. A closed
	 * path is neither shown nor found. Default: none is.
	 */
	isClosed?(path: string): boolean;
	/**
	 * Work also where the system has no safe way to open a file below a directory (macOS, Windows, no /proc): a directory that
	 * somebody swaps for a link in the right moment then leads outside. Default: the tools refuse, with `TOOL_UNSAFE_PATHS`.
	 */
	readonly allowUnsafePaths?: boolean;
}

export interface RootDirectory {
	/** Opens the directory at a path of `parsePath`; the caller closes it. */
	directory(path: readonly string[]): Promise<Directory>;
	/** Opens a regular file at a path of `parsePath`; the caller closes it. */
	file(path: readonly string[]): Promise<OpenFile>;
	/** Puts a file in the place of what is there, and makes the directories that it needs; undefined: takes it away. Whole or not at all. */
	change(path: readonly string[], content: Uint8Array | undefined, how: Put): Promise<void>;
	/** Takes away what a change has left that was cut, by its token. */
	forget(path: readonly string[], token: string): Promise<void>;
	/** How many names of the way to a file lead to directories that are there. */
	depth(path: readonly string[]): Promise<number>;
	/** Takes a directory away, if it is there and empty. @returns is it gone? */
	clear(path: readonly string[]): Promise<boolean>;
}

/** How a file is put in its place. */
export interface Put {
	/** Names what is written before it is whole, so that it can be found after a crash. */
	readonly token: string;
	/** There must be none yet. */
	readonly isNew: boolean;
	/** Its permissions. Default: those of the file that it replaces. */
	readonly mode?: number;
}

/** A regular file, and its size when it was opened. */
export interface OpenFile {
	readonly handle: FileHandle;
	readonly bytes: number;
}

/** Longer ones are not asked for, and not walked. */
export const maxPathLength = 4_096;
// More entries of one directory are not looked at.
const maxNames = 100_000;

// A directory called .reyn is the state of some run, if not of this one. The last two are what Windows calls them in short.
const closedNames = new Set([".git", ".reyn", "git~1", "reyn~1"]);

/** Is it closed, as it stands or as some system reads it: whatever its case, with dots, blanks or a stream behind it, or signs in it that are not drawn? */
const isClosedName = (name: string): boolean =>
	closedNames.has(
		name
			.normalize("NFKC")
			.toLowerCase()
			.replace(/\p{Default_Ignorable_Code_Point}|:.*/gsu, "")
			.replace(/[. ]+$/, ""),
	);

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
	const inside = names.find((name) => isClosedName(name) || isTemporary(name));
	if (inside !== undefined)
		throw outside(`path ${shown} lies in ${showPath(inside)}, which is closed to the file tools`);
	return names;
}

/** A path as printed in output: quoted when it would otherwise break the line. */
export function showPath(path: string): string {
	// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this looks for
	return path === "" || /[\u0000-\u001f\u007f]/.test(path) ? JSON.stringify(path) : path.toWellFormed();
}

/** A path as what a call touches; a lasting permission covers the directory that it lies in. */
export function placeOf(path: string): { readonly subject: string; readonly covers?: string } {
	const names = parsePath(path);
	const subject = names.join("/") || ".";
	// A name that looks like a pattern would cover more than itself.
	const isPlain = !names.some((name) => /[*?]/.test(name));
	return names.length > 1 && isPlain ? { subject, covers: `${names.slice(0, -1).join("/")}/**` } : { subject };
}

/** Names that a walk never enters. */
export const isSkipped = (name: string): boolean => isClosedName(name) || name === "node_modules";

/** Where the system shows open descriptors as directories. */
const descriptorDirectories = ["/proc/self/fd", "/dev/fd"];

/**
 * Each component is opened relative to the descriptor of the one before, so that no rename or link swapped in between is
 * ever followed. With `allowUnsafePaths`, where that cannot be done, each is looked at first and compared with what was opened.
 *
 * @throws ToolError `TOOL_UNSAFE_PATHS`
 */
export async function openRoot(
	root: string,
	options: RootOptions = {},
	descriptors: readonly string[] = descriptorDirectories,
): Promise<RootDirectory> {
	const { closed: closedPaths = [], allowUnsafePaths = false } = options;
	const isClosedPath = (path: string): boolean => options.isClosed?.(path) ?? false;
	const real = await realpath(root).catch((error: unknown) => {
		throw failure(error, root);
	});
	const closed = (await Promise.all(closedPaths.map(identityAt))).filter((each) => each !== undefined);
	if (await liesIn(real, closed)) {
		throw outside(`${showPath(root)} lies in a directory that is closed to the file tools`);
	}
	const anchors = await anchorsFor(real, descriptors);
	if (anchors === undefined && !allowUnsafePaths) {
		throw new ToolError(
			"TOOL_UNSAFE_PATHS",
			`the file tools do nothing here: this system has no ${descriptors[0] ?? "/proc/self/fd"}, so a directory that is swapped for a link could lead them out of the root; where nobody else can change the directory, allow it with --allow-unsafe-paths (allowUnsafePaths of createFileTools)`,
			{ root: real },
		);
	}
	const top = () =>
		Directory.open(real, { anchors, closed, isClosedPath }).catch((error: unknown) => {
			throw error instanceof ToolError ? error : failure(error, "");
		});

	/** Who finds a directory that another one makes at the same time waits until it is durable. */
	const making = new Map<string, Promise<boolean>>();
	const make = (at: Directory, name: string): Promise<boolean> => {
		const path = at.below(name);
		const made = making.get(path) ?? at.make(name).finally(() => making.delete(path));
		making.set(path, made);
		return made;
	};

	/** @param made where a directory is missing, it is made, and comes here */
	const directory = async (path: readonly string[], made?: (readonly string[])[]): Promise<Directory> => {
		let at = await top();
		for (const name of path) {
			try {
				if (made && (await make(at, name))) made.push([...at.names, name]);
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

	/** What is changed now. */
	const changing = new Set<readonly string[]>();

	/** Takes away what a change has made, and nothing that another one may need. */
	const clearOf = async (path: readonly string[], made: readonly (readonly string[])[]): Promise<void> => {
		for (const each of made.toReversed()) {
			const isNeeded = [...changing].some((other) => other !== path && each.every((name, at) => name === other[at]));
			if (!isNeeded) await door.clear(each).catch(() => {});
		}
	};

	const door: RootDirectory = {
		directory: (path) => directory(path),
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
		async change(path, content, how) {
			const name = path.at(-1);
			if (name === undefined) throw new ToolError("TOOL_NOT_TEXT", "the root is a directory, not a file");
			const made: (readonly string[])[] = [];
			changing.add(path);
			try {
				const parent = await directory(path.slice(0, -1), content === undefined ? undefined : made);
				try {
					await parent.put(name, content, how);
				} finally {
					await parent.close();
				}
			} catch (error) {
				await clearOf(path, made);
				throw error;
			} finally {
				changing.delete(path);
			}
		},
		async forget(path, token) {
			const parent = await directory(path.slice(0, -1)).catch(() => undefined);
			await parent?.forget(path.at(-1) ?? "", token);
			await parent?.close();
		},
		async depth(path) {
			for (let depth = 1; depth < path.length; depth++) {
				try {
					await (await directory(path.slice(0, depth))).close();
				} catch (error) {
					if (error instanceof ToolError && error.detail.isAbsent) return depth - 1;
					throw error;
				}
			}
			return path.length - 1;
		},
		async clear(path) {
			const parent = await directory(path.slice(0, -1)).catch(() => undefined);
			try {
				return (await parent?.clear(path.at(-1) ?? "")) ?? false;
			} finally {
				await parent?.close();
			}
		},
	};
	return door;
}

/** Which directory it is, whatever its name. */
interface Identity {
	readonly dev: bigint;
	readonly ino: bigint;
}

interface Ground {
	/** Where open descriptors are shown; undefined where they are not. */
	readonly anchors: string | undefined;
	readonly closed: readonly Identity[];
	isClosedPath(path: string): boolean;
}

/** One open directory. */
export class Directory {
	/** The names below the root that lead here. */
	readonly names: readonly string[];
	readonly #disk: string;
	readonly #ground: Ground;
	readonly #anchor: FileHandle | undefined;

	private constructor(disk: string, names: readonly string[], ground: Ground, anchor: FileHandle | undefined) {
		this.#disk = disk;
		this.names = names;
		this.#ground = ground;
		this.#anchor = anchor;
	}

	static async open(disk: string, ground: Ground, names: readonly string[] = [], at = disk): Promise<Directory> {
		const path = names.join("/");
		if (ground.anchors !== undefined) {
			const anchor = await openDirectory(at);
			if (isOneOf(ground.closed, await anchor.stat({ bigint: true }))) {
				await anchor.close();
				throw isClosed(path);
			}
			return new Directory(disk, names, ground, anchor);
		}
		const stats = await lstat(at, { bigint: true });
		if (!stats.isDirectory()) throw notADirectory(path, stats);
		if (isOneOf(ground.closed, stats)) throw isClosed(path);
		return new Directory(disk, names, ground, undefined);
	}

	/** Relative to the root, with `/`; empty for the root itself. */
	get path(): string {
		return this.names.join("/");
	}

	/** The path below the root of an entry. */
	below(name: string): string {
		return [...this.names, name].join("/");
	}

	/** Is this entry a directory that is closed to the tools? */
	async isClosed(name: string): Promise<boolean> {
		if (this.#ground.closed.length === 0) return false;
		const entry = await lstat(join(this.#base(), name), { bigint: true }).catch(() => undefined);
		return isOneOf(this.#ground.closed, entry);
	}

	async entries(effort: Effort, most = maxNames): Promise<Entries> {
		const directories: string[] = [];
		const files: string[] = [];
		const links: string[] = [];
		let count = 0;
		try {
			for await (const entry of await opendir(this.#base(), { bufferSize: 1_000 })) {
				if (++count > most) {
					effort.note(
						`${this.path === "" ? "the root" : showPath(this.path)} has more than ${showCount(most)} entries; the others were not looked at`,
					);
					break;
				}
				if (isTemporary(entry.name) || this.#ground.isClosedPath(this.below(entry.name))) continue;
				if (entry.isSymbolicLink()) links.push(entry.name);
				else if (entry.isDirectory()) directories.push(entry.name);
				else if (entry.isFile()) files.push(entry.name);
				if (effort.worked(100)) await effort.turn();
			}
		} catch (error) {
			effort.signal.throwIfAborted();
			throw failure(error, this.path);
		}
		const byPath = (suffix: string) => (a: string, b: string) => compareBytes(a + suffix, b + suffix);
		return { directories: directories.sort(byPath("/")), files: files.sort(byPath("")), links: links.sort(byPath("")) };
	}

	async directory(name: string): Promise<Directory> {
		this.#assertOpen(name);
		try {
			return await Directory.open(
				join(this.#disk, name),
				this.#ground,
				[...this.names, name],
				join(this.#base(), name),
			);
		} catch (error) {
			throw await this.#explain(name, error);
		}
	}

	async file(name: string): Promise<OpenFile> {
		this.#assertOpen(name);
		const at = join(this.#base(), name);
		const before = this.#anchor === undefined ? await this.#stat(name) : undefined;
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

	/** Makes a directory here, unless something of that name is there. @returns did it make one? */
	async make(name: string): Promise<boolean> {
		this.#assertOpen(name);
		try {
			await mkdir(join(this.#base(), name));
			await this.#sync();
			return true;
		} catch (error) {
			if (codeOf(error) !== "EEXIST") throw unwritable(error, this.below(name));
			return false;
		}
	}

	/** Puts a file here, or takes one away; durable when it resolves. A link of that name is replaced by nothing. */
	async put(name: string, content: Uint8Array | undefined, { token, isNew, mode }: Put): Promise<void> {
		this.#assertOpen(name);
		const [at, whole] = [name, temporary(name, token)].map((each) => join(this.#base(), each)) as [string, string];
		const before = await lstat(at).catch(() => undefined);
		if (before && !before.isFile()) throw notAFile(this.below(name), before);
		try {
			if (content === undefined) await unlink(at);
			else {
				await rm(whole, { force: true });
				await writeWhole(whole, content, before, mode);
				if (isNew) await placeNew(whole, at);
				else await rename(whole, at);
			}
			await this.#sync();
		} catch (error) {
			await rm(whole, { force: true }).catch(() => {});
			if (codeOf(error) === "EEXIST")
				throw new ToolError(
					"TOOL_CHANGED",
					`${showPath(this.below(name))} was made meanwhile; read it, and decide anew`,
				);
			throw unwritable(error, this.below(name));
		}
	}

	/** Takes away a directory here that is empty, and no link to one. @returns is it gone? */
	async clear(name: string): Promise<boolean> {
		this.#assertOpen(name);
		try {
			await rmdir(join(this.#base(), name));
			await this.#sync();
			return true;
		} catch (error) {
			return codeOf(error) === "ENOENT";
		}
	}

	async forget(name: string, token: string): Promise<void> {
		await rm(join(this.#base(), temporary(name, token)), { force: true });
	}

	async close(): Promise<void> {
		await this.#anchor?.close();
	}

	#assertOpen(name: string): void {
		if (this.#ground.isClosedPath(this.below(name))) throw isClosed(this.below(name));
	}

	async #sync(): Promise<void> {
		if (this.#anchor) return this.#anchor.sync();
		const handle = await open(this.#disk, constants.O_RDONLY);
		try {
			await handle.sync();
		} finally {
			await handle.close();
		}
	}

	#base(): string {
		return this.#anchor === undefined ? this.#disk : `${this.#ground.anchors}/${this.#anchor.fd}`;
	}

	#stat(name: string): Promise<Stats> {
		return lstat(join(this.#base(), name)).catch((error: unknown) => {
			throw failure(error, this.below(name));
		});
	}

	/** Only for the message: the refusal has already happened. */
	async #explain(name: string, error: unknown): Promise<Error> {
		if (error instanceof ToolError) return error;
		const stats = await lstat(join(this.#base(), name)).catch(() => undefined);
		if (stats?.isSymbolicLink()) return isALink(this.below(name));
		if (codeOf(error) === "ENOTDIR" && stats?.isDirectory())
			return outside(`${showPath(this.below(name))} was replaced while it was opened; try again`);
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

/** What a change that was cut has left is no file of anybody's. */
const isTemporary = (name: string): boolean => /^\.reyn-[0-9a-f]{24}\.tmp$/.test(name);

/** Where a file is written before it takes its place. */
export const temporary = (name: string, token: string): string =>
	`.reyn-${createHash("sha256").update(`${name}\0${token}`).digest("hex").slice(0, 24)}.tmp`;

/**
 * @param before the file whose place it takes: its owner and its permissions stay, and what runs with the rights of its owner does not
 * @throws where it cannot have that owner
 */
async function writeWhole(
	at: string,
	content: Uint8Array,
	before: Stats | undefined,
	mode = before && before.mode & 0o777,
): Promise<void> {
	const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0);
	// What replaces a private file is not open to others for a moment either.
	const handle = await open(at, flags, mode === undefined ? 0o666 : 0o600);
	try {
		await handle.writeFile(content);
		if (before) {
			const own = await handle.stat();
			if (own.uid !== before.uid || own.gid !== before.gid) await handle.chown(before.uid, before.gid);
		}
		if (mode !== undefined) await handle.chmod(mode);
		await handle.sync();
	} finally {
		await handle.close();
	}
}

/** Fails where something of the name is there, which a rename would replace. */
async function placeNew(whole: string, at: string): Promise<void> {
	try {
		await link(whole, at);
		await unlink(whole);
	} catch (error) {
		// Some file systems have no second names.
		if (!["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"].includes(codeOf(error) ?? "")) throw error;
		await rename(whole, at);
	}
}

const openDirectory = (at: string): Promise<FileHandle> =>
	open(at, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);

/** Where open descriptors are shown as directories that lead to what is open, tried with this very directory. */
async function anchorsFor(directory: string, places: readonly string[]): Promise<string | undefined> {
	const handle = await openDirectory(directory).catch((error: unknown) => {
		throw failure(error, directory);
	});
	try {
		const opened = await handle.stat({ bigint: true });
		for (const place of places) {
			const shown = await identityAt(`${place}/${handle.fd}/.`).catch(() => undefined);
			if (isOneOf([opened], shown)) return place;
		}
		return undefined;
	} finally {
		await handle.close();
	}
}

/** Undefined where nothing is. */
async function identityAt(path: string): Promise<Identity | undefined> {
	try {
		return await stat(path, { bigint: true });
	} catch (error) {
		if (codeOf(error) === "ENOENT" || codeOf(error) === "ENOTDIR") return undefined;
		throw failure(error, path);
	}
}

/** Is a directory one of these, or below one? */
async function liesIn(directory: string, closed: readonly Identity[]): Promise<boolean> {
	for (let at = directory; ; at = dirname(at)) {
		if (isOneOf(closed, await identityAt(at).catch(() => undefined))) return true;
		if (dirname(at) === at) return false;
	}
}

const isOneOf = (those: readonly Identity[], found: Identity | undefined): boolean =>
	found !== undefined && those.some(({ dev, ino }) => dev === found.dev && ino === found.ino);

function failure(error: unknown, path: string): Error {
	const shown = path === "" ? "the root" : showPath(path);
	const code = codeOf(error);
	if (code === "ENOENT")
		return new ToolError("TOOL_NOT_FOUND", `no such file or directory: ${shown}`, { isAbsent: true });
	if (code === "ENOTDIR") return new ToolError("TOOL_NOT_FOUND", `${shown} is not a directory`);
	if (code === "ELOOP") return isALink(path);
	return new ToolError("TOOL_UNREADABLE", `${shown} cannot be read (${code ?? String(error)})`, {}, { cause: error });
}

function unwritable(error: unknown, path: string): Error {
	if (error instanceof ToolError) return error;
	const reason = codeOf(error) ?? String(error);
	return new ToolError(
		"TOOL_UNWRITABLE",
		`${showPath(path)} cannot be written (${reason}); nothing of it was`,
		{},
		{ cause: error },
	);
}

function notADirectory(path: string, stats: Pick<Stats, "isSymbolicLink">): ToolError {
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

const isClosed = (path: string): ToolError => outside(`${showPath(path)} is closed to the file tools`);

const outside = (message: string): ToolError => new ToolError("TOOL_OUTSIDE_ROOT", message);
