/** Generations of a SQLite database: capture, restore, prune. */
import { createHash } from "node:crypto";
import { copyFileSync, existsSync } from "node:fs";
import { copyFile, cp, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineRecord, openWal, type Seq, type Wal } from "@reyn/wal";
import Database from "better-sqlite3";
import { afterEach, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { startSource } from "../../../tests/kit/killable.ts";
import { some } from "../../../tests/sample.ts";
import { type SqliteGenerations, type SqliteGenerationsOptions, sqliteGenerations } from "../src/sqlite/index.ts";
import { add, logOf, titles, today, yesterday } from "./todo.ts";

let directory: string;
let path: string;
let open: SqliteGenerations[];

beforeEach(async () => {
	directory = await mkdtemp(join(tmpdir(), "reyn-generations-"));
	path = join(directory, "app.db");
	open = [];
});
afterEach(async () => {
	for (const generations of open) generations.close();
	await rm(directory, { recursive: true, force: true });
});

const anywhere = (): boolean => true;

function opened(changes: Partial<SqliteGenerationsOptions> = {}): SqliteGenerations {
	const generations = sqliteGenerations({
		database: path,
		directory: join(directory, "generations"),
		log: logOf(),
		migrate: yesterday,
		...changes,
	});
	open.push(generations);
	return generations;
}

/** In the folder of generations: the file of a seq. */
const file = (seq: number, end: string): string =>
	join(directory, "generations", `${String(seq).padStart(20, "0")}.${end}`);

test("a capture holds what is not checkpointed yet, and a restore brings exactly that back", async () => {
	const generations = opened();
	generations.database.pragma("wal_autocheckpoint = 0");
	add(generations.database, "a", "b", "c");
	generations.database.prepare("DELETE FROM todo WHERE title = 'b'").run();
	generations.database.pragma("user_version = 7");
	expect((await stat(`${path}-wal`)).size).toBeGreaterThan(0);
	const rows = generations.database.prepare("SELECT rowid, * FROM todo").all();
	await generations.capture(4);
	add(generations.database, "d");
	await generations.capture(8);
	expect(generations.list()).toEqual([8, 4]);

	expect(await generations.restoreToSeq(7, anywhere)).toBe(4);
	expect(generations.database.prepare("SELECT rowid, * FROM todo").all()).toEqual(rows);
	expect(generations.database.pragma("user_version", { simple: true })).toBe(7);
	expect(generations.database.pragma("journal_mode", { simple: true })).toBe("wal");
	expect(generations.database.pragma("synchronous", { simple: true })).toBe(2);
	add(generations.database, "after");
	generations.close();
	expect(titles(opened().database)).toEqual(["a", "c", "after"]);
	expect(generations.list()).toEqual([8, 4]);
	expect((await readdir(directory)).sort()).toEqual(["app.db", "app.db-shm", "app.db-wal", "generations"]);
});

test("a capture is of the moment of its call, and a second one of the same seq does nothing", async () => {
	const generations = opened();
	add(generations.database, "a");
	const first = generations.capture(1);
	add(generations.database, "b");
	await Promise.all([first, generations.capture(1)]);
	await generations.capture(1);
	await generations.restoreToSeq(1, anywhere);
	expect(titles(generations.database)).toEqual(["a"]);
	expect((await readdir(join(directory, "generations"))).length).toBe(2);
	expect((await stat(file(1, "db"))).mode & 0o777).toBe(0o600);
});

test("a capture of a seq that is not durable yet is refused, and stores nothing", async () => {
	const log = { ...logOf(), durableTip: 3 };
	const generations = opened({ log });
	await expect(generations.capture(4)).rejects.toMatchObject({
		code: "SNAPSHOT_AHEAD",
		detail: { seq: 4, durableTip: 3 },
	});
	expect(await readdir(join(directory, "generations"))).toEqual([]);
	log.durableTip = 4;
	await generations.capture(4);
	expect(generations.list()).toEqual([4]);
});

test("a prune removes what is not kept and says what; a dry run only says it", async () => {
	const generations = opened();
	for (const seq of [1, 2, 3, 4]) {
		add(generations.database, `at ${seq}`);
		await generations.capture(seq);
	}
	await writeFile(file(3, "json"), "rotten");
	const theirs = opened({ database: join(directory, "theirs.db"), log: logOf({ id: "log-b" }) });
	await theirs.capture(5);
	const before = (await readdir(join(directory, "generations"))).sort();
	expect(generations.prune((seq) => seq === 2, { dryRun: true })).toEqual([4, 1]);
	expect((await readdir(join(directory, "generations"))).sort()).toEqual(before);
	expect(generations.prune((seq) => seq === 2)).toEqual([4, 1]);
	expect(generations.prune((seq) => seq === 2)).toEqual([]);
	expect(generations.list()).toEqual([2]);
	const gone = [1, 4].flatMap((seq) => [file(seq, "db"), file(seq, "json")]);
	expect((await readdir(join(directory, "generations"))).sort()).toEqual(
		before.filter((name) => !gone.includes(join(directory, "generations", name))),
	);
	expect(await theirs.restoreToSeq(5, (seq) => seq === 5)).toBe(5);
	expect(await generations.restoreToSeq(4, (seq) => seq < 3)).toBe(2);
	expect(titles(generations.database)).toEqual(["at 1", "at 2"]);
});

test("a prune leaves a capture alone that is under way, and takes what a killed one left", async () => {
	const generations = opened();
	await writeFile(file(7, "db"), "placed, never sealed");
	const capturing = generations.capture(4);
	expect(generations.prune(anywhere)).toEqual([]);
	await capturing;
	expect((await readdir(join(directory, "generations"))).sort()).toEqual([
		"00000000000000000004.db",
		"00000000000000000004.json",
	]);
	expect(await generations.restoreToSeq(4, anywhere)).toBe(4);
});

test("only a generation on the path is taken; where there is none the database stays as it was", async () => {
	const generations = opened();
	for (const seq of [2, 5]) {
		add(generations.database, `at ${seq}`);
		await generations.capture(seq);
	}
	expect(await generations.restoreToSeq(9, (seq) => seq !== 5)).toBe(2);
	expect(titles(generations.database)).toEqual(["at 2"]);
	add(generations.database, "kept");
	await expect(generations.restoreToSeq(1, anywhere)).rejects.toEqual(
		expect.objectContaining({ code: "SNAPSHOT_NO_GENERATION", detail: { seq: 1, seqs: [5, 2] } }),
	);
	expect(titles(generations.database)).toEqual(["at 2", "kept"]);
});

test("a -wal that comes to lie beside the database while it is restored does not undo the restore", async () => {
	const first = opened();
	first.database.pragma("wal_autocheckpoint = 0");
	add(first.database, "then");
	await first.capture(1);
	for (let i = 0; i < 500; i++) add(first.database, `now ${i}`);
	for (const end of ["", "-wal"]) await copyFile(`${path}${end}`, join(directory, `stale${end}`));
	first.close();

	const generations = opened({
		onStep(step) {
			if (step === "restore detached") copyFileSync(join(directory, "stale-wal"), `${path}-wal`);
			// Here a kill would leave it to be found.
			if (step === "restore replaced") expect(existsSync(`${path}-wal`)).toBe(false);
		},
	});
	await generations.restoreToSeq(1, anywhere);
	expect(titles(generations.database)).toEqual(["then"]);

	// The trap itself: the same file swap with the -wal left there.
	generations.close();
	await copyFile(file(1, "db"), path);
	await copyFile(join(directory, "stale-wal"), `${path}-wal`);
	const trapped = new Database(path);
	expect(titles(trapped).length).toBe(501);
	expect(trapped.pragma("integrity_check", { simple: true })).toBe("ok");
	trapped.close();
});

test("a generation from before a column was added comes back in today's schema; a second migration changes nothing", async () => {
	const before = opened();
	add(before.database, "a");
	await before.capture(1);
	before.close();

	const generations = opened({ migrate: today });
	generations.database.prepare("UPDATE todo SET done = 2").run();
	await generations.capture(2);
	await generations.restoreToSeq(1, anywhere);
	expect(generations.database.prepare("SELECT * FROM todo").all()).toEqual([{ title: "a", done: 1 }]);
	await generations.restoreToSeq(2, anywhere);
	expect(generations.database.prepare("SELECT * FROM todo").all()).toEqual([{ title: "a", done: 2 }]);
	generations.close();
	const version = (database: Database.Database): unknown => database.pragma("schema_version", { simple: true });
	const [once, twice] = [opened({ migrate: today }), opened({ migrate: today })];
	expect(version(twice.database)).toBe(version(once.database));
});

test.each([
	["a byte of the database", async () => flip(file(5, "db"), 3000)],
	["its end", async () => writeFile(file(5, "db"), (await readFile(file(5, "db"))).subarray(0, 5000))],
	["all of the database", async () => rm(file(5, "db"))],
	["a byte of its log's id", async () => flip(file(5, "json"), 85)],
	["all of the seal's text", async () => writeFile(file(5, "json"), "")],
])("a generation that lost %s is set aside and the next older one is taken", async (_lost, damage) => {
	const generations = opened();
	add(generations.database, "a");
	await generations.capture(2);
	add(generations.database, "b");
	await generations.capture(5);
	await damage();
	expect(await generations.restoreToSeq(5, anywhere)).toBe(2);
	expect(titles(generations.database)).toEqual(["a"]);
	expect(generations.list()).toEqual([2]);
	expect(await readdir(join(directory, "generations"))).toContain("00000000000000000005.json.broken");
	add(generations.database, "again");
	await generations.capture(5);
	expect(generations.list()).toEqual([5, 2]);
});

test("another log's generation is neither restored nor written over nor listed", async () => {
	const theirs = opened({ log: logOf({ id: "log-b" }) });
	await theirs.capture(3);
	theirs.close();
	const ours = opened();
	add(ours.database, "a");
	await expect(ours.restoreToSeq(3, anywhere)).rejects.toEqual(expect.objectContaining({ code: "SNAPSHOT_OTHER_LOG" }));
	await expect(ours.capture(3)).rejects.toMatchObject({ code: "SNAPSHOT_OTHER_LOG" });
	expect(ours.list()).toEqual([]);
	expect(titles(ours.database)).toEqual(["a"]);
});

test("a log brought back from a copy does not get what its lost records captured at the same seqs", async () => {
	const said = defineRecord("said", z.object({ text: z.string() }));
	const [log, copy] = [join(directory, "log"), join(directory, "copy")];
	const say = async (wal: Wal, text: string): Promise<Seq> => {
		const { seq, durable } = wal.append(said({ text }), {});
		await durable;
		return seq;
	};
	const empty = await openWal(log, { records: [said] });
	const both = await say(empty, "both");
	await empty.close();
	await cp(log, copy, { recursive: true });

	const lost = await openWal(log, { records: [said] });
	const first = opened({ log: lost });
	add(first.database, "both");
	await first.capture(both);
	add(first.database, "first life");
	const seq = await say(lost, "first life");
	await first.capture(seq);
	first.close();
	await lost.close();
	await rm(log, { recursive: true });
	await cp(copy, log, { recursive: true });

	await using wal = await openWal(log, { records: [said] });
	const second = opened({ log: wal });
	expect([wal.id, await say(wal, "second life")]).toEqual([lost.id, seq]);
	await expect(second.restoreToSeq(seq, (at) => at === seq)).rejects.toMatchObject({ code: "SNAPSHOT_NO_GENERATION" });
	expect(titles(second.database)).toEqual(["both", "first life"]);
	expect(await second.restoreToSeq(seq, anywhere)).toBe(both);
	expect(titles(second.database)).toEqual(["both"]);
	expect(await readdir(join(directory, "generations"))).toHaveLength(4);
	add(second.database, "second life");
	await second.capture(seq);
	add(second.database, "later");
	expect(await second.restoreToSeq(seq, anywhere)).toBe(seq);
	expect(titles(second.database)).toEqual(["both", "second life"]);
});

test("a record that the log has not, or has no more, has no generation", async () => {
	const generations = opened();
	for (const seq of [2, 4, 6]) {
		add(generations.database, `at ${seq}`);
		await generations.capture(seq);
	}
	const shorter = opened({ database: join(directory, "other.db"), log: logOf({ first: 3, tip: 5 }) });
	for (const seq of [6, 99_999, Number.NaN])
		await expect(shorter.restoreToSeq(seq, anywhere)).rejects.toMatchObject({ code: "SNAPSHOT_AHEAD" });
	expect(titles(shorter.database)).toEqual([]);
	expect(await shorter.restoreToSeq(5, anywhere)).toBe(4);
	expect(titles(shorter.database)).toEqual(["at 2", "at 4"]);
	await expect(shorter.restoreToSeq(3, anywhere)).rejects.toMatchObject({ code: "SNAPSHOT_NO_GENERATION" });
	await expect(shorter.capture(2)).rejects.toMatchObject({ code: "SNAPSHOT_NOT_STORED" });
	expect(await generations.restoreToSeq(9, anywhere)).toBe(6);
	expect(await generations.restoreToSeq(2, anywhere)).toBe(2);
});

test("a newer Reyn's generation is refused, and left as it is", async () => {
	const generations = opened();
	await generations.capture(3);
	const json = '{"v":2}';
	await writeFile(file(3, "json"), `${createHash("sha256").update(json).digest("hex")}\n${json}\n`);
	await expect(generations.restoreToSeq(3, anywhere)).rejects.toEqual(
		expect.objectContaining({ code: "SNAPSHOT_NEWER_FORMAT" }),
	);
	expect(await readdir(join(directory, "generations"))).toContain("00000000000000000003.json");
});

test("a second connection, idle or reading, refuses the restore; without it the restore works", async () => {
	const generations = opened();
	add(generations.database, "a");
	await generations.capture(1);
	add(generations.database, "b");
	const other = new Database(path);
	const refused = expect.objectContaining({ code: "SNAPSHOT_DATABASE_BUSY" });
	expect(titles(other)).toEqual(["a", "b"]);
	await expect(generations.restoreToSeq(1, anywhere)).rejects.toEqual(refused);
	other.exec("BEGIN");
	expect(titles(other)).toEqual(["a", "b"]);
	await expect(generations.restoreToSeq(1, anywhere)).rejects.toEqual(refused);
	other.exec("COMMIT");
	add(other, "c");
	add(generations.database, "d");
	expect(generations.database.pragma("journal_mode", { simple: true })).toBe("wal");
	expect(generations.database.pragma("busy_timeout", { simple: true })).toBe(5000);
	other.close();
	expect(titles(generations.database)).toEqual(["a", "b", "c", "d"]);
	await generations.restoreToSeq(1, anywhere);
	expect(titles(generations.database)).toEqual(["a"]);
});

test("in a transaction nothing is captured and nothing restored", async () => {
	const generations = opened();
	await generations.capture(1);
	generations.database.exec("BEGIN");
	await expect(generations.capture(2)).rejects.toMatchObject({ code: "SNAPSHOT_DATABASE_BUSY" });
	await expect(generations.restoreToSeq(1, anywhere)).rejects.toEqual(
		expect.objectContaining({ code: "SNAPSHOT_DATABASE_BUSY" }),
	);
	generations.database.exec("COMMIT");
	await generations.capture(2);
});

test("a link to the database stays a link, and the file that it leads to is restored", async () => {
	const link = join(directory, "link.db");
	await symlink(path, link);
	const generations = opened({ database: link });
	add(generations.database, "a");
	await generations.capture(1);
	add(generations.database, "b");
	await generations.restoreToSeq(1, anywhere);
	generations.close();
	expect(titles(opened().database)).toEqual(["a"]);
});

test("a failure of the disk says so by name and leaves the database usable", async () => {
	const generations = opened({
		onStep: (step) => {
			if (step === "capture copied" || step === "restore cleared")
				throw Object.assign(new Error("no space"), { code: "ENOSPC" });
		},
	});
	add(generations.database, "a");
	await expect(generations.capture(1)).rejects.toMatchObject({ code: "SNAPSHOT_NOT_STORED" });
	expect(await readdir(join(directory, "generations"))).toEqual([]);
	const sound = opened({ database: join(directory, "other.db") });
	await sound.capture(1);
	await expect(generations.restoreToSeq(1, anywhere)).rejects.toEqual(
		expect.objectContaining({ code: "SNAPSHOT_NOT_RESTORED" }),
	);
	expect(titles(generations.database)).toEqual(["a"]);
	expect(await readdir(directory)).not.toContain("app.db.restore");
});

/** Two generations, the first from before the column, and rows after them; the child adds "late". */
async function killed(action: "capture" | "restore" | "prune" | "open", step: string): Promise<SqliteGenerations> {
	const before = opened();
	add(before.database, "a");
	await before.capture(action === "capture" ? 1 : 9);
	add(before.database, "b");
	before.close();
	const { signal, stderr } = await startSource(join(import.meta.dirname, "kill-at-step.ts"), [directory, action, step])
		.ended;
	expect(signal, stderr).toBe("SIGKILL");
	return opened({ migrate: today });
}

test.each(some(["capture copied", "capture placed", "capture sealed"], 3))(
	"killed after %s: the database has all, and the capture is there or is made again",
	async (step) => {
		const generations = await killed("capture", step);
		expect(titles(generations.database)).toEqual(["a", "b", "late"]);
		expect(generations.list()).toEqual(step === "capture sealed" ? [9, 1] : [1]);
		expect((await readdir(join(directory, "generations"))).filter((name) => name.includes("tmp"))).toEqual([]);
		await generations.capture(9);
		add(generations.database, "later");
		expect(await generations.restoreToSeq(9, anywhere)).toBe(9);
		expect(titles(generations.database)).toEqual(["a", "b", "late"]);
	},
);

test.each(some(["capture copied", "capture placed", "capture sealed"], 3))(
	"killed after %s at a seq of another life: that one's does not count, the new one is there whole or is made again",
	async (step) => {
		const lost = opened({ log: logOf({ life: "lost" }) });
		add(lost.database, "lost");
		await lost.capture(9);
		lost.database.exec("DELETE FROM todo");
		lost.close();
		const generations = await killed("capture", step);
		if (step !== "capture sealed") {
			await expect(generations.restoreToSeq(9, (seq) => seq === 9)).rejects.toMatchObject({
				code: "SNAPSHOT_NO_GENERATION",
			});
			await generations.capture(9);
		}
		add(generations.database, "later");
		expect(await generations.restoreToSeq(9, anywhere)).toBe(9);
		expect(titles(generations.database)).toEqual(["a", "b", "late"]);
		expect(await readdir(join(directory, "generations"))).toHaveLength(4);
	},
);

test("killed while it takes the place of another life's: when that life comes back, it captures again", async () => {
	const log = logOf({ life: "lost" });
	const lost = opened({ log });
	await lost.capture(9);
	lost.close();
	(await killed("capture", "capture placed")).close();
	const back = opened({ database: join(directory, "back.db"), log });
	add(back.database, "back");
	await back.capture(9);
	expect(await back.restoreToSeq(9, anywhere)).toBe(9);
	expect(titles(back.database)).toEqual(["back"]);
});

const steps: [string, string[]][] = [
	["restore copied", ["a", "b", "late"]],
	["restore detached", ["a", "b", "late"]],
	["restore cleared", ["a", "b", "late"]],
	["restore replaced", ["a"]],
	["migrating", ["a"]],
	["restore reopened", ["a"]],
];
test.each(some(steps, 3))(
	"killed after %s: the old database or the restored one, whole, and the next restore finishes",
	async (step, found) => {
		const generations = await killed("restore", step);
		expect(await readdir(directory)).not.toContain("app.db.restore");
		expect(titles(generations.database)).toEqual(found);
		expect(generations.database.pragma("integrity_check", { simple: true })).toBe("ok");
		expect(await generations.restoreToSeq(9, anywhere)).toBe(9);
		expect(generations.database.prepare("SELECT * FROM todo").all()).toEqual([{ title: "a", done: 1 }]);
		expect(await readdir(directory)).not.toContain("app.db.restore");
	},
);

test("killed in a prune: what was to go is gone, and the next prune takes what is left of it", async () => {
	const generations = await killed("prune", "prune unsealed");
	expect(generations.list()).toEqual([]);
	expect(await readdir(join(directory, "generations"))).toEqual(["00000000000000000009.db"]);
	expect(generations.prune(() => false)).toEqual([]);
	expect(await readdir(join(directory, "generations"))).toEqual([]);
	expect(titles(generations.database)).toEqual(["a", "b", "late"]);
});

test("killed in the migration of an open: the next one has today's schema", async () => {
	const generations = await killed("open", "migrating");
	expect(generations.database.prepare("SELECT * FROM todo").all()).toEqual([
		{ title: "a", done: 1 },
		{ title: "b", done: 1 },
	]);
});

async function flip(name: string, at: number): Promise<void> {
	const bytes = await readFile(name);
	bytes[at] = (bytes[at] ?? 0) ^ 1;
	await writeFile(name, bytes);
}
