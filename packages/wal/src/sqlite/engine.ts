/** Logs in one SQLite database file, a row a line. The lease is a row too: epoch and tail are checked in the transaction that writes. */
import type Database from "better-sqlite3";
import { checkedBlobName } from "../engine/blob-name.ts";
import type { Acquire, BlobStore, EngineCaps, Lease, LogEngine, Owner, RealmLog, Tail } from "../engine/engine.ts";
import { endsEarly, fenced, seqMismatch, truncated } from "../engine/engine-errors.ts";
import { Poller } from "../engine/poller.ts";
import { REALMS_AT_ONCE } from "../engine/realm-page.ts";
import { subscription } from "../engine/subscription.ts";
import { WalError } from "../errors.ts";
import { assertGiven, having, isPath, wrong } from "../given.ts";
import { hasEnded } from "../owner.ts";
import { type Clock, systemClock, systemTimers, type Timers } from "../ports.ts";
import type { StoredRecord } from "../record/codec.ts";
import type { Seq } from "../record/record.ts";
import { crcOf, storedRecords } from "../record/stored-records.ts";
import { openDatabase } from "./database.ts";

export interface SqliteEngineOptions {
	readonly clock?: Clock;
	readonly timers?: Timers;
}

const LEASE_MS = 10_000;
/** How often a reader in another process looks whether there is more. */
const POLL_MS = 20;
/** Lines that are read at a time. */
const PAGE = 256;

const caps: EngineCaps = {
	atomicBatch: true,
	durability: "disk",
	maxBatchRecords: 512,
	maxBatchBytes: 1024 * 1024,
	leaseMs: LEASE_MS,
	answerMs: undefined,
};

/**
 * Logs in the database file at a path, which is made when it is missing; each commit is synced (`synchronous=FULL`).
 * better-sqlite3 is synchronous: the event loop waits while a batch is written. A writer's lease lasts 10 s and is renewed;
 * one whose process is gone from this host is free at once.
 *
 * @throws WalError `WAL_NEWER_FORMAT`, `WAL_CORRUPT` (no database, or another program's), `WAL_IO`, `WAL_OPTIONS` (no file)
 */
export function sqliteEngine(path: string, options: SqliteEngineOptions = {}): LogEngine {
	if (path !== "" && !isPath(path)) throw wrong("sqliteEngine", "the first argument", "the path of a file", path);
	assertGiven("sqliteEngine", options, { clock: having("now"), timers: having("after") });
	const { clock = systemClock, timers = systemTimers } = options;
	const database = openDatabase(path);
	const logs = new Map<string, SqliteLog>();
	return {
		caps,
		log(realm) {
			const log = logs.get(realm) ?? new SqliteLog(database, realm, clock, timers);
			logs.set(realm, log);
			return log;
		},
		blobs: (realm) => blobsOf(database, realm),
		realms: async (after = "") =>
			database
				.prepare<[string], { name: string }>(
					`SELECT name FROM reyn_realm WHERE name > ? ORDER BY name LIMIT ${REALMS_AT_ONCE}`,
				)
				.all(after)
				.map(({ name }) => name),
		close: async () => void database.close(),
	};
}

interface Row {
	readonly id: number;
	readonly log: string;
	readonly first: Seq;
	readonly tail: Seq;
	/** Of the last line; the salt before there is one. */
	readonly crc: string;
	readonly epoch: number;
	/** JSON of a {@link Holder}; null when nobody writes. */
	readonly owner: string | null;
	readonly until: number;
}

/** Who has the lease, and the name of the call that acquired it. */
interface Holder extends Owner {
	readonly nonce?: string;
}

class SqliteLog implements RealmLog {
	readonly #database: Database.Database;
	readonly #realm: string;
	readonly #clock: Clock;
	readonly #poller: Poller;
	readonly #row: Database.Statement<[string], Row>;
	readonly #insert: Database.Statement<[number, Seq, string]>;
	readonly #page: Database.Statement<[number, Seq, Seq], { line: string }>;
	readonly #advance: Database.Statement<[Seq, string, number, number, Seq]>;

	constructor(database: Database.Database, realm: string, clock: Clock, timers: Timers) {
		this.#database = database;
		this.#realm = realm;
		this.#clock = clock;
		this.#poller = new Poller(async () => this.#found()?.tail ?? 0, POLL_MS, timers);
		this.#row = database.prepare("SELECT * FROM reyn_realm WHERE name = ?");
		this.#insert = database.prepare("INSERT INTO reyn_wal (realm, seq, line) VALUES (?, ?, ?)");
		this.#page = database.prepare(
			`SELECT line FROM reyn_wal WHERE realm = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT ${PAGE}`,
		);
		this.#advance = database.prepare(
			"UPDATE reyn_realm SET tail = ?, crc = ? WHERE id = ? AND epoch = ? AND tail = ? AND owner IS NOT NULL",
		);
	}

	async acquire({ owner, fresh, nonce, steal = false, proven, opening }: Acquire): Promise<Lease> {
		const before = this.#found();
		const known = before ? await proven(before.log) : 0;
		return this.#writing(() => {
			this.#database
				.prepare(
					"INSERT OR IGNORE INTO reyn_realm (name, log, first, tail, crc, epoch, until) VALUES (?, ?, 1, 0, ?, 0, 0)",
				)
				.run(this.#realm, fresh.log, fresh.salt);
			const row = this.#found() as Row;
			if (known > row.tail) throw endsEarly(row.tail, known);
			const holder = row.owner === null ? undefined : (JSON.parse(row.owner) as Holder);
			if (holder?.nonce === nonce)
				return { log: row.log, epoch: row.epoch, first: row.first, tail: { seq: row.tail, crc: row.crc }, torn: [] };
			if (!steal && holder && row.until > this.#clock.now() && !hasEnded(holder))
				throw locked(holder, row.until - this.#clock.now());
			const epoch = row.epoch + 1;
			this.#database
				.prepare("UPDATE reyn_realm SET epoch = ?, owner = ?, until = ? WHERE id = ?")
				.run(epoch, JSON.stringify({ ...owner, nonce } satisfies Holder), this.#clock.now() + LEASE_MS, row.id);
			const lines = opening({ seq: row.tail + 1, prev: row.crc, epoch, torn: [] });
			const tail = this.#store(row.id, epoch, row.tail, lines) ?? { seq: row.tail, crc: row.crc };
			return { log: row.log, epoch, first: row.first, tail, torn: [] };
		});
	}

	async renew(lease: Lease): Promise<void> {
		this.#writing(() => {
			const { changes } = this.#database
				.prepare("UPDATE reyn_realm SET until = ? WHERE name = ? AND epoch = ? AND owner IS NOT NULL")
				.run(this.#clock.now() + LEASE_MS, this.#realm, lease.epoch);
			if (changes === 0) throw fenced(lease.epoch, this.#found()?.epoch ?? 0);
		});
	}

	async release(lease: Lease): Promise<void> {
		this.#writing(() =>
			this.#database
				.prepare("UPDATE reyn_realm SET owner = NULL, until = 0 WHERE name = ? AND epoch = ?")
				.run(this.#realm, lease.epoch),
		);
	}

	async append(lease: Lease, expect: Seq, lines: readonly string[]): Promise<void> {
		this.#writing(() => {
			const row = this.#found() as Row;
			if (this.#store(row.id, lease.epoch, expect, lines)) return;
			if (row.epoch !== lease.epoch || row.owner === null) throw fenced(lease.epoch, row.epoch);
			throw seqMismatch(expect, row.tail);
		});
		this.#poller.ring();
	}

	async tail(): Promise<Tail | undefined> {
		const row = this.#found();
		if (!row || row.tail === 0) return undefined;
		return { log: row.log, first: row.first, seq: row.tail, epoch: row.epoch, torn: [] };
	}

	async *read(after: Seq, through: Seq): AsyncGenerator<readonly StoredRecord[]> {
		const row = this.#found();
		if (!row) return;
		for (let reached = after; reached < through; ) {
			const { first } = this.#found() as Row;
			if (reached + 1 < first) throw truncated(reached + 1, first);
			const lines = this.#page.all(row.id, reached, through).map(({ line }) => line);
			if (lines.length === 0) return;
			yield storedRecords(lines, reached + 1);
			reached += lines.length;
			// Other work gets its turn between two pages.
			await new Promise((resolve) => setImmediate(resolve));
		}
	}

	subscribe(after: Seq, { signal }: { readonly signal: AbortSignal }): AsyncIterable<readonly StoredRecord[]> {
		return subscription(this, after, signal, (reached) => this.#poller.next(reached, signal));
	}

	async truncateBefore(lease: Lease, seq: Seq): Promise<Seq> {
		return this.#writing(() => {
			const row = this.#found() as Row;
			if (row.epoch !== lease.epoch || row.owner === null) throw fenced(lease.epoch, row.epoch);
			const first = Math.max(row.first, Math.min(seq, row.tail + 1));
			this.#database.prepare("UPDATE reyn_realm SET first = ? WHERE id = ?").run(first, row.id);
			this.#database.prepare("DELETE FROM reyn_wal WHERE realm = ? AND seq < ?").run(row.id, first);
			return first;
		});
	}

	#found(): Row | undefined {
		return guarded(() => this.#row.get(this.#realm));
	}

	/** Undefined when the epoch or the tail is another: nothing is stored then. */
	#store(id: number, epoch: number, expect: Seq, lines: readonly string[]): Lease["tail"] | undefined {
		const tail = { seq: expect + lines.length, crc: crcOf(lines.at(-1) ?? "") };
		if (this.#advance.run(tail.seq, tail.crc, id, epoch, expect).changes === 0) return undefined;
		let seq = expect;
		for (const line of lines) this.#insert.run(id, ++seq, line);
		return tail;
	}

	/** In one transaction, which takes the right to write at its start. */
	#writing<T>(run: () => T): T {
		return guarded(() => this.#database.transaction(run).immediate());
	}
}

/** SQLite's errors in the words of the port. A transaction that fails is rolled back: what could be tried again was not applied. */
function guarded<T>(run: () => T): T {
	try {
		return run();
	} catch (error) {
		const { code, message } = error as { code?: unknown; message: string };
		if (error instanceof WalError || typeof code !== "string" || !code.startsWith("SQLITE_")) throw error;
		const said = (walCode: ConstructorParameters<typeof WalError>[0], why: string): WalError =>
			new WalError(walCode, `${why} (${code}: ${message})`, { code }, { cause: error });
		if (code === "SQLITE_FULL")
			throw said("WAL_FULL", "the disk is full: nothing was added. Free some space; what waits is written then");
		if (code.startsWith("SQLITE_BUSY") || code.startsWith("SQLITE_LOCKED"))
			throw said("WAL_UNAVAILABLE", "another connection writes to the database; nothing was added");
		if (code === "SQLITE_CORRUPT" || code === "SQLITE_NOTADB") throw said("WAL_CORRUPT", "the database is damaged");
		throw said("WAL_IO", "the database cannot be used");
	}
}

function locked({ pid, host, started, command }: Owner, ms: number): WalError {
	return new WalError(
		"WAL_LOCKED",
		`the log is open for writing in process ${pid} on ${host}, running since ${started}: ${command}. Stop it first, look at the log read-only, or wait: its lease ends in ${Math.ceil(ms / 1000)} s unless it is renewed`,
		{ pid, host, started, command },
	);
}

function blobsOf(database: Database.Database, realm: string): BlobStore {
	return {
		async put(name, bytes) {
			guarded(() =>
				database
					.prepare("INSERT OR REPLACE INTO reyn_blob (realm, name, bytes) VALUES (?, ?, ?)")
					.run(realm, checkedBlobName(name), bytes),
			);
		},
		async get(name) {
			return guarded(() =>
				database
					.prepare<[string, string], { bytes: Buffer }>("SELECT bytes FROM reyn_blob WHERE realm = ? AND name = ?")
					.get(realm, checkedBlobName(name)),
			)?.bytes;
		},
		async size(name) {
			return guarded(() =>
				database
					.prepare<[string, string], { size: number }>(
						"SELECT length(bytes) AS size FROM reyn_blob WHERE realm = ? AND name = ?",
					)
					.get(realm, checkedBlobName(name)),
			)?.size;
		},
		async list(prefix) {
			const rows = guarded(() =>
				database
					.prepare<[string, string, string], { name: string }>(
						"SELECT name FROM reyn_blob WHERE realm = ? AND substr(name, 1, length(?)) = ? ORDER BY name",
					)
					.all(realm, prefix, prefix),
			);
			return rows.map(({ name }) => name);
		},
		async delete(name) {
			guarded(() =>
				database.prepare("DELETE FROM reyn_blob WHERE realm = ? AND name = ?").run(realm, checkedBlobName(name)),
			);
		},
	};
}
