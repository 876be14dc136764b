/** The log over SQLite, beyond the contract that all engines share. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterEach, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { startSource } from "../../../tests/kit/killable.ts";
import { defineRecord, openWal, type Wal } from "../src/index.ts";
import { openDatabase } from "../src/sqlite/database.ts";
import { sqliteEngine } from "../src/sqlite/index.ts";

const said = defineRecord("said", z.object({ text: z.string() }));
let directory: string;
let path: string;
beforeEach(async () => {
	directory = await mkdtemp(join(tmpdir(), "reyn-sqlite-"));
	path = join(directory, "log.db");
});
afterEach(() => rm(directory, { recursive: true, force: true }));

async function within<T>(use: (wal: Wal) => Promise<T>): Promise<T> {
	const engine = sqliteEngine(path);
	try {
		await using wal = await openWal(engine, { records: [said] });
		return await use(wal);
	} finally {
		await engine.close();
	}
}

async function readAll(wal: Wal): Promise<void> {
	for await (const _ of wal.read());
}

test("a process killed while it appends loses nothing that it acknowledged, and its lease with its life", async () => {
	for (let round = 0; round < 3; round++) {
		const writer = startSource(join(import.meta.dirname, "append-forever.ts"), [path]);
		await writer.line((line) => Number(line) > 60 + round * 100);
		await writer.kill();
		const acknowledged = Number(writer.lines.at(-1));
		expect(acknowledged).toBeGreaterThan(60);
		await within(async (wal) => {
			expect(wal.tip).toBeGreaterThan(acknowledged);
			let expected = 1;
			for await (const { seq } of wal.read()) expect(seq).toBe(expected++);
		});
	}
});

test("every commit is synced, and the file is readable for its owner alone", async () => {
	const database = openDatabase(path);
	expect(database.pragma("journal_mode", { simple: true })).toBe("wal");
	// 2 is FULL.
	expect(database.pragma("synchronous", { simple: true })).toBe(2);
	database.close();
	expect((await stat(path)).mode & 0o777).toBe(0o600);
});

test.each([
	["no database", () => writeFile(path, "not a database at all, whatever it is called".repeat(20)), "WAL_CORRUPT"],
	[
		"another program's",
		async () => {
			const other = new Database(path);
			other.exec("CREATE TABLE theirs (x)");
			other.close();
		},
		"WAL_CORRUPT",
	],
	[
		"of a newer version",
		async () => {
			await within(async () => {});
			const newer = new Database(path);
			newer.pragma("user_version = 2");
			newer.close();
		},
		"WAL_NEWER_FORMAT",
	],
	[
		"in a directory that is a file",
		async () => {
			await writeFile(path, "");
			path = join(path, "log.db");
		},
		"WAL_IO",
	],
])("what cannot be opened is refused by name, and left as it is: %s", async (_, make, code) => {
	await make();
	const before = await readFile(path).catch(() => undefined);
	let error: unknown;
	try {
		sqliteEngine(path);
	} catch (caught) {
		error = caught;
	}
	expect(error).toMatchObject({ code, message: expect.stringContaining(path) });
	expect(await readFile(path).catch(() => undefined)).toEqual(before);
});

test("a line that was changed behind its back is found when it is read", async () => {
	await within(async (wal) => {
		for (const text of ["a", "b", "c"]) await wal.append(said({ text }), {}).durable;
	});
	const other = new Database(path);
	other.prepare("UPDATE reyn_wal SET line = replace(line, '\"b\"', '\"x\"') WHERE seq = 3").run();
	other.close();
	await within(async (wal) => {
		await expect(readAll(wal)).rejects.toMatchObject({ code: "WAL_CORRUPT", detail: { seq: 3 } });
	});
	const gone = new Database(path);
	gone.prepare("DELETE FROM reyn_wal WHERE seq = 3").run();
	gone.close();
	await within(async (wal) => {
		await expect(readAll(wal)).rejects.toMatchObject({ code: "WAL_CORRUPT", detail: { seq: 3 } });
	});
});

test("an open log alone keeps no process alive, though its lease is renewed", async () => {
	const program = `
		import { openWal } from "@reyn/wal";
		import { sqliteEngine } from "@reyn/wal/sqlite";
		await openWal(sqliteEngine(${JSON.stringify(path)}), { records: [] });
	`;
	const args = ["--conditions=@reyn/source", "--input-type=module", "-e", program];
	const child = spawn(process.execPath, args, { cwd: import.meta.dirname, stdio: ["ignore", "inherit", "inherit"] });
	expect(await once(child, "close")).toEqual([0, null]);
});

test.each(["", ":memory:"])("%j is no file, so no log is made there, and none by that name beside it", (path) => {
	const error = expect.objectContaining({ code: "WAL_OPTIONS", message: expect.stringContaining("memoryEngine") });
	expect(() => sqliteEngine(path)).toThrow(error);
	expect(existsSync(path)).toBe(false);
});
