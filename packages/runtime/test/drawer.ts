/** A directory of an audit trail in memory, which may be full, or die in the middle of a write. */
import type { TrailDirectory } from "../src/stores/trail-files.ts";

export class Drawer implements TrailDirectory {
	readonly files: Map<string, Buffer>;
	/** So many bytes fit in; of what does not a part is written. */
	room = Number.POSITIVE_INFINITY;
	/** Its process is dead: nothing is done any more. */
	isDead = false;
	/** What removing fails with. */
	sticks: Error | undefined;
	/** How often something was written. */
	writes = 0;

	constructor(files = new Map<string, Buffer>()) {
		this.files = files;
	}

	/** The same files, for the next process. */
	next(): Drawer {
		this.isDead = true;
		return new Drawer(this.files);
	}

	async list() {
		this.#assertAlive();
		return [...this.files].map(([name, { length: bytes }]) => ({ name, bytes }));
	}

	async read(name: string, position: number, most: number) {
		this.#assertAlive();
		return (this.files.get(name) ?? Buffer.alloc(0)).subarray(position, position + most);
	}

	async create(name: string, bytes: Uint8Array) {
		if (this.files.has(name)) throw failed("EEXIST");
		this.#write(name, bytes);
	}

	async append(name: string, bytes: Uint8Array) {
		if (!this.files.has(name)) throw failed("ENOENT");
		this.#write(name, bytes);
	}

	async remove(names: readonly string[]) {
		this.#assertAlive();
		if (this.sticks) throw this.sticks;
		for (const name of names) this.files.delete(name);
	}

	#write(name: string, bytes: Uint8Array): void {
		this.#assertAlive();
		this.writes++;
		const fits = Math.min(bytes.length, this.room);
		this.room -= fits;
		this.files.set(name, Buffer.concat([this.files.get(name) ?? Buffer.alloc(0), bytes.subarray(0, fits)]));
		if (fits < bytes.length) throw failed("ENOSPC");
	}

	#assertAlive(): void {
		if (this.isDead) throw failed("EIO");
	}
}

const failed = (code: string): Error => Object.assign(new Error(`${code}: on purpose`), { code });
