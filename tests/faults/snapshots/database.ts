/** The database that the faults break: today's schema has a column that yesterday's lacked, and every row says which it was born in. */
import { join } from "node:path";
import {
	type GenerationStep,
	type SqliteGenerations,
	type SqliteGenerationsOptions,
	sqliteGenerations,
} from "@reyn/snapshot/sqlite";

export type Schema = "yesterday" | "today";
type Database = SqliteGenerations["database"];

/** `<seq>,<1 of yesterday, 2 of today>` */
export type Row = string;

/** The log that it follows has every record, durably. */
const log: SqliteGenerationsOptions["log"] = {
	id: "log",
	first: 1,
	durableTip: Number.MAX_SAFE_INTEGER,
	async *read({ through: seq = 1 } = {}) {
		yield { seq, ts: 0, kind: "any", scope: {}, data: {}, crc: `of ${seq}` };
	},
};
/** Some pages of rows, so that old and new ones can be mixed. */
const FILLER = "x".repeat(900);

export function openDatabase(
	directory: string,
	schema: Schema,
	onStep: (step: GenerationStep) => void = () => {},
): SqliteGenerations {
	const [database, generations] = [join(directory, "app.db"), join(directory, "generations")];
	const migrate = schema === "today" ? today : yesterday;
	return sqliteGenerations({ database, directory: generations, log, migrate, onStep });
}

export function addRow(database: Database, seq: number, schema: Schema): void {
	const columns = schema === "today" ? "(seq, text, born) VALUES (?, ?, 2)" : "(seq, text) VALUES (?, ?)";
	database.prepare(`INSERT INTO entry ${columns}`).run(seq, `${seq}${FILLER}`);
}

/** As it looks to today: a row of yesterday's has been migrated. */
export function rowOf(seq: number, schema: Schema): Row {
	return `${seq},${schema === "today" ? 2 : 1}`;
}

export function rowsOf(database: Database): readonly Row[] {
	return database.prepare<[], string>("SELECT seq || ',' || born FROM entry ORDER BY seq").pluck().all();
}

function yesterday(database: Database): void {
	database.exec("CREATE TABLE IF NOT EXISTS entry (seq INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE)");
}

function today(database: Database): void {
	yesterday(database);
	const columns = database.pragma("table_info(entry)") as readonly { readonly name: string }[];
	if (columns.some(({ name }) => name === "born")) return;
	database.exec("ALTER TABLE entry ADD COLUMN born INTEGER NOT NULL DEFAULT 0");
	database.exec("UPDATE entry SET born = 1");
}
