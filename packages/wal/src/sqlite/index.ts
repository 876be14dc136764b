/** Logs in a SQLite database: `@reyn/wal/sqlite`, over better-sqlite3. */
export { type SqliteEngineOptions, sqliteEngine } from "./engine.ts";
