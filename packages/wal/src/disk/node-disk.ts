/** The real file system. */
import fs from "node:fs";
import { dirname } from "node:path";
import { codeOf } from "../errors.ts";
import type { Disk, DiskFile, DiskLock } from "./disk.ts";
import { fileSystemOf } from "./file-system.ts";
import { tryLock } from "./native-lock.ts";
import { assertNoDirectory, assertOwnDirectory, openOwn } from "./own-files.ts";

const { O_CREAT, O_DIRECTORY = 0, O_EXCL, O_RDONLY, O_RDWR } = fs.constants;

/** The real file system. What is no plain file, or no directory, of this user alone is refused with `WAL_UNSAFE`. */
export const nodeDisk: Disk = {
	open: (path, how) =>
		new NodeFile(openOwn(path, { read: O_RDONLY, write: O_RDWR, create: O_RDWR | O_CREAT | O_EXCL }[how])),
	list(directory) {
		assertOwnDirectory(directory);
		return unless("ENOENT", () => fs.readdirSync(directory)) ?? [];
	},
	makeDirectory: (path) => unless("EEXIST", () => fs.mkdirSync(path, { mode: 0o700 }) === undefined) ?? false,
	rename(from, to) {
		assertOwnDirectory(dirname(from));
		assertOwnDirectory(dirname(to));
		fs.renameSync(from, to);
	},
	...(process.platform === "win32" && { pause: (ms) => void Atomics.wait(nobody, 0, 0, ms) }),
	remove(path) {
		assertOwnDirectory(dirname(path));
		try {
			fs.unlinkSync(path);
		} catch (error) {
			assertNoDirectory(path);
			throw error;
		}
	},
	syncDirectory(path) {
		// Windows has no such call, and keeps its directories in order without one.
		if (process.platform === "win32") return;
		const directory = fs.openSync(path, O_RDONLY | O_DIRECTORY);
		try {
			fs.fsyncSync(directory);
		} finally {
			fs.closeSync(directory);
		}
	},
	identity(path) {
		try {
			return unless("ENOENT", () => identityOf(fs.lstatSync(path)));
		} catch (error) {
			assertOwnDirectory(dirname(path));
			throw error;
		}
	},
	version(directory) {
		const found = unless("ENOENT", () => fs.statSync(directory, { bigint: true }));
		if (!found) return "gone";
		const { dev, ino, mtimeNs, ctimeNs, ctimeMs } = found;
		// Two changes within one tick of a coarse clock look like one.
		return Date.now() - Number(ctimeMs) < TICK_MS ? undefined : `${dev}:${ino}:${mtimeNs}:${ctimeNs}`;
	},
	lock(path, text): DiskLock | { heldBy: string } {
		const file = openOwn(path, O_RDWR | O_CREAT);
		try {
			if (!tryLock(file)) {
				const note = Buffer.alloc(NOTE_BYTES);
				const heldBy = note.toString("utf8", 0, fs.readSync(file, note, 0, NOTE_BYTES, 0));
				fs.closeSync(file);
				return { heldBy };
			}
			fs.ftruncateSync(file, 0);
			fs.writeSync(file, text);
		} catch (error) {
			fs.closeSync(file);
			throw error;
		}
		return { release: () => fs.closeSync(file) };
	},
	fileSystem: (path) => unless("ENOENT", () => fileSystemOf(path)),
};

/** What a pause waits for, and nobody wakes. */
const nobody = new Int32Array(new SharedArrayBuffer(4));

/** Longer than the ticks of any clock that file systems have. */
const TICK_MS = 20;

/** Longer than what a holder says of itself. */
const NOTE_BYTES = 16 * 1024;

class NodeFile implements DiskFile {
	#fd: number;

	constructor(fd: number) {
		this.#fd = fd;
	}

	read(into: Uint8Array, position: number): number {
		return fs.readSync(this.#fd, into, 0, into.length, position);
	}

	write(bytes: Uint8Array, position: number): number {
		return fs.writeSync(this.#fd, bytes, 0, bytes.length, position);
	}

	truncate(size: number): void {
		fs.ftruncateSync(this.#fd, size);
	}

	sync(): void {
		fs.fdatasyncSync(this.#fd);
	}

	size(): number {
		return fs.fstatSync(this.#fd).size;
	}

	identity(): string {
		return identityOf(fs.fstatSync(this.#fd));
	}

	tryLock(): boolean {
		return tryLock(this.#fd);
	}

	close(): void {
		if (this.#fd === CLOSED) return;
		const fd = this.#fd;
		// First of all: after an error the number may be another file's.
		this.#fd = CLOSED;
		fs.closeSync(fd);
	}
}

const CLOSED = -1;

const identityOf = ({ dev, ino }: fs.Stats): string => `${dev}:${ino}`;

/** What `run` gives, or undefined when it fails with this code. */
function unless<T>(code: string, run: () => T): T | undefined {
	try {
		return run();
	} catch (error) {
		if (codeOf(error) === code) return undefined;
		throw error;
	}
}
