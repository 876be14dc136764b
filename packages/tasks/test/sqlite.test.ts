/** What the contract cannot see of tasks in SQLite: kills, other processes, damage, files of others, columns of yesterday. */
import { createHash } from "node:crypto";
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { randomIds, systemClock } from "@reyn/wal";
import Database from "better-sqlite3";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { TaskBackend } from "../src/index.ts";
import { openDatabase } from "../src/sqlite/database.ts";
import { sqliteTasks } from "../src/sqlite/index.ts";
import { SqliteTasks } from "../src/sqlite/tasks.ts";

let directory: string;
let path: string;
beforeEach(async () => {
	directory = await mkdtemp(join(tmpdir(), "reyn-tasks-"));
	path = join(directory, "deep", "down", "tasks.db");
});
afterEach(() => rm(directory, { recursive: true, force: true }));

/** With the connection in reach. */
function withConnection(): { database: Database.Database; tasks: TaskBackend } {
	const database = openDatabase(path, randomIds);
	return { database, tasks: new SqliteTasks({ path, database, mark: "", clock: systemClock }) };
}

test("the file and its directory are their owner's alone, and each commit is synced", async () => {
	const { database, tasks } = withConnection();
	await tasks.create({ title: "a" }, "a");
	expect((await stat(path)).mode & 0o777).toBe(0o600);
	expect((await stat(dirname(path))).mode & 0o777).toBe(0o700);
	expect([database.pragma("synchronous", { simple: true }), database.pragma("journal_mode", { simple: true })]).toEqual(
		[2, "wal"],
	);
	await tasks.close();
});

test("a full disk and one that may not be written are down: nothing is written, and the same write is made later", async () => {
	const { database, tasks } = withConnection();
	const { id } = await tasks.create({ title: "a" }, "a");
	const text = "x".repeat(50_000);
	const pages = database.pragma("page_count", { simple: true });
	const states = [
		["SQLITE_FULL", `max_page_count = ${pages}`, "max_page_count = 100000", "Make room"],
		["SQLITE_READONLY", "query_only = 1", "query_only = 0", "may not be written"],
	] as const;
	for (const [code, on, off, says] of states) {
		database.pragma(on);
		const write = (): Promise<unknown> => tasks.comment(id, text, code);
		await expect(write()).rejects.toMatchObject({ code: "TASK_BACKEND_DOWN", detail: { code } });
		await expect(write()).rejects.toThrow(says);
		expect([await tasks.written(code), (await tasks.get(id))?.title]).toEqual([undefined, "a"]);
		database.pragma(off);
		await write();
	}
	expect((await tasks.comments(id)).length).toBe(2);
	await tasks.close();
});

test("a place that cannot be opened is down, and what is no file is refused", async () => {
	await mkdir(path, { recursive: true });
	expect(() => sqliteTasks({ path })).toThrow(expect.objectContaining({ code: "TASK_BACKEND_DOWN" }));
	await writeFile(join(directory, "file"), "");
	expect(() => sqliteTasks({ path: join(directory, "file", "tasks.db") })).toThrow(
		expect.objectContaining({ code: "TASK_BACKEND_DOWN" }),
	);
	for (const none of ["", ":memory:", undefined as unknown as string])
		expect(() => sqliteTasks({ path: none })).toThrow(expect.objectContaining({ code: "TASK_INVALID" }));
});

const foreign: readonly (readonly [what: string, code: string, make: () => Promise<void>])[] = [
	["a text", "TASK_FOREIGN", () => writeFile(path, "Dear Sir or Madam, ".repeat(1000))],
	["another program's database", "TASK_FOREIGN", async () => theirs().close() && undefined],
	[
		"another program's database whose last changes are beside it",
		"TASK_FOREIGN",
		async () => {
			const database = theirs(join(directory, "theirs.db"));
			database.pragma("journal_mode = WAL");
			database.exec("INSERT INTO todo VALUES ('b')");
			for (const end of ["", "-wal"]) await copyFile(join(directory, `theirs.db${end}`), path + end);
			database.close();
		},
	],
	[
		"a database of a newer version",
		"TASK_NEWER_FORMAT",
		async () => {
			const { database, tasks } = withConnection();
			database.pragma("user_version = 2");
			await tasks.close();
		},
	],
];

function theirs(at = path): Database.Database {
	const database = new Database(at);
	database.exec("CREATE TABLE todo (title TEXT)");
	return database;
}

test.each(foreign)("%s is refused, and not a byte of it changed", async (_, code, make) => {
	await mkdir(dirname(path), { recursive: true });
	await make();
	const before = await contentOf(dirname(path));
	for (let n = 0; n < 2; n++) expect(() => sqliteTasks({ path })).toThrow(expect.objectContaining({ code }));
	const after = await contentOf(dirname(path));
	expect([...before].map(([name]) => [name, after.get(name)])).toEqual([...before]);
});

async function contentOf(folder: string): Promise<Map<string, string>> {
	const hash = async (name: string) =>
		createHash("sha256")
			.update(await readFile(join(folder, name)))
			.digest("hex");
	const names = await readdir(folder);
	return new Map(await Promise.all(names.sort().map(async (name) => [name, await hash(name)] as const)));
}

test("a database that is damaged says so, wherever the damage is, and gives nothing wrong", async () => {
	const { tasks } = withConnection();
	for (let n = 0; n < 40; n++) await tasks.create({ title: `${n}`, description: "x".repeat(3000) }, `${n}`);
	await tasks.close();
	const sound = await readFile(path);
	const codes = new Set<unknown>();
	for (let page = 0; page < sound.length / 4096; page++) {
		const rotten = Buffer.from(sound);
		rotten.fill(0xa5, page * 4096, page * 4096 + 2048);
		await writeFile(path, rotten);
		for (const end of ["-wal", "-shm"]) await rm(path + end, { force: true });
		codes.add(await codeOfUse());
	}
	await writeFile(path, sound);
	await truncate(path, 8192);
	codes.add(await codeOfUse());
	expect([...codes].sort()).toEqual(["TASK_DAMAGED", "TASK_FOREIGN", undefined]);
});

async function codeOfUse(): Promise<unknown> {
	let tasks: TaskBackend | undefined;
	try {
		tasks = sqliteTasks({ path });
		for (const { title } of await tasks.list()) expect(title).toMatch(/^\d+$/);
		await tasks.create({ title: "41" }, "more");
		return undefined;
	} catch (error) {
		return (error as { code?: unknown }).code ?? error;
	} finally {
		await tasks?.close();
	}
}

test("a database that version 1 has written opens for good, with its keys and cursors", async () => {
	await mkdir(dirname(path), { recursive: true });
	const then = new Database(path);
	then.exec(await readFile(join(import.meta.dirname, "golden", "tasks-v1.sql"), "utf8"));
	then.close();
	const tasks = sqliteTasks({ path });
	expect(
		(await tasks.list()).map(({ id, title, status, outcome, waitsFor }) => [id, title, status, outcome, waitsFor]),
	).toEqual([
		["t1", "Count the orders", "done", "42 orders", []],
		["t2", "Mail the report", "ready", undefined, ["t1"]],
		["t3", "Look again", "aborted", "nobody asked", ["t2"]],
	]);
	expect(await tasks.comments("t1")).toEqual([{ id: "c1", task: "t1", text: "Ask Ana first", at: 1_700_000_000_004 }]);
	expect(await tasks.written("k3")).toMatchObject({ task: { id: "t2", status: "blocked" } });
	expect(await tasks.written("k4")).toMatchObject({ comment: { id: "c1" } });
	expect((await tasks.changedSince("0123456789abcdef:5")).tasks.map(({ id }) => id)).toEqual(["t3"]);
	expect((await tasks.create({ title: "new" }, "k9")).id).toBe("t4");
	await tasks.close();
});

test("a database with the columns of yesterday gets today's at the start, once", async () => {
	const { tasks } = withConnection();
	const { id } = await tasks.create({ title: "a" }, "a");
	await tasks.close();
	const yesterday = new Database(path);
	yesterday.exec("ALTER TABLE reyn_task DROP COLUMN outcome");
	yesterday.close();
	const first = withConnection();
	expect((await first.tasks.setStatus(id, "done", "done", "of today")).outcome).toBe("of today");
	const version = first.database.pragma("schema_version", { simple: true });
	await first.tasks.close();
	const second = withConnection();
	expect(second.database.pragma("schema_version", { simple: true })).toBe(version);
	expect((await second.tasks.get(id))?.outcome).toBe("of today");
	await second.tasks.close();
});
