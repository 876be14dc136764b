/**
 * The file system, as far as the log needs it. Calls are synchronous: the real one runs in a worker thread, and a
 * simulated one can stop between any two of them. Errors are those of the system, with their `code`.
 */
export interface Disk {
	/** `create` refuses a file that is there; `write` and `read` refuse one that is not. */
	open(path: string, how: "read" | "write" | "create"): DiskFile;
	/** The names in a directory; none when it is missing. */
	list(directory: string): readonly string[];
	/** Makes one directory; false when it is there already. */
	makeDirectory(path: string): boolean;
	rename(from: string, to: string): void;
	/** Waits, on a disk whose `rename` fails while somebody has one of the two files open (Windows): it is tried again then. Absent: it is not. */
	pause?(ms: number): void;
	remove(path: string): void;
	/** Makes what was created, renamed or removed in a directory durable. */
	syncDirectory(path: string): void;
	/** Names the file that a path leads to now: the same name, the same file. Undefined when there is none. */
	identity(path: string): string | undefined;
	/**
	 * Changes when an entry of a directory does, or another directory takes its place; undefined while that cannot be told
	 * yet. Unlike `identity` it asks nothing of the files themselves: one whose times were asked for is dearer to sync after
	 * its next write (Linux gives it a finer time then, and so a dirty inode).
	 */
	version(directory: string): string | undefined;
	/** Takes an exclusive lock that ends with its holder, or gives the text that the holder left. The text is a note, not the lock. */
	lock(path: string, text: string): DiskLock | { readonly heldBy: string };
	/** What the path lies on; undefined for a disk of this machine, or where nobody can say. */
	fileSystem(path: string): FileSystem | undefined;
}

/** What promises less than a disk of this machine. */
export interface FileSystem {
	/** `NFS`, `virtiofs`, `fuse.sshfs`, `tmpfs`. */
	readonly name: string;
	/**
	 * `network`: locks and syncs may not hold. `opaque`: what lies behind it cannot be told by name, as with FUSE, virtiofs and 9p.
	 * `memory`: ends with the power of the machine.
	 */
	readonly kind: "network" | "opaque" | "memory";
}

export interface DiskFile {
	/** How many bytes were read; fewer only at the end of the file. */
	read(into: Uint8Array, position: number): number;
	/** How many bytes were written; fewer than asked for is no error. */
	write(bytes: Uint8Array, position: number): number;
	truncate(size: number): void;
	/** Makes the bytes and the size durable. After it has failed nothing is known of either. */
	sync(): void;
	size(): number;
	/** As `Disk.identity`, of the open file. */
	identity(): string;
	/** Takes an exclusive lock on the file, which ends when it is closed; false when another holder has it. Reading and writing are as before. */
	tryLock(): boolean;
	/** Closing twice does nothing. */
	close(): void;
}

export interface DiskLock {
	release(): void;
}

/** Writes every byte, or throws: a short write without an error is what a full disk looks like. */
export function writeAll(file: DiskFile, bytes: Uint8Array, position: number): void {
	for (let done = 0; done < bytes.length; ) {
		const written = file.write(bytes.subarray(done), position + done);
		if (written === 0)
			throw Object.assign(new Error(`only ${done} of ${bytes.length} bytes could be written`), { code: "ENOSPC" });
		done += written;
	}
}

/** Reads up to `length` bytes; fewer only at the end of the file. */
export function readAt(file: DiskFile, position: number, length: number): Buffer {
	const bytes = Buffer.allocUnsafe(length);
	let done = 0;
	while (done < length) {
		const read = file.read(bytes.subarray(done), position + done);
		if (read === 0) break;
		done += read;
	}
	return bytes.subarray(0, done);
}
