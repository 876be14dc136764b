/** better-sqlite3 as one sets it up to lose nothing: WAL, `synchronous = FULL`. It holds up the event loop meanwhile. */
import { join } from "node:path";
import Database from "better-sqlite3";
import { type Entry, recordOf } from "../entry.ts";
import { inBatches } from "./batches.ts";
import type { Open } from "./store.ts";

export const openSqlite: Open = async (directory, together) => {
	const database = new Database(join(directory, "sqlite.db"));
	database.pragma("journal_mode = WAL");
	database.pragma("synchronous = FULL");
	database.exec("CREATE TABLE records (seq INTEGER PRIMARY KEY, record TEXT NOT NULL)");
	const insert = database.prepare("INSERT INTO records (seq, record) VALUES (?, ?)");
	const one = (entry: Entry): undefined => {
		insert.run(entry.version + 1, JSON.stringify(recordOf(entry)));
	};
	const many = database.transaction((entries: readonly Entry[]): undefined => {
		for (const entry of entries) one(entry);
	});
	return {
		append: together ? inBatches<Entry>(many) : one,
		close() {
			database.close();
			return undefined;
		},
	};
};
