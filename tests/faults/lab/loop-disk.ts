/** A file system in a file, mounted through a loop device, whose plug can be pulled. */
import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { needsAll } from "./needs.ts";
import { withDirectory } from "./start.ts";

export type FileSystem = "ext4" | "xfs";

const SHUTDOWN = `
#include <fcntl.h>
#include <linux/types.h>
#include <sys/ioctl.h>
/* EXT4_IOC_SHUTDOWN, XFS_IOC_GOINGDOWN; 2 is NOLOGFLUSH: nothing is flushed, not even the journal. */
int main(int n, char **args) {
	__u32 how = 2;
	int directory = open(args[1], O_RDONLY);
	return directory < 0 || ioctl(directory, _IOR('X', 125, __u32), &how) < 0;
}
`;

/** Why there can be no such disk here. */
export function needsDisk(kind: FileSystem): string | undefined {
	const missing = needsAll("root", "gcc", "mount", "losetup", `mkfs.${kind}`);
	if (missing !== undefined) return missing;
	return readFileSync("/proc/filesystems", "latin1").split(/\s+/).includes(kind)
		? undefined
		: `needs ${kind} in the kernel`;
}

/**
 * A disk that is unmounted and gone afterwards, also when what is tried on it fails.
 *
 * @param beneath where its image lies, when that is a place of its own
 */
export function withDisk<T>(
	kind: FileSystem,
	use: (disk: LoopDisk) => Promise<T>,
	beneath?: string,
	format: readonly string[] = [],
): Promise<T> {
	return withDirectory(async (root) => {
		const disk = await LoopDisk.make(root, kind, beneath ?? root, format);
		try {
			return await use(disk);
		} finally {
			disk.unmount();
		}
	});
}

export class LoopDisk {
	readonly #kind: FileSystem;
	readonly #image: string;
	readonly #mounted: string;
	readonly #shutdown: string;

	readonly #format: readonly string[];

	private constructor(root: string, kind: FileSystem, beneath: string, format: readonly string[]) {
		this.#kind = kind;
		this.#format = format;
		this.#image = join(beneath, "image");
		this.#mounted = join(root, "mounted");
		this.#shutdown = join(root, "shutdown");
	}

	static async make(root: string, kind: FileSystem, beneath: string, format: readonly string[]): Promise<LoopDisk> {
		const disk = new LoopDisk(root, kind, beneath, format);
		await writeFile(`${disk.#shutdown}.c`, SHUTDOWN);
		execFileSync("gcc", ["-o", disk.#shutdown, `${disk.#shutdown}.c`]);
		await mkdir(disk.#mounted);
		return disk;
	}

	get state(): string {
		return this.path("state");
	}

	path(name: string): string {
		return join(this.#mounted, name);
	}

	async fresh(): Promise<void> {
		this.unmount();
		execFileSync("truncate", ["-s", "0", this.#image]);
		// XFS takes no less than 300 MB; the file is sparse.
		execFileSync("truncate", ["-s", this.#kind === "xfs" ? "320M" : "64M", this.#image]);
		execFileSync(`mkfs.${this.#kind}`, ["-q", this.#kind === "xfs" ? "-f" : "-F", ...this.#format, this.#image]);
		this.#mount();
	}

	/** Pulls the plug. */
	cut(): void {
		execFileSync(this.#shutdown, [this.#mounted]);
	}

	/** Plugs it in again. */
	again(): void {
		this.unmount();
		this.#mount();
	}

	unmount(): void {
		unmount(this.#mounted);
	}

	#mount(): void {
		execFileSync("mount", ["-o", "loop", this.#image, this.#mounted]);
	}
}

/** Waits a second for those who still have something open there. Where nothing is mounted it does nothing. */
export function unmount(path: string): void {
	for (let tries = 0; isMounted(path); tries++)
		if (spawnSync("umount", tries < 20 ? [path] : ["-l", path]).status !== 0) spawnSync("sleep", ["0.05"]);
}

/** From the kernel's list: a file system that was shut down does not even answer a `stat`. */
const isMounted = (path: string): boolean => readFileSync("/proc/self/mounts", "latin1").includes(` ${path} `);
