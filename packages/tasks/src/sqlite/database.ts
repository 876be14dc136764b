/** The database file of tasks: its tables, and how it is opened without touching what is not ours. */
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, resolve } from "node:path";
import { codeOf, type Ids } from "@reyn/wal";
import type Database from "better-sqlite3";
import { TaskError } from "../errors.ts";
import { guarded } from "./guarded.ts";

/** `rtsk` in ASCII: the file is ours. */
const APPLICATION_ID = 0x7274736b;
/** A new column alone is no new version: whoever does not know it leaves it as it is. */
const VERSION = 1;
/** How long a write waits for one of another process. The event loop waits with it. */
const BUSY_MS = 5000;

const TABLES = `
CREATE TABLE reyn_task (
	n INTEGER PRIMARY KEY AUTOINCREMENT,
	id TEXT NOT NULL UNIQUE,
	title TEXT NOT NULL,
	description TEXT NOT NULL,
	status TEXT NOT NULL,
	created INTEGER NOT NULL,
	changed INTEGER NOT NULL,
	change INTEGER NOT NULL UNIQUE
) STRICT;
CREATE INDEX reyn_task_status ON reyn_task (status, n);
CREATE TABLE reyn_wait (
	n INTEGER PRIMARY KEY,
	task INTEGER NOT NULL REFERENCES reyn_task ON DELETE CASCADE,
	other INTEGER NOT NULL REFERENCES reyn_task ON DELETE CASCADE,
	UNIQUE (task, other)
) STRICT;
CREATE INDEX reyn_wait_other ON reyn_wait (other);
CREATE TABLE reyn_comment (
	n INTEGER PRIMARY KEY AUTOINCREMENT,
	task INTEGER NOT NULL REFERENCES reyn_task ON DELETE CASCADE,
	text TEXT NOT NULL,
	at INTEGER NOT NULL
) STRICT;
CREATE INDEX reyn_comment_task ON reyn_comment (task, n);
CREATE TABLE reyn_write (
	key TEXT PRIMARY KEY,
	task INTEGER NOT NULL REFERENCES reyn_task ON DELETE CASCADE,
	comment INTEGER REFERENCES reyn_comment ON DELETE CASCADE,
	gave TEXT
) STRICT, WITHOUT ROWID;
CREATE TABLE reyn_life (id TEXT NOT NULL) STRICT;
PRAGMA application_id = ${APPLICATION_ID};
PRAGMA user_version = ${VERSION};
`;

/** Those that the tables have got since; each may be null. */
const added = [{ table: "reyn_task", column: "outcome", type: "TEXT" }] as const;

/**
 * Opens the database, and makes it when it is new.
 *
 * @throws TaskError `TASK_FOREIGN`, `TASK_NEWER_FORMAT`: nothing was changed in it; `TASK_DAMAGED`, `TASK_BACKEND_DOWN`, `TASK_INVALID`
 */
export function openDatabase(path: string, ids: Ids, busyMs = BUSY_MS): Database.Database {
	// What SQLite takes for no file at all: such tasks would be gone with their process.
	if (typeof path !== "string" || path === "" || path === ":memory:")
		throw new TaskError("TASK_INVALID", `tasks need the path of a file; found "${path}"`, { path });
	const Driver = driver();
	return guarded(path, () => {
		makeFile(path);
		refuseForeign(Driver, path, busyMs);
		const database = new Driver(path, { timeout: busyMs });
		try {
			database.pragma("journal_mode = WAL");
			// In this mode the default is NORMAL, which does not sync every commit.
			database.pragma("synchronous = FULL");
			database.pragma("foreign_keys = ON");
			if (lacksAny(database)) database.transaction(() => bringUpToDate(database, ids)).immediate();
			return database;
		} catch (error) {
			database.close();
			throw error;
		}
	});
}

/** Today's tables and columns, whichever there are. A second time changes nothing. @throws TaskError `TASK_FOREIGN`, `TASK_NEWER_FORMAT` */
export function bringUpToDate(database: Database.Database, ids: Ids): void {
	if (isEmpty(database, database.name)) {
		database.exec(TABLES);
		database.prepare("INSERT INTO reyn_life (id) VALUES (?)").run(ids.hex(8));
	}
	for (const { table, column, type } of missing(database))
		database.exec(`ALTER TABLE ${table} ADD COLUMN ${column} ${type}`);
}

const lacksAny = (database: Database.Database): boolean =>
	isEmpty(database, database.name) || missing(database).length > 0;

const missing = (database: Database.Database): readonly (typeof added)[number][] =>
	added.filter(({ table, column }) => {
		const columns = database.pragma(`table_info(${table})`) as readonly { readonly name: string }[];
		return !columns.some(({ name }) => name === column);
	});

/** By a connection that may not write: one that may would tidy another program's file up as it closes it. */
function refuseForeign(Driver: typeof Database, path: string, busyMs: number): void {
	const database = new Driver(path, { readonly: true, timeout: busyMs });
	try {
		isEmpty(database, path);
	} catch (error) {
		// Whoever made it was killed at that, and only a writer can roll that back.
		if (codeOf(error) !== "SQLITE_READONLY_ROLLBACK") throw error;
	} finally {
		database.close();
	}
}

/** Is there nothing in it yet? What is there has to be ours. */
function isEmpty(database: Database.Database, path: string): boolean {
	const application = database.pragma("application_id", { simple: true });
	const version = database.pragma("user_version", { simple: true }) as number;
	if (application === APPLICATION_ID && version <= VERSION) return false;
	if (application === APPLICATION_ID)
		throw new TaskError(
			"TASK_NEWER_FORMAT",
			`${path} is in format ${version}; this version of Reyn reads format ${VERSION}. Nothing was changed in it: upgrade to open it`,
			{ path, version },
		);
	const tables = database.prepare<[], { n: number }>("SELECT count(*) AS n FROM sqlite_schema").get()?.n ?? 0;
	if (application === 0 && version === 0 && tables === 0) return true;
	throw new TaskError(
		"TASK_FOREIGN",
		`${path} is a database of another program; expected one of tasks. Nothing was changed in it: give the path of another file`,
		{ path },
	);
}

/** With its name durable before anything is in it. One that is there is not opened here: to close it would drop this process's locks on it. */
function makeFile(path: string): void {
	const directory = dirname(resolve(path));
	const first = mkdirSync(directory, { recursive: true, mode: 0o700 });
	// SQLite would make it readable for all.
	if (!existsSync(path)) closeSync(openSync(path, "a", 0o600));
	const top = first === undefined ? directory : dirname(first);
	// Also one that was there: whoever made it may have been killed before this.
	for (let at = directory; ; at = dirname(at)) {
		syncDirectory(at);
		if (at === top) return;
	}
}

/** Windows has no such call, and needs none. */
function syncDirectory(path: string): void {
	if (process.platform === "win32") return;
	const file = openSync(path, "r");
	try {
		fsyncSync(file);
	} finally {
		closeSync(file);
	}
}

/** Loaded when it is needed: who has not installed it is told so by us. */
function driver(): typeof Database {
	try {
		// A bundle of CommonJS has no `import.meta.url`; what is native is beside no bundle in any case.
		return createRequire(import.meta.url ?? `${process.cwd()}/`)("better-sqlite3");
	} catch (cause) {
		if (codeOf(cause) !== "MODULE_NOT_FOUND") throw cause;
		const text = "sqliteTasks needs better-sqlite3, which is not installed: npm install better-sqlite3";
		throw new TaskError("TASK_INVALID", text, { name: "better-sqlite3" }, { cause });
	}
}
