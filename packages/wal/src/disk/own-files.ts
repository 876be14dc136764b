/**
 * What may be a file or a directory of a state: a clone can carry a link to any file, and in a directory that others write to
 * anybody can plant a pipe.
 */
import { createHash } from "node:crypto";
import fs from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { dirname } from "node:path";
import { codeOf, WalError } from "../errors.ts";

const { O_APPEND, O_CREAT, O_EXCL, O_NOFOLLOW = 0, O_NONBLOCK = 0, O_RDONLY, O_WRONLY } = fs.constants;

/** Opens a file of a state. @throws WalError `WAL_UNSAFE`, with nothing changed; else an error of the system */
export function openOwn(path: string, flags: number): number {
	assertOwnDirectory(dirname(path));
	let file: number;
	try {
		file = fs.openSync(path, carefully(path, flags), 0o600);
	} catch (error) {
		assertOwnFile(statOf(path), path);
		throw error;
	}
	try {
		assertOwnFile(fs.fstatSync(file), path);
		return file;
	} catch (error) {
		fs.closeSync(file);
		throw error;
	}
}

/**
 * All bytes of a file of a state, off the event loop; undefined when there is none.
 *
 * @throws WalError `WAL_UNSAFE`, `WAL_TOO_LARGE` when it has more bytes than `limit`; else an error of the system
 */
export function readOwnFile(path: string, limit: number): Promise<Buffer | undefined> {
	return withOwnFile(path, limit, (file) => file.readFile());
}

/**
 * The SHA-256 of a file of a state, a piece at a time: other work gets its turn meanwhile; undefined when there is none.
 *
 * @throws WalError as {@link readOwnFile}, also of one that grows beyond `limit` while it is read
 */
export function hashOwnFile(path: string, limit: number): Promise<string | undefined> {
	return withOwnFile(path, limit, async (file) => {
		const [hash, piece] = [createHash("sha256"), Buffer.allocUnsafe(PIECE_BYTES)];
		for (let done = 0; ; ) {
			const { bytesRead } = await file.read(piece, 0, PIECE_BYTES, done);
			if (bytesRead === 0) return hash.digest("hex");
			done += bytesRead;
			assertFits(path, done, limit);
			hash.update(piece.subarray(0, bytesRead));
		}
	});
}

const PIECE_BYTES = 1024 * 1024;

/**
 * A part of a file of a state, off the event loop: up to `most` bytes from a position on; undefined when there is none.
 *
 * @throws WalError `WAL_UNSAFE`; else an error of the system
 */
export function readOwnPart(path: string, position: number, most: number): Promise<Buffer | undefined> {
	return withOwnFile(path, Number.POSITIVE_INFINITY, async (file) => {
		const bytes = Buffer.allocUnsafe(Math.min(most, Math.max(0, (await file.stat()).size - position)));
		let done = 0;
		while (done < bytes.length) {
			const { bytesRead } = await file.read(bytes, done, bytes.length - done, position + done);
			if (bytesRead === 0) break;
			done += bytesRead;
		}
		return bytes.subarray(0, done);
	});
}

/**
 * Appends to a file of a state, off the event loop and without a sync: a power cut may take what was written. Where it throws, a part
 * may be there.
 *
 * @param how `new`: makes the file, and refuses one that is there; `more`: refuses one that is not
 * @throws WalError `WAL_UNSAFE`; else an error of the system
 */
export async function appendOwn(path: string, bytes: Uint8Array, how: "new" | "more"): Promise<void> {
	const file = await openOwnFile(path, O_WRONLY | O_APPEND | (how === "new" ? O_CREAT | O_EXCL : 0));
	try {
		assertOwnFile(await file.stat(), path);
		for (let done = 0; done < bytes.length; ) {
			const { bytesWritten } = await file.write(bytes, done);
			if (bytesWritten === 0)
				throw Object.assign(new Error(`only ${done} of ${bytes.length} bytes could be written`), { code: "ENOSPC" });
			done += bytesWritten;
		}
	} finally {
		await file.close();
	}
}

async function withOwnFile<T>(
	path: string,
	limit: number,
	use: (file: FileHandle) => Promise<T>,
): Promise<T | undefined> {
	let file: FileHandle;
	try {
		file = await openOwnFile(path, O_RDONLY);
	} catch (error) {
		if (codeOf(error) === "ENOENT") return undefined;
		throw error;
	}
	try {
		const stats = await file.stat();
		assertOwnFile(stats, path);
		assertFits(path, stats.size, limit);
		return await use(file);
	} finally {
		await file.close();
	}
}

async function openOwnFile(path: string, flags: number): Promise<FileHandle> {
	assertOwnDirectory(dirname(path));
	try {
		return await open(path, carefully(path, flags), 0o600);
	} catch (error) {
		assertOwnFile(statOf(path), path);
		throw error;
	}
}

function assertFits(path: string, bytes: number, limit: number): void {
	if (bytes <= limit) return;
	throw new WalError(
		"WAL_TOO_LARGE",
		`${path} has ${bytes} bytes; at most ${limit} were written there. Bring it back from a copy, or move it away`,
		{ path, bytes, limit },
	);
}

/**
 * Refuses what is there and is no directory of this user that no other may change: so what was looked at in it stays what it
 * is. One that is missing is none to refuse.
 *
 * @throws WalError `WAL_UNSAFE`
 */
export function assertOwnDirectory(path: string): void {
	const found = statOf(path);
	if (!found) return;
	if (!found.isDirectory())
		throw unsafe(path, DIRECTORY, kindOf(found), found.isSymbolicLink() ? "pass its target" : "move it away");
	assertOwner(found, path, DIRECTORY);
	// Windows has no such bits, and says that all are set.
	if (process.platform !== "win32" && found.mode & 0o002)
		throw unsafe(path, DIRECTORY, "one that all users may write to", `look at what is in it, then: chmod o-w ${path}`);
}

/** Refuses a directory where a file is to be removed or replaced. @throws WalError `WAL_UNSAFE` */
export function assertNoDirectory(path: string): void {
	const found = statOf(path);
	if (found?.isDirectory()) throw unsafe(path, FILE, kindOf(found), "move it away");
}

function assertOwnFile(found: fs.Stats | undefined, path: string): void {
	if (!found) return;
	if (!found.isFile()) throw unsafe(path, FILE, kindOf(found), "move it away");
	assertOwner(found, path, FILE);
	// None is left of one that was removed meanwhile.
	if (found.nlink > 1)
		throw unsafe(
			path,
			FILE,
			`one with ${found.nlink} names (hard links)`,
			"put a copy in its place, under this name alone",
		);
}

function assertOwner({ uid }: fs.Stats, path: string, expected: string): void {
	const own = process.geteuid?.() ?? uid;
	if (uid !== own)
		throw unsafe(path, expected, `one of user ${uid}`, `work as that user, or give it to user ${own} (chown)`);
}

const DIRECTORY = "a directory of this user that no other user may write to";
const FILE = "a plain file of this user";

function unsafe(path: string, expected: string, found: string, remedy: string): WalError {
	return new WalError(
		"WAL_UNSAFE",
		`${path} is not used: expected ${expected}, found ${found}. Nothing of it was read or changed. If you know how it came there, ${remedy}; else trust nothing in this state`,
		{ path, expected, found },
	);
}

const kindOf = (found: fs.Stats): string =>
	found.isSymbolicLink()
		? "a symbolic link"
		: found.isDirectory()
			? "a directory"
			: found.isFIFO()
				? "a pipe (FIFO)"
				: found.isFile()
					? "a file"
					: "a device or a socket";

/** Follows no link, and waits for nobody at the other end of a pipe. */
function carefully(path: string, flags: number): number {
	// Windows cannot say so when it opens.
	if (O_NOFOLLOW === 0) assertOwnFile(statOf(path), path);
	return flags | O_NOFOLLOW | O_NONBLOCK;
}

const statOf = (path: string): fs.Stats | undefined => fs.lstatSync(path, { throwIfNoEntry: false });
