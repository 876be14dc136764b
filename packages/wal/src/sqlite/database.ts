/** The database file of the SQLite engine: its schema, and how it is opened. */
import { closeSync, mkdirSync, openSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname } from "node:path";
import type Database from "better-sqlite3";
import { codeOf, WalError } from "../errors.ts";

/** `reyn` in ASCII: the file is ours. */
const APPLICATION_ID = 0x7265796e;
const VERSION = 1;
/** Longer, and the event loop would stand still: what is busy is asked again later. */
const BUSY_MS = 50;

const SCHEMA = `
CREATE TABLE reyn_realm (
	id INTEGER PRIMARY KEY,
	name TEXT NOT NULL UNIQUE,
	log TEXT NOT NULL,
	first INTEGER NOT NULL,
	tail INTEGER NOT NULL,
	crc TEXT NOT NULL,
	epoch INTEGER NOT NULL,
	owner TEXT,
	until INTEGER NOT NULL
) STRICT;
CREATE TABLE reyn_wal (
	realm INTEGER NOT NULL,
	seq INTEGER NOT NULL,
	line TEXT NOT NULL,
	PRIMARY KEY (realm, seq)
) STRICT, WITHOUT ROWID;
CREATE TABLE reyn_blob (
	realm TEXT NOT NULL,
	name TEXT NOT NULL,
	bytes BLOB NOT NULL,
	PRIMARY KEY (realm, name)
) STRICT;
PRAGMA application_id = ${APPLICATION_ID};
PRAGMA user_version = ${VERSION};
`;

/** Opens the database, and makes its tables when it is new. */
export function openDatabase(path: string): Database.Database {
	// What SQLite takes for no file at all: such a log would be gone with its process.
	if (path === "" || path === ":memory:") {
		const message = `a log needs a file; found "${path}". Without one there is memoryEngine()`;
		throw new WalError("WAL_OPTIONS", message, { name: "path", found: path });
	}
	let database: Database.Database | undefined;
	try {
		mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
		// SQLite would make it readable for all.
		closeSync(openSync(path, "a", 0o600));
		database = new (driver())(path, { timeout: BUSY_MS });
		// Before anything is set: another program's file stays as it is.
		const isNew = isEmpty(database, path);
		// In this mode the default is NORMAL, which does not sync every commit.
		database.pragma("journal_mode = WAL");
		database.pragma("synchronous = FULL");
		if (isNew) makeTables(database, path);
		return database;
	} catch (error) {
		database?.close();
		if (error instanceof WalError) throw error;
		const { code, message } = error as { code?: string; message: string };
		const isNone = code === "SQLITE_NOTADB" || code === "SQLITE_CORRUPT";
		throw new WalError(
			isNone ? "WAL_CORRUPT" : "WAL_IO",
			`cannot open ${path} (${code}): ${message}`,
			{ path, code },
			{ cause: error },
		);
	}
}

/** Loaded when it is needed: who has not installed it is told so by us. */
function driver(): typeof Database {
	try {
		// A bundle of CommonJS has no `import.meta.url`; what is native is beside no bundle in any case.
		return createRequire(import.meta.url ?? `${process.cwd()}/`)("better-sqlite3");
	} catch (cause) {
		if (codeOf(cause) !== "MODULE_NOT_FOUND") throw cause;
		const text = "sqliteEngine needs better-sqlite3, which is not installed: npm install better-sqlite3";
		throw new WalError("WAL_OPTIONS", text, { name: "better-sqlite3" }, { cause });
	}
}

/** Is there nothing in it yet? What is there has to be ours. */
function isEmpty(database: Database.Database, path: string): boolean {
	const application = database.pragma("application_id", { simple: true });
	const version = database.pragma("user_version", { simple: true }) as number;
	if (application === APPLICATION_ID && version <= VERSION) return false;
	if (application === APPLICATION_ID)
		throw new WalError(
			"WAL_NEWER_FORMAT",
			`${path} is in format ${version}; this version of Reyn reads format ${VERSION}. Upgrade to open it`,
			{ path, version },
		);
	const tables = database.prepare<[], { n: number }>("SELECT count(*) AS n FROM sqlite_schema").get()?.n ?? 0;
	if (application === 0 && version === 0 && tables === 0) return true;
	throw new WalError("WAL_CORRUPT", `${path} is a database of another program; expected one that Reyn made`, { path });
}

/** Whoever opens it at the same moment makes them, or waits. */
function makeTables(database: Database.Database, path: string): void {
	database
		.transaction(() => {
			if (isEmpty(database, path)) database.exec(SCHEMA);
		})
		.immediate();
}
