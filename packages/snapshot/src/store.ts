/** The store of snapshots: roots by scope and seq, and the chunks that they share, as blobs. */
import { createHash } from "node:crypto";
import { type BlobStore, fileBlobs, memoryBlobs, type Scope, type Seq, scopeKey } from "@reyn/wal";
import { blobsBelow } from "@reyn/wal/internal";
import { SnapshotError } from "./errors.ts";
import { NodeCache } from "./node-cache.ts";

const OWNER = "log";
const ROOTS = "roots/";
const CHUNKS = "chunks/";
const BROKEN = "broken/";
/** How many blobs are written at the same time. */
const AT_ONCE = 32;

/** Thrown for a blob that is missing, or is not what was written. */
export class Damage extends Error {
	/** The name of the blob. */
	readonly blob: string;

	constructor(blob: string, why: string) {
		super(`${blob}: ${why}`);
		this.blob = blob;
	}
}

/** Thrown for a blob that cannot be read just now; it may be sound all the same. */
export class Unreadable extends Error {}

/**
 * The snapshots of one log, over any blob store: see {@link fileSnapshots} and {@link memorySnapshots}, or pass `engine.blobs(realm)`.
 * Snapshots may be lost at any time, since the log has everything. Only the writer of the log may write here. Use it through `capture`,
 * `restore` and `collect`; most methods are for them.
 */
export class SnapshotStore {
	/** The cache of list nodes, for reading and writing lists. */
	readonly nodes = new NodeCache();
	readonly #blobs: BlobStore;
	/** Chunks that this process has stored or read, with all chunks below them: they need not be stored again. */
	readonly #sound = new Set<string>();
	/** Chunks that this process has found missing or damaged. */
	readonly #bad = new Set<string>();
	/** The seqs of roots by folder, newest first. A cache is safe, since nobody else writes here. */
	readonly #roots = new Map<string, readonly Seq[]>();
	/** The id of the log, once it was checked. */
	#owner: string | undefined;
	#last: Promise<unknown> = Promise.resolve();

	constructor(blobs: BlobStore) {
		this.#blobs = blobs;
	}

	/** A separate store of the same log, for states that must not be mixed with these. */
	below(part: string): SnapshotStore {
		return new SnapshotStore(blobsBelow(this.#blobs, part));
	}

	/** Blobs of the same log beside its snapshots, for what else is made of the log and may be lost. */
	beside(part: string): BlobStore {
		return blobsBelow(this.#blobs, part);
	}

	/**
	 * Checks that this is the store of a log. With `take`, a store without an owner becomes the log's.
	 *
	 * @throws SnapshotError `SNAPSHOT_OTHER_LOG`
	 */
	async assertOf(log: string, take: boolean): Promise<void> {
		if (log === this.#owner) return;
		const bytes = await this.#read(OWNER);
		// A damaged owner blob is ignored: each root names its log too, with a checksum of its own.
		const owner = bytes && unsealed(text(bytes));
		if (owner === undefined && take) await this.#blobs.put(OWNER, Buffer.from(sealed(log)));
		if (owner === log || (owner === undefined && take)) this.#owner = log;
		if (owner === undefined || owner === log) return;
		throw new SnapshotError(
			"SNAPSHOT_OTHER_LOG",
			`these snapshots are of the log ${owner}, and the log here is ${log}. Bring the log back that they belong to, or set them aside: the log alone has all there is`,
			{ expected: log, found: owner },
		);
	}

	/**
	 * The seqs of a scope that have a root, newest first.
	 *
	 * @param anew look again: somebody else may have written since. Default: false
	 */
	async roots(scope: Scope, anew = false): Promise<readonly Seq[]> {
		const folder = folderOf(scope);
		const known = anew ? undefined : this.#roots.get(folder);
		if (known) return known;
		const found = (await this.#list(folder)).map(seqOf).sort((a, b) => b - a);
		this.#roots.set(folder, found);
		return found;
	}

	/** The names of all roots. */
	rootNames(): Promise<readonly string[]> {
		return this.#list(ROOTS);
	}

	/** The text of a scope's root at a seq. @throws Unreadable; WalError `WAL_UNSAFE` */
	root(scope: Scope, seq: Seq): Promise<string | undefined> {
		return this.rootNamed(rootName(scope, seq));
	}

	/** @throws Unreadable */
	async rootNamed(name: string): Promise<string | undefined> {
		const bytes = await this.#read(name);
		return bytes && text(bytes);
	}

	/** Stores a root. Its chunks have to be stored before it. */
	async putRoot(scope: Scope, seq: Seq, text: string): Promise<void> {
		const folder = folderOf(scope);
		const known = this.#roots.get(folder);
		// Forgotten first: a put that fails may have stored the root all the same.
		this.#roots.delete(folder);
		await this.#blobs.put(rootName(scope, seq), Buffer.from(text));
		if (known && seq > (known[0] ?? 0)) this.#roots.set(folder, [seq, ...known]);
	}

	/** Is this chunk known to be stored, with all chunks below it? False: not known. */
	hasChunk(id: string): boolean {
		return this.#sound.has(id);
	}

	/** Stores bytes under their own hashes. */
	async putChunks(chunks: ReadonlyMap<string, Uint8Array>): Promise<void> {
		const all = [...chunks];
		for (let i = 0; i < all.length; i += AT_ONCE)
			await Promise.all(all.slice(i, i + AT_ONCE).map(([id, bytes]) => this.#blobs.put(chunkName(id), bytes)));
		for (const id of chunks.keys()) {
			this.#sound.add(id);
			this.#bad.delete(id);
		}
	}

	/** @throws Damage, Unreadable */
	async chunk(id: string): Promise<Uint8Array> {
		// Many roots may name a missing chunk: it is looked for once.
		const bytes = this.#bad.has(id) ? undefined : await this.#read(chunkName(id));
		if (bytes && sha256(bytes) === id) return bytes;
		this.#bad.add(id);
		throw new Damage(chunkName(id), bytes ? "its bytes are not those that its name says" : "is missing");
	}

	/** Notes that a chunk was read, with all chunks below it. */
	markSound(id: string): void {
		this.#sound.add(id);
	}

	async chunkIds(): Promise<readonly string[]> {
		return (await this.#list(CHUNKS)).map((name) => name.slice(CHUNKS.length));
	}

	/** Does the store own its blobs, so that unneeded ones may be removed? */
	async isOwn(): Promise<boolean> {
		return (await this.#blobs.isOwn?.()) ?? true;
	}

	removeRoot(name: string): Promise<void> {
		this.#roots.clear();
		return this.#blobs.delete(name);
	}

	/** Removes a chunk that nothing names any more. */
	removeChunk(id: string): Promise<void> {
		this.#sound.delete(id);
		return this.#blobs.delete(chunkName(id));
	}

	/** Takes a damaged blob out of the way without destroying it. */
	async setAside(name: string): Promise<void> {
		// Chunks above it are not sound any more: all are checked, or stored again, when they are needed next.
		this.#sound.clear();
		this.#roots.clear();
		const bytes = await this.#read(name);
		if (!bytes) return;
		await this.#blobs.put(BROKEN + name, bytes);
		await this.#blobs.delete(name);
	}

	/** Runs one piece of work at a time: a collection must not run while chunks are read, or while a snapshot relies on stored ones. */
	exclusively<T>(work: () => Promise<T>): Promise<T> {
		const done = this.#last.then(work, work);
		this.#last = done.catch(() => {});
		return done;
	}

	async #read(name: string): Promise<Uint8Array | undefined> {
		try {
			return await this.#blobs.get(name);
		} catch (error) {
			throw unreadable(name, error);
		}
	}

	async #list(prefix: string): Promise<readonly string[]> {
		try {
			return await this.#blobs.list(prefix);
		} catch (error) {
			throw unreadable(prefix, error);
		}
	}
}

/** The error for a failed read. `WAL_UNSAFE` is passed on: somebody else may have written here, so nothing can be trusted. */
function unreadable(name: string, error: unknown): unknown {
	const { code, message } = error as { code?: unknown; message: string };
	return code === "WAL_UNSAFE" ? error : new Unreadable(`${name}: ${message}`, { cause: error });
}

/** Snapshots in memory; they end with the process. */
export const memorySnapshots = (): SnapshotStore => new SnapshotStore(memoryBlobs());

/** Snapshots in files, each written whole or not at all, below a directory of their own. */
export const fileSnapshots = (directory: string): SnapshotStore => new SnapshotStore(fileBlobs(directory));

export const chunkName = (id: string): string => CHUNKS + id;

export const rootName = (scope: Scope, seq: Seq): string => folderOf(scope) + String(seq).padStart(20, "0");

const seqOf = (name: string): Seq => Number(name.slice(-20));

/** The folder of a scope: its readable part is for people, and a hash tells scopes apart that look alike. */
function folderOf(scope: Scope): string {
	const key = scopeKey(scope);
	const words = key.replace(/[^\w.-]+/g, "-").slice(0, 24) || "process";
	return `${ROOTS}${words}-${sha256(key).slice(0, 12)}/`;
}

/** A one-line text with a line before it that holds its checksum. */
export const sealed = (content: string): string => `${sha256(content)}\n${content}\n`;

/** The text that was sealed; undefined if it has changed. */
export function unsealed(found: string): string | undefined {
	const [sum, content, rest] = found.split("\n");
	return content !== undefined && rest === "" && sha256(content) === sum ? content : undefined;
}

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString();

export const sha256 = (content: string | Uint8Array): string => createHash("sha256").update(content).digest("hex");
