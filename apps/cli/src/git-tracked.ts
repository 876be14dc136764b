/**
 * Does git track a file? Its index says so, which is read as it lies there: to run git would run what a repository says, such as its
 * `core.fsmonitor`. Whoever made the state may have made the repository too, so all that is read has a limit.
 */
import { constants } from "node:fs";
import { lstat, open, realpath } from "node:fs/promises";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { codeOf } from "@reyn/wal";

/** `unknown`: there is a repository, and what it tracks cannot be told. */
export type Tracked = "yes" | "no" | "unknown";

/**
 * Is anything below a path in the index of the repository that it lies in? That is the nearest one up its real path, unless it is one
 * itself, or the environment names another one.
 */
export async function trackedByGit(path: string, environment: NodeJS.ProcessEnv = process.env): Promise<Tracked> {
	const found = await trackedAround(path);
	const namesOther = ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"].some((name) => environment[name]);
	return found === "no" && namesOther ? "unknown" : found;
}

async function trackedAround(path: string): Promise<Tracked> {
	try {
		// It may be gone, and still be tracked.
		const real = join(await realpath(dirname(path)), basename(path));
		// As a submodule it is one entry of the repository around it.
		if (await isThere(join(real, ".git"))) return "unknown";
		for (let top = dirname(real); ; top = dirname(top)) {
			const repository = await repositoryAt(join(top, ".git"));
			if (repository !== undefined) return await trackedIn(repository, relative(top, real).replaceAll(sep, "/"));
			if (dirname(top) === top) return "no";
		}
	} catch {
		return "unknown";
	}
}

async function trackedIn(repository: string, path: string): Promise<Tracked> {
	const index = await fileAt(join(repository, "index"), MAX_INDEX_BYTES);
	// To one in which nothing was ever added there is none.
	if (!index) return "no";
	const { tracked, shared } = indexSays(index, path);
	if (tracked === "yes" || !shared) return tracked;
	const rest = await fileAt(join(repository, `sharedindex.${shared.name}`), MAX_INDEX_BYTES);
	const said = rest ? indexSays(rest, path).tracked : "unknown";
	return said === "yes" && !shared.isWhole ? "unknown" : said;
}

/** Where a repository lies: of a worktree or a submodule a file says so. Undefined where there is none. */
async function repositoryAt(git: string): Promise<string | undefined> {
	const found = await unlessGone(realpath(git));
	if (found === undefined) return undefined;
	if ((await lstat(found)).isDirectory()) {
		// Where one of these is missing git goes on upwards.
		const has = await Promise.all(["HEAD", "objects", "refs"].map((name) => isThere(join(found, name))));
		return has.every(Boolean) ? found : undefined;
	}
	const text = (await fileAt(found, MAX_PATH_BYTES))?.toString() ?? "";
	const [, named] = /^gitdir: ([^\n]+)\n*$/.exec(text) ?? [];
	if (named === undefined) throw new Error(`${git} does not say where its repository lies`);
	return resolve(dirname(found), named);
}

/** All of a plain file, with no wait for who may write to a pipe; undefined where there is none. */
async function fileAt(path: string, limit: number): Promise<Buffer | undefined> {
	const file = await unlessGone(open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)));
	if (!file) return undefined;
	try {
		const stats = await file.stat();
		if (!stats.isFile() || stats.size > limit) throw new Error(`${path} is no file of at most ${limit} bytes`);
		return await file.readFile();
	} finally {
		await file.close();
	}
}

const isThere = async (path: string): Promise<boolean> => (await unlessGone(lstat(path))) !== undefined;

async function unlessGone<T>(look: Promise<T>): Promise<T | undefined> {
	try {
		return await look;
	} catch (error) {
		if (["ENOENT", "ENOTDIR"].includes(codeOf(error) ?? "")) return undefined;
		throw error;
	}
}

/** No path is longer. */
const MAX_PATH_BYTES = 4096;
/** Of half a million files. */
const MAX_INDEX_BYTES = 64 * 1024 * 1024;

interface IndexAnswer {
	readonly tracked: Tracked;
	/** The shared index that has the rest of a split one; `isWhole` where all of its entries still count. */
	readonly shared?: { readonly name: string; readonly isWhole: boolean };
}

/**
 * Pure: has an index an entry below a path? (gitformat-index(5), versions 2 to 4)
 *
 * @param path relative to the top, with slashes
 */
export function indexSays(bytes: Buffer, path: string): IndexAnswer {
	const unknown: IndexAnswer = { tracked: "unknown" };
	if (bytes.length < HEADER_BYTES || bytes.toString("latin1", 0, 4) !== "DIRC") return unknown;
	const below = Buffer.from(`${path}/`);
	// Nothing in it says how long its hashes are: where all of it fits, they are so long.
	return read(bytes, below, SHA1_BYTES) ?? read(bytes, below, SHA256_BYTES) ?? unknown;
}

const HEADER_BYTES = 12;
const [SHA1_BYTES, SHA256_BYTES] = [20, 32];
/** Of an entry, before its hash; and where in it the mode stands. */
const STAT_BYTES = 40;
const MODE_AT = 24;
const DIRECTORY = 0o040000;
const KINDS: ReadonlySet<number> = new Set([0o100000, 0o120000, 0o160000, DIRECTORY]);
const EXTENDED = 0x4000;

function read(bytes: Buffer, below: Buffer, hashBytes: number): IndexAnswer | undefined {
	const [version, count] = [bytes.readUInt32BE(4), bytes.readUInt32BE(8)];
	const end = bytes.length - hashBytes;
	let at = HEADER_BYTES;
	const name = new Name();
	let [has, isSparse] = [false, false];
	if (version < 2 || version > 4) return undefined;
	for (let i = 0; i < count; i++) {
		const flagsAt = at + STAT_BYTES + hashBytes;
		if (flagsAt + 4 > end) return undefined;
		const kind = bytes.readUInt32BE(at + MODE_AT) & 0o170000;
		if (!KINDS.has(kind)) return undefined;
		const isExtended = version > 2 && (bytes.readUInt16BE(flagsAt) & EXTENDED) !== 0;
		const nul = name.read(bytes, flagsAt + (isExtended ? 4 : 2), version === 4);
		if (nul === undefined) return undefined;
		// Filled up with one to eight NULs, where names are not shortened.
		at = version === 4 ? nul + 1 : at + ((nul - at + 8) & ~7);
		has ||= name.begins(below);
		// Of a directory that is not checked out a sparse index has no more than its name.
		isSparse ||= kind === DIRECTORY && name.isFrontOf(below);
	}
	const link = linkAt(bytes, at, end);
	if (link === undefined) return undefined;
	const tracked = has ? "yes" : isSparse ? "unknown" : "no";
	if (link.length === 0 || /^0*$/.test(link.toString("hex", 0, hashBytes))) return { tracked };
	// Behind its name stands which entries are gone: first how many bits say so.
	const isWhole = link.length < hashBytes + 4 || link.readUInt32BE(hashBytes) === 0;
	return { tracked, shared: { name: link.toString("hex", 0, hashBytes), isWhole } };
}

/** The name of an entry; the next one may say only how it differs, so one buffer holds them all. */
class Name {
	readonly #bytes = Buffer.alloc(MAX_PATH_BYTES);
	#length = 0;

	/** Gives where the NUL stands that ends it; undefined where there is no name. */
	read(bytes: Buffer, from: number, isShortened: boolean): number | undefined {
		let [at, kept] = [from, 0];
		if (isShortened) {
			let byte = bytes[at++] ?? 0;
			let dropped = byte & 127;
			while (byte & 128 && dropped < MAX_PATH_BYTES) {
				byte = bytes[at++] ?? 0;
				dropped = (dropped + 1) * 128 + (byte & 127);
			}
			kept = this.#length - dropped;
		}
		const length = bytes.subarray(at, at + MAX_PATH_BYTES + 1).indexOf(0);
		if (length === -1 || kept < 0 || kept + length > MAX_PATH_BYTES) return undefined;
		bytes.copy(this.#bytes, kept, at, at + length);
		this.#length = kept + length;
		return at + length;
	}

	begins(front: Buffer): boolean {
		return this.#length >= front.length && this.#bytes.compare(front, 0, front.length, 0, front.length) === 0;
	}

	isFrontOf(text: Buffer): boolean {
		return text.length >= this.#length && text.compare(this.#bytes, 0, this.#length, 0, this.#length) === 0;
	}
}

/** What the extension says that names a shared index, empty where there is none; undefined where no extensions stand there. */
function linkAt(bytes: Buffer, from: number, end: number): Buffer | undefined {
	let link: Buffer = Buffer.alloc(0);
	for (let at = from; at !== end; ) {
		if (at + 8 > end) return undefined;
		const data = bytes.subarray(at + 8, Math.min(end, at + 8 + bytes.readUInt32BE(at + 4)));
		if (bytes.toString("latin1", at, at + 4) === "link") link = data;
		at += 8 + bytes.readUInt32BE(at + 4);
		if (at > end) return undefined;
	}
	return link;
}
