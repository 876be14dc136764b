/** A file system in memory, with the few things that the log asks of one. Everything on it is durable at once. */
import { dirname } from "node:path";
import type { Disk, DiskFile, DiskLock, FileSystem } from "../disk/disk.ts";

export interface Inode {
	readonly id: number;
	bytes: Uint8Array;
}

export class MemoryDisk implements Disk {
	/** Path to file. */
	readonly files: Map<string, Inode>;
	readonly directories: Set<string>;
	readonly #locks = new Map<string, string>();
	/** The files that are locked, by inode. */
	readonly #locked = new Set<number>();
	#lastId = 0;

	constructor(files: Iterable<readonly [string, Uint8Array]> = [], directories: Iterable<string> = []) {
		this.files = new Map();
		for (const [path, bytes] of files) this.files.set(path, { id: ++this.#lastId, bytes: new Uint8Array(bytes) });
		this.directories = new Set(["/", ...directories]);
	}

	open(path: string, how: "read" | "write" | "create"): DiskFile {
		let inode = this.files.get(path);
		if (how === "create") {
			if (inode) throw errno("EEXIST", path);
			if (!this.directories.has(dirname(path))) throw errno("ENOENT", path);
			inode = { id: ++this.#lastId, bytes: new Uint8Array() };
			this.link(path, inode);
		}
		if (!inode) throw errno("ENOENT", path);
		return this.file(inode);
	}

	list(directory: string): readonly string[] {
		const prefix = directory === "/" ? "/" : `${directory}/`;
		return [...this.files.keys(), ...this.directories]
			.filter((path) => path !== directory && dirname(path) === directory)
			.map((path) => path.slice(prefix.length));
	}

	makeDirectory(path: string): boolean {
		if (this.directories.has(path)) return false;
		if (!this.directories.has(dirname(path))) throw errno("ENOENT", path);
		this.directories.add(path);
		return true;
	}

	rename(from: string, to: string): void {
		const inode = this.files.get(from);
		if (!inode) throw errno("ENOENT", from);
		this.files.delete(from);
		this.files.set(to, inode);
	}

	remove(path: string): void {
		if (!this.files.delete(path)) throw errno("ENOENT", path);
	}

	syncDirectory(path: string): void {
		if (!this.directories.has(path)) throw errno("ENOENT", path);
	}

	identity(path: string): string | undefined {
		if (this.directories.has(path)) return path;
		const inode = this.files.get(path);
		return inode && String(inode.id);
	}

	version(directory: string): string | undefined {
		const names = this.list(directory).map((name) => `${name}=${this.files.get(`${directory}/${name}`)?.id}`);
		return this.directories.has(directory) ? names.join() : "gone";
	}

	lock(path: string, text: string): DiskLock | { readonly heldBy: string } {
		const heldBy = this.#locks.get(path);
		if (heldBy !== undefined) return { heldBy };
		this.#locks.set(path, text);
		return { release: () => void this.#locks.delete(path) };
	}

	fileSystem(_path: string): FileSystem | undefined {
		return undefined;
	}

	/** The name of a new file comes to be. */
	protected link(path: string, inode: Inode): void {
		this.files.set(path, inode);
	}

	protected file(inode: Inode): DiskFile {
		let holds = false;
		return {
			read(into, position) {
				const piece = inode.bytes.subarray(position, position + into.length);
				into.set(piece);
				return piece.length;
			},
			write: (bytes, position) => {
				writeTo(inode, bytes, position);
				return bytes.length;
			},
			truncate: (size) => truncateTo(inode, size),
			sync() {},
			size: () => inode.bytes.length,
			identity: () => String(inode.id),
			tryLock: () => {
				if (this.#locked.has(inode.id)) return false;
				this.#locked.add(inode.id);
				holds = true;
				return true;
			},
			close: () => {
				if (holds) this.#locked.delete(inode.id);
				holds = false;
			},
		};
	}
}

export function writeTo(inode: Inode, bytes: Uint8Array, position: number): void {
	if (position + bytes.length > inode.bytes.length) truncateTo(inode, position + bytes.length);
	else inode.bytes = new Uint8Array(inode.bytes);
	inode.bytes.set(bytes, position);
}

export function truncateTo(inode: Inode, size: number): void {
	const next = new Uint8Array(size);
	next.set(inode.bytes.subarray(0, size));
	inode.bytes = next;
}

function errno(code: string, path: string): Error {
	return Object.assign(new Error(`${code}: ${path}`), { code });
}
