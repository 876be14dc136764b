/** An application's database and its log as the tests of generations use them: today's schema has a column that yesterday's lacked. */
import type Database from "better-sqlite3";
import type { SqliteGenerationsOptions } from "../src/sqlite/index.ts";

/** The part of a log that generations look at. In another life it has other records. */
export function logOf({ id = "log-a", first = 1, tip = 9, life = "first" } = {}): SqliteGenerationsOptions["log"] {
	return {
		id,
		first,
		durableTip: tip,
		async *read({ through: seq = tip } = {}) {
			yield { seq, ts: 0, kind: "said", scope: {}, data: {}, crc: `${life} ${seq}` };
		},
	};
}

export function yesterday(database: Database.Database): void {
	database.exec("CREATE TABLE IF NOT EXISTS todo (title TEXT NOT NULL)");
}

/** What was there before the column counts as done. `halfway` is called when the column is there and that is not said yet. */
export function today(database: Database.Database, halfway: () => void = () => {}): void {
	yesterday(database);
	const columns = database.pragma("table_info(todo)") as readonly { readonly name: string }[];
	if (columns.some(({ name }) => name === "done")) return;
	database.exec("ALTER TABLE todo ADD COLUMN done INTEGER NOT NULL DEFAULT 0");
	halfway();
	database.exec("UPDATE todo SET done = 1");
}

export function add(database: Database.Database, ...titles: readonly string[]): void {
	for (const title of titles) database.prepare("INSERT INTO todo (title) VALUES (?)").run(title);
}

export function titles(database: Database.Database): readonly string[] {
	return database.prepare<[], string>("SELECT title FROM todo ORDER BY rowid").pluck().all();
}
