/** A disk in memory under a process that may be killed at any change. */
import type { DiskFile, DiskLock } from "../disk/disk.ts";
import { CrashDisk } from "./crash-disk.ts";

/**
 * A disk whose process can be killed at any change. From then on nothing reaches it any more, not even what a handler would
 * do; what was written before stays in the cache, where the next process reads it, though it may not be durable.
 */
export class MortalDisk extends CrashDisk {
	#left = -1;
	#dead = false;

	/** Was the process killed? */
	get dead(): boolean {
		return this.#dead;
	}

	/** The process dies before its n-th change from now on; 1 is the next one. */
	dieAt(n: number): void {
		this.#left = n;
	}

	/** How many changes it has left before it dies; less than 0: none is set. */
	get left(): number {
		return this.#left;
	}

	/** Another process starts. */
	live(): void {
		this.#left = -1;
		this.#dead = false;
	}

	#step(): void {
		if (!this.#dead && --this.#left !== 0) return;
		this.#dead = true;
		throw Object.assign(new Error("the process is dead"), { code: "EIO" });
	}

	override makeDirectory(path: string): boolean {
		this.#step();
		return super.makeDirectory(path);
	}

	override rename(from: string, to: string): void {
		this.#step();
		super.rename(from, to);
	}

	override remove(path: string): void {
		this.#step();
		super.remove(path);
	}

	override syncDirectory(path: string): void {
		this.#step();
		super.syncDirectory(path);
	}

	/** The locks of a dead process are free. */
	override lock(): DiskLock {
		return { release() {} };
	}

	protected override file(...args: Parameters<CrashDisk["file"]>): DiskFile {
		const file = super.file(...args);
		return {
			...file,
			tryLock: () => true,
			write: (bytes, position) => {
				this.#step();
				return file.write(bytes, position);
			},
			truncate: (size) => {
				this.#step();
				file.truncate(size);
			},
			sync: () => {
				this.#step();
				file.sync();
			},
		};
	}
}
