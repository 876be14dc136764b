/** Logs in directories: `wal.jsonl`, sealed segments, `wal.head` and `wal.lock` (docs/formats/wal-v1.md). */
import { join, resolve } from "node:path";
import type { Disk } from "../disk/disk.ts";
import { nodeDisk } from "../disk/node-disk.ts";
import { Bell } from "../engine/bell.ts";
import type { Acquire, EngineCaps, Lease, LogEngine, RealmLog, Tail, Wants } from "../engine/engine.ts";
import { fenced } from "../engine/engine-errors.ts";
import { Poller } from "../engine/poller.ts";
import { realmPage } from "../engine/realm-page.ts";
import { subscription } from "../engine/subscription.ts";
import { assertGiven, having, isPath, wrong } from "../given.ts";
import { systemTimers, type Timers } from "../ports.ts";
import type { StoredRecord } from "../record/codec.ts";
import { encoded, type Seq } from "../record/record.ts";
import { crcOf } from "../record/stored-records.ts";
import { fileBlobs } from "./blobs.ts";
import { type HostSpec, inThread, inWorker, type LogFileHost } from "./host.ts";
import { activePath, sealedPaths } from "./names.ts";
import { checks, defaultLogFileOptions, type LogFileOptions } from "./options.ts";
import { Reader } from "./reader.ts";
import { Segments } from "./segments.ts";

export interface FileEngineOptions extends Partial<LogFileOptions> {
	/** A simulated disk; the writer then runs on this thread. Default: the real one, in a worker. */
	readonly disk?: Disk;
	readonly timers?: Timers;
}

const caps: EngineCaps = {
	// A line that is there whole counts, though its batch was cut.
	atomicBatch: false,
	durability: "disk",
	maxBatchRecords: 512,
	maxBatchBytes: 1024 * 1024,
	leaseMs: undefined,
	answerMs: undefined,
};

/** How often a reader in another process looks whether there is more. */
const POLL_MS = 20;

/**
 * The log in `directory`, which a writer makes when it is missing, as the realm `main`; those of other realms in
 * directories of their own under `realms/`.
 */
export function fileEngine(directory: string, options: FileEngineOptions = {}): LogEngine {
	if (!isPath(directory)) throw wrong("fileEngine", "the first argument", "the path of a directory", directory);
	assertGiven("fileEngine", options, engineChecks);
	const { disk = nodeDisk } = options;
	// The process may work in another directory later.
	const home = options.disk ? directory : resolve(directory);
	const realms = join(home, "realms");
	const pathOf = (realm: string): string => (realm === MAIN ? home : join(realms, encoded(realm)));
	const logs = new Map<string, FileLog>();
	return {
		caps,
		log(realm) {
			const log = logs.get(realm) ?? new FileLog(pathOf(realm), options);
			logs.set(realm, log);
			return log;
		},
		blobs: (realm) => fileBlobs(join(pathOf(realm), "blobs"), options),
		async realms(after) {
			const named = disk.list(realms).map((name) => ({ realm: decodeURIComponent(name), path: join(realms, name) }));
			const all = [{ realm: MAIN, path: home }, ...named];
			return realmPage(
				all.flatMap(({ realm, path }) => (hasLog(disk, path) ? [realm] : [])),
				after,
			);
		},
		close: async () => {},
	};
}

const MAIN = "main";

const engineChecks = { ...checks, disk: having("open"), timers: having("after") };

function hasLog(disk: Disk, directory: string): boolean {
	return disk.identity(activePath(directory)) !== undefined || sealedPaths(directory, disk.list(directory)).length > 0;
}

/** A writer that holds the lock. */
interface Writing {
	readonly host: LogFileHost;
	readonly segments: Segments;
	readonly lease: Lease;
	/** The name of the call that acquired it. */
	readonly nonce: string;
	/** The last durable record. */
	seq: Seq;
	first: Seq;
}

class FileLog implements RealmLog {
	readonly #spec: Pick<HostSpec, "directory" | "options">;
	/** Undefined for the real one, on which the writer has a thread of its own. */
	readonly #disk: Disk | undefined;
	readonly #reader: Reader;
	readonly #bell = new Bell();
	/** For a log that another process writes. */
	readonly #poller: Poller;
	#writing: Writing | undefined;

	constructor(directory: string, { disk, timers = systemTimers, ...options }: FileEngineOptions) {
		this.#spec = { directory, options: { ...defaultLogFileOptions, ...options } };
		this.#disk = disk;
		this.#reader = new Reader(disk ?? nodeDisk, directory);
		this.#poller = new Poller(async () => (await this.#reader.newTail())?.seq ?? 0, POLL_MS, timers);
	}

	/** The lock is the system's and lasts as long as its holder: there is nothing to steal. */
	async acquire({ owner, fresh, nonce, proven, opening }: Acquire): Promise<Lease> {
		if (this.#writing?.nonce === nonce) return this.#writing.lease;
		const spec = { ...this.#spec, fresh, owner };
		const host = this.#disk ? inThread(this.#disk, spec) : inWorker(spec);
		try {
			const logId = await host.lock();
			const opened = await host.recover(logId === undefined ? 0 : await proven(logId));
			const { header, first, tail, torn, place, follows } = opened;
			const epoch = opened.epoch + 1;
			const lines = opening({ seq: tail.seq + 1, prev: tail.crc, epoch, torn, ...(follows && { follows }) });
			const segments = new Segments(this.#disk ?? nodeDisk, this.#spec.directory, opened);
			segments.wrote(await host.append(lines.join(""), tail.seq, lines.length));
			const seq = tail.seq + lines.length;
			const lease = { log: header.log, epoch, first, tail: { seq, crc: crcOf(lines.at(-1) ?? "") }, torn, place };
			this.#writing = { host, segments, lease, nonce, seq, first };
			return lease;
		} catch (error) {
			await host.end();
			throw error;
		}
	}

	async renew(lease: Lease): Promise<void> {
		this.#held(lease);
	}

	async release(lease: Lease): Promise<void> {
		const writing = this.#writing;
		if (writing?.lease !== lease) return;
		this.#writing = undefined;
		await writing.host.close();
	}

	async append(lease: Lease, expect: Seq, lines: readonly string[]): Promise<void> {
		const writing = this.#held(lease);
		writing.segments.wrote(await writing.host.append(lines.join(""), expect, lines.length));
		writing.seq = expect + lines.length;
		this.#bell.ring();
	}

	async tail(): Promise<Tail | undefined> {
		if (!this.#writing) return this.#reader.tail();
		const { lease, seq, first } = this.#writing;
		return { log: lease.log, first, seq, epoch: lease.epoch, torn: [], ...(lease.place && { place: lease.place }) };
	}

	read(after: Seq, through: Seq, wants?: Wants): AsyncIterable<readonly StoredRecord[]> {
		const { segments } = this.#writing ?? {};
		return segments ? segments.read(after, through, wants) : this.#reader.read(after, through, wants);
	}

	subscribe(after: Seq, { signal }: { readonly signal: AbortSignal }): AsyncIterable<readonly StoredRecord[]> {
		// The look at a log that another process writes is a cheap one.
		const log = { tail: () => (this.#writing ? this.tail() : this.#reader.newTail()), read: this.read.bind(this) };
		return subscription(log, after, signal, (reached) =>
			this.#writing ? this.#bell.next(signal) : this.#poller.next(reached, signal),
		);
	}

	async truncateBefore(lease: Lease, seq: Seq): Promise<Seq> {
		const writing = this.#held(lease);
		writing.segments.truncating(seq);
		writing.first = await writing.host.truncateBefore(seq);
		writing.segments.truncated(writing.first);
		return writing.first;
	}

	#held(lease: Lease): Writing {
		if (this.#writing?.lease !== lease) throw fenced(lease.epoch, this.#writing?.lease.epoch ?? lease.epoch);
		return this.#writing;
	}
}
