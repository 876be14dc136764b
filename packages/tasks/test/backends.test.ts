/** The contract of a backend, over those that we have. */
import { mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { randomIds, systemClock } from "@reyn/wal";
import Database from "better-sqlite3";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isDeep } from "../../../tests/sample.ts";
import { checkedTasks } from "../src/index.ts";
import { openDatabase } from "../src/sqlite/database.ts";
import { rewindableSqliteTasks } from "../src/sqlite/index.ts";
import { SqliteTasks } from "../src/sqlite/tasks.ts";
import { testTaskBackend } from "../src/testing/index.ts";
import { directoryTasks } from "./directory-tasks.ts";
import { log } from "./log.ts";

let directory: string;
let stores = 0;
beforeAll(async () => {
	directory = await mkdtemp(join(tmpdir(), "reyn-tasks-"));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

const runner = { describe, test, expect };

/** As `sqliteTasks`, but for its patience with a connection that holds the database. */
testTaskBackend(runner, "sqlite", async () => {
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
		async remove(id) {
			const database = new Database(path);
			// As `sqlite3` does, so that links, comments and keys of it stay.
			database.pragma("foreign_keys = OFF");
			database.prepare("DELETE FROM reyn_task WHERE id = ?").run(id);
			database.close();
		},
	};
});

if (isDeep)
	testTaskBackend(runner, "sqlite that can go back", async () => {
		const at = join(directory, `${++stores}`);
		return {
			open: () => rewindableSqliteTasks({ path: join(at, "tasks.db"), directory: join(at, "generations"), log }),
		};
	});

testTaskBackend(runner, "a directory of files", async () => {
	const at = join(directory, `${++stores}`);
	const file = (id: string): string => join(at, `${id}.json`);
	return {
		open: async () => directoryTasks(at),
		async breakDown() {
			await rename(at, `${at} away`);
			return () => rename(`${at} away`, at);
		},
		remove: (id) => rm(file(id)),
		// As an editor does: not beside it, and not by the lock.
		async retitle(id, title) {
			await writeFile(file(id), JSON.stringify({ ...JSON.parse(await readFile(file(id), "utf8")), title }));
		},
	};
});
