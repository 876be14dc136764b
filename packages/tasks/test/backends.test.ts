/** The contract of a backend, over those that we have. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { randomIds, systemClock } from "@reyn/wal";
import Database from "better-sqlite3";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { checkedTasks } from "../src/index.ts";
import { openDatabase } from "../src/sqlite/database.ts";
import { rewindableSqliteTasks, sqliteTasks } from "../src/sqlite/index.ts";
import { SqliteTasks } from "../src/sqlite/tasks.ts";
import { testTaskBackend } from "../src/testing/index.ts";
import { log } from "./log.ts";

let directory: string;
let stores = 0;
beforeAll(async () => {
	directory = await mkdtemp(join(tmpdir(), "reyn-tasks-"));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

const runner = { describe, test, expect };

testTaskBackend(runner, "sqlite", async () => {
	const path = join(directory, `${++stores}`, "tasks.db");
	const another = (): Database.Database => new Database(path);
	return {
		open: async () => sqliteTasks({ path }),
		async remove(id) {
			const database = another();
			database.prepare("DELETE FROM reyn_task WHERE id = ?").run(id);
			database.close();
		},
	};
});

testTaskBackend(runner, "sqlite that can go back", async () => {
	const at = join(directory, `${++stores}`);
	return { open: () => rewindableSqliteTasks({ path: join(at, "tasks.db"), directory: join(at, "generations"), log }) };
});

testTaskBackend(runner, "sqlite that another connection may hold", async () => {
	const path = join(directory, `${++stores}`, "tasks.db");
	return {
		open: async () => {
			const database = openDatabase(path, randomIds, 20);
			return checkedTasks(new SqliteTasks({ path, database, mark: "", clock: systemClock }));
		},
		async breakDown() {
			const holder = new Database(path);
			holder.exec("BEGIN IMMEDIATE");
			return async () => void holder.close();
		},
	};
});
