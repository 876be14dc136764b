/** Opens tasks in an SQLite database. */
import { type Clock, type Ids, randomIds, systemClock } from "@reyn/wal";
import type { TaskBackend } from "../backend.ts";
import { checkedTasks } from "../checked.ts";
import { openDatabase } from "./database.ts";
import { SqliteTasks } from "./tasks.ts";

export interface SqliteTasksOptions {
	/** The database file; made when it is missing, for its owner alone. */
	readonly path: string;
	/** Default: the system's. */
	readonly clock?: Clock;
	/** What names the life of a new database. Default: random. */
	readonly ids?: Ids;
}

/**
 * Tasks in the database file at a path, by better-sqlite3 (`journal_mode=WAL`, `synchronous=FULL`): a write is durable before it is told.
 * Several processes may have it open. No log is needed.
 *
 * @example
 * const tasks = sqliteTasks({ path: ".reyn/tasks/tasks.db" });
 * const { id } = await tasks.create({ title: "Count the orders" }, "orders-of-may");
 *
 * @throws TaskError `TASK_FOREIGN`, `TASK_NEWER_FORMAT`: nothing was changed in it; `TASK_DAMAGED`, `TASK_BACKEND_DOWN`; `TASK_INVALID`
 * (no path, or better-sqlite3 is not installed)
 */
export function sqliteTasks({ path, clock = systemClock, ids = randomIds }: SqliteTasksOptions): TaskBackend {
	const database = openDatabase(path, ids);
	return checkedTasks(new SqliteTasks({ path, database, mark: "", clock }));
}
