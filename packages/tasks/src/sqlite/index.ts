/** Tasks in an SQLite database: `@reyn/tasks/sqlite`, over better-sqlite3. */
export { type SqliteTasksOptions, sqliteTasks } from "./open.ts";
export { type RewindableSqliteTasksOptions, rewindableSqliteTasks } from "./rewindable.ts";
