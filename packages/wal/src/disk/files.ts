/** The port for whole files beside the log: what an implementation of blobs needs of a file system. */
import { withFile } from "../file/records.ts";
import { type Disk, readAt } from "./disk.ts";

/**
 * The file system, as far as whole files need it, off the event loop: what `Disk` is for the log. Errors are those of the
 * system, with their `code`.
 */
export interface Files {
	/** Makes a file to be written; refuses one that is there. */
	create(path: string): Promise<NewFile>;
	/** All bytes of a file; undefined when there is none. Refuses one that has more of them than `limit`. */
	read(path: string, limit: number): Promise<Uint8Array | undefined>;
	/** The bytes that a file has; undefined when there is none. */
	size(path: string): Promise<number | undefined>;
	/** The names in a directory; none when it is missing, or no directory. */
	list(directory: string): Promise<readonly string[]>;
	/** Refuses a directory that is there, and is a link or no matter of this user alone. */
	assertOwn(directory: string): Promise<void>;
	/** Makes one directory; false when it is there already. */
	makeDirectory(path: string): Promise<boolean>;
	rename(from: string, to: string): Promise<void>;
	/** As `Disk.pause`. */
	pause?(ms: number): Promise<void>;
	/** Does nothing when there is none. */
	remove(path: string): Promise<void>;
	/** Makes what was created, renamed or removed in a directory durable. */
	syncDirectory(path: string): Promise<void>;
}

export interface NewFile {
	/** How many bytes were written; fewer than asked for is no error. */
	write(bytes: Uint8Array, position: number): Promise<number>;
	/** Makes the bytes and the size durable. After it has failed nothing is known of either. */
	sync(): Promise<void>;
	close(): Promise<void>;
}

/** The files of a disk, a call at a time: so what is done to whole files can be cut anywhere by a simulated one. */
export function filesOf(disk: Disk): Files {
	const exists = (path: string): boolean => disk.identity(path) !== undefined;
	return {
		async create(path) {
			const file = disk.open(path, "create");
			return {
				write: async (bytes, position) => file.write(bytes, position),
				sync: async () => file.sync(),
				close: async () => file.close(),
			};
		},
		async read(path) {
			return exists(path) ? withFile(disk, path, (file) => readAt(file, 0, file.size())) : undefined;
		},
		async size(path) {
			return exists(path) ? withFile(disk, path, (file) => file.size()) : undefined;
		},
		list: async (directory) => disk.list(directory),
		// The disk sees to that itself.
		assertOwn: async () => {},
		makeDirectory: async (path) => disk.makeDirectory(path),
		rename: async (from, to) => disk.rename(from, to),
		...(disk.pause && { pause: async (ms) => disk.pause?.(ms) }),
		async remove(path) {
			if (exists(path)) disk.remove(path);
		},
		syncDirectory: async (path) => disk.syncDirectory(path),
	};
}
