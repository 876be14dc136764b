/** An application's own SQLite database that a rewind can bring back: open it here, capture it by seq, restore it. */
import { closeSync, existsSync, mkdirSync, openSync, realpathSync, renameSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname } from "node:path";
import { codeOf, type Seq, type Wal } from "@reyn/wal";
import type Database from "better-sqlite3";
import { SnapshotError } from "../errors.ts";
import { crcAt } from "../record-crc.ts";
import { GenerationFiles, syncDirectory } from "./generation-files.ts";

/** What has just been done; a test ends the process there. */
export type GenerationStep =
	| "capture copied"
	| "capture placed"
	| "capture sealed"
	| "restore copied"
	| "restore detached"
	| "restore cleared"
	| "restore replaced"
	| "restore reopened"
	| "prune unsealed";

export interface SqliteGenerationsOptions {
	/** The database file; made when it is missing. It is opened with `journal_mode=WAL` and `synchronous=FULL`. */
	readonly database: string;
	/** Where its generations lie. */
	readonly directory: string;
	/** A generation of another log, or of a record that this one has not, is never restored; none gets ahead of what is durable. */
	readonly log: Pick<Wal, "id" | "first" | "durableTip" | "read">;
	/**
	 * Brings any older schema to today's, say with a guard on `PRAGMA table_info`. It runs in a transaction at every open and
	 * after each restore, so a second run has to change nothing.
	 */
	migrate(database: Database.Database): void;
	/** Called after each step of a capture, a restore and a prune. Default: nothing. */
	readonly onStep?: (step: GenerationStep) => void;
}

export interface SqliteGenerations {
	/** The open connection. Another one after each restore, so ask for it each time; statements of the old one are dead. */
	readonly database: Database.Database;
	/**
	 * Stores the database as it is at the moment of the call as the generation of a seq, whose record is durable by then; a
	 * second time changes nothing. A generation of another record that had the seq is replaced. The event loop waits for the copy.
	 *
	 * @throws SnapshotError `SNAPSHOT_AHEAD`, `SNAPSHOT_DATABASE_BUSY`, `SNAPSHOT_NOT_STORED`, `SNAPSHOT_OTHER_LOG`,
	 * `SNAPSHOT_NEWER_FORMAT`
	 */
	capture(seq: Seq): Promise<void>;
	/**
	 * Brings the database back to its newest sound generation at or before a seq, brings that to today's schema, and gives the
	 * generation's seq. `isBase` says which seqs are on the path: `(at) => path.isBase(at, kinds)`. Killed at any moment, it
	 * leaves the old database or the restored one, whole; run it again. A rotten generation is renamed to `….broken`; one that
	 * the log has no record of, since it was brought back from a copy or truncated, is passed over.
	 *
	 * @throws SnapshotError `SNAPSHOT_AHEAD`, `SNAPSHOT_NO_GENERATION`, `SNAPSHOT_DATABASE_BUSY`, `SNAPSHOT_OTHER_LOG`, `SNAPSHOT_NEWER_FORMAT`:
	 * the database is as it was; `SNAPSHOT_NOT_RESTORED`: it is that or the restored one
	 */
	restoreToSeq(seq: Seq, isBase: (seq: Seq) => boolean): Promise<Seq>;
	/** The seqs of this log that have a generation, newest first; nobody has compared it with the record yet. */
	list(): readonly Seq[];
	/**
	 * Removes the generations of this log that are not to be kept, and gives their seqs, newest first; with `dryRun` (default:
	 * false) it only gives them. Killed at any moment, each is still whole or gone, and those to keep are as they were. What a
	 * killed capture or prune left goes too; a rotten generation stays.
	 */
	prune(keep: (seq: Seq) => boolean, options?: { readonly dryRun?: boolean }): readonly Seq[];
	close(): void;
}

/** Long enough for a reader that is just finishing. */
const BUSY_MS = 50;

/**
 * Opens a database that can be brought back to its state at a seq.
 *
 * @example
 * const tasks = sqliteGenerations({ database: "tasks.db", directory: "tasks", log: wal, migrate: makeTables });
 * await tasks.capture(checkpoint.seq);
 * await tasks.restoreToSeq(path.tip, (seq) => path.isBase(seq, kinds));
 */
export function sqliteGenerations(options: SqliteGenerationsOptions): SqliteGenerations {
	return new Generations(options);
}

/** The seqs of a log that have a generation, newest first, without the database: for who only reads, beside the process that has it open. */
export function generationsIn({ directory, log }: Pick<SqliteGenerationsOptions, "directory" | "log">): readonly Seq[] {
	return new GenerationFiles(directory, log.id, true).own();
}

/** Loaded when a database is opened: what is native lies beside no bundle, and one of CommonJS has no `import.meta.url`. */
const driver = (): typeof Database => createRequire(import.meta.url ?? `${process.cwd()}/`)("better-sqlite3");

class Generations implements SqliteGenerations {
	readonly #path: string;
	/** What is to take the database's place, in the same directory. */
	readonly #temporary: string;
	readonly #log: SqliteGenerationsOptions["log"];
	readonly #files: GenerationFiles;
	readonly #migrate: SqliteGenerationsOptions["migrate"];
	readonly #step: (step: GenerationStep) => void;
	readonly #sealing = new Map<Seq, Promise<void>>();
	#database: Database.Database;

	constructor({ database, directory, log, migrate, onStep = () => {} }: SqliteGenerationsOptions) {
		this.#path = madePath(database);
		this.#temporary = `${this.#path}.restore`;
		// A restore that was killed has left it.
		rmSync(this.#temporary, { force: true });
		this.#log = log;
		this.#files = new GenerationFiles(directory, log.id);
		this.#migrate = migrate;
		this.#step = onStep;
		this.#database = this.#open();
	}

	get database(): Database.Database {
		return this.#database;
	}

	async capture(seq: Seq): Promise<void> {
		// Nothing is awaited before the copy is made: it is of the moment of the call. To ask the log first whether the generation
		// that is there is of its record would be a wait, so a second capture of a seq copies too, and drops that.
		this.#files.refuseOtherLog(seq);
		this.#refuseAhead(seq);
		this.#refuseTransaction();
		const sealing = this.#sealing.get(seq) ?? this.#copyAndSeal(seq);
		this.#sealing.set(seq, sealing);
		try {
			await sealing;
		} catch (cause) {
			throw failed("SNAPSHOT_NOT_STORED", seq, cause);
		} finally {
			this.#sealing.delete(seq);
		}
	}

	async restoreToSeq(seq: Seq, isBase: (seq: Seq) => boolean): Promise<Seq> {
		this.#refuseAhead(seq);
		try {
			const wanted = this.#files.seqs().filter((at) => at <= seq && isBase(at));
			const crcs = new Map<Seq, string | undefined>();
			for (const at of wanted) crcs.set(at, await crcAt(this.#log, at));
			// From here on nothing is awaited: nobody sees the database half replaced.
			this.#refuseTransaction();
			const found = this.#files.copyNewest(crcs, this.#temporary);
			if (found === undefined) throw noGeneration(seq, this.list());
			this.#step("restore copied");
			this.#detach();
			try {
				this.#replace();
			} finally {
				this.#database = this.#open();
			}
			this.#step("restore reopened");
			return found;
		} catch (cause) {
			rmSync(this.#temporary, { force: true });
			throw failed("SNAPSHOT_NOT_RESTORED", seq, cause);
		}
	}

	list(): readonly Seq[] {
		return this.#files.own();
	}

	prune(keep: (seq: Seq) => boolean, { dryRun = false } = {}): readonly Seq[] {
		const gone = this.list().filter((seq) => !keep(seq));
		if (dryRun) return gone;
		this.#files.unseal(gone);
		this.#step("prune unsealed");
		this.#files.removeUnsealed((seq) => !this.#sealing.has(seq));
		return gone;
	}

	close(): void {
		this.#database.close();
	}

	#open(): Database.Database {
		const database = new (driver())(this.#path);
		try {
			database.pragma("journal_mode = WAL");
			// In this mode the default is NORMAL, which does not sync every commit.
			database.pragma("synchronous = FULL");
			database.transaction(() => this.#migrate(database)).immediate();
			return database;
		} catch (error) {
			database.close();
			throw error;
		}
	}

	async #copyAndSeal(seq: Seq): Promise<void> {
		const temporary = this.#files.makeTemporary(seq);
		try {
			// Not `backup()`: that takes in what is committed while it runs, so its copy is not of the moment of the call.
			this.#database.prepare("VACUUM INTO ?").run(temporary);
			this.#step("capture copied");
			const crc = await crcAt(this.#log, seq);
			if (crc === undefined) throw new Error("the log does not have its record");
			if (this.#files.has(seq, crc)) return;
			const seal = this.#files.place(seq, crc, temporary);
			this.#step("capture placed");
			await this.#files.seal(seal);
			this.#step("capture sealed");
		} finally {
			rmSync(temporary, { force: true });
		}
	}

	/**
	 * Lets go of the database, with everything in its one file. Leaving WAL mode takes the exclusive lock, brings all frames
	 * home and removes `-wal`: killed before it is done, the next open finds its own `-wal`, and after it, none.
	 */
	#detach(): void {
		const timeout = this.#database.pragma("busy_timeout", { simple: true });
		try {
			this.#database.pragma(`busy_timeout = ${BUSY_MS}`);
			this.#database.pragma("journal_mode = DELETE");
		} catch (cause) {
			this.#database.pragma(`busy_timeout = ${timeout}`);
			if (!codeOf(cause)?.startsWith("SQLITE_BUSY")) throw cause;
			throw new SnapshotError(
				"SNAPSHOT_DATABASE_BUSY",
				`another connection has ${this.#path} open; nothing was changed. Close it, then restore again`,
				{ path: this.#path },
				{ cause },
			);
		}
		this.#database.close();
		this.#step("restore detached");
	}

	/** A `-wal` of the old database would be played into the new one, so it is gone for good before that comes. */
	#replace(): void {
		for (const beside of ["-wal", "-shm", "-journal"]) rmSync(this.#path + beside, { force: true });
		syncDirectory(dirname(this.#path));
		this.#step("restore cleared");
		renameSync(this.#temporary, this.#path);
		syncDirectory(dirname(this.#path));
		this.#step("restore replaced");
	}

	#refuseAhead(seq: Seq): void {
		const { durableTip } = this.#log;
		if (seq <= durableTip) return;
		throw new SnapshotError(
			"SNAPSHOT_AHEAD",
			`the record of seq ${seq} is not durable yet, only those up to ${durableTip}; nothing was changed. Give a seq that there is, once its record is durable`,
			{ seq, durableTip },
		);
	}

	#refuseTransaction(): void {
		if (!this.#database.inTransaction) return;
		throw new SnapshotError(
			"SNAPSHOT_DATABASE_BUSY",
			`a transaction is open on ${this.#path}; nothing was changed. Commit it or roll it back first`,
			{ path: this.#path },
		);
	}
}

/** The file's own path, without links: SQLite lays `-wal` there, and a rename there replaces the file, not a link. */
function madePath(path: string): string {
	mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
	// SQLite would make it readable for all. One that is there is left alone: to close it would drop this process's locks on it.
	if (!existsSync(path)) closeSync(openSync(path, "a", 0o600));
	return realpathSync(path);
}

function noGeneration(seq: Seq, seqs: readonly Seq[]): SnapshotError {
	return new SnapshotError(
		"SNAPSHOT_NO_GENERATION",
		`no generation of a record on the path at or before seq ${seq}; there is ${seqs.join(", ") || "none"}. The database is as it was: go to a later seq, or capture earlier next time`,
		{ seq, seqs },
	);
}

function failed(code: "SNAPSHOT_NOT_STORED" | "SNAPSHOT_NOT_RESTORED", seq: Seq, cause: unknown): SnapshotError {
	if (cause instanceof SnapshotError) return cause;
	const { code: reason = "error", message } = cause as { code?: string; message: string };
	const what =
		code === "SNAPSHOT_NOT_STORED"
			? `the generation at seq ${seq} could not be stored (${reason}: ${message}). The database is as it was: mend that, then capture again`
			: `the database could not be brought back to seq ${seq} (${reason}: ${message}). It is the old one or the restored one: mend that, open it anew and restore again`;
	return new SnapshotError(code, what, { seq, reason }, { cause });
}
