/** Generations of an application's own SQLite database, keyed by a log's seq: `@reyn/snapshot/sqlite`, over better-sqlite3. */
export {
	type GenerationStep,
	generationsIn,
	type SqliteGenerations,
	type SqliteGenerationsOptions,
	sqliteGenerations,
} from "./generations.ts";
