/**
 * What tasks in SQLite cost: a write beside a bare insert with the same pragmas, a look at what changed where there are many, and what it
 * costs an act to keep tasks that go back, beside a copy of their file.
 */
import { closeSync, copyFileSync, fsyncSync, openSync, statSync } from "node:fs";
import { join } from "node:path";
import { rewindableSqliteTasks, sqliteTasks } from "@reyn/tasks/sqlite";
import Database from "better-sqlite3";
import { median } from "./figures.ts";
import { atMost, type Goal, goalTable } from "./goals.ts";
import { type Machine, machine, machineLine } from "./machine.ts";
import { inScratch } from "./scratch.ts";
import { short, table } from "./table.ts";

export interface TasksOptions {
	/** Of each kind, in a round. */
	readonly writes: number;
	/** How many tasks there are, the fewest first. */
	readonly tasks: readonly number[];
	/** The same, of those that go back. */
	readonly kept: readonly number[];
	readonly rounds: number;
	readonly json: boolean;
}

const kinds = ["bare insert", "create", "setStatus", "comment"] as const;
type Times = Readonly<Record<(typeof kinds)[number], number>>;

interface Row {
	readonly name: (typeof kinds)[number];
	readonly perSecond: number;
	/** Medians; the ratio is taken within its round. */
	readonly ofBare: number;
}

interface Size {
	readonly tasks: number;
	/** Microseconds, medians: of a look for one change, and of a write. */
	readonly lookUs: number;
	readonly writeUs: number;
}

/** An act that writes one of so many tasks, which go back. */
interface Kept {
	readonly tasks: number;
	readonly mebibytes: number;
	/** Milliseconds, medians: of the write, of keeping what there is then, and of a synced copy of the file. */
	readonly writeMs: number;
	readonly keepMs: number;
	readonly copyMs: number;
	/** Median; taken within an act. */
	readonly ofCopy: number;
}

interface Report {
	readonly bench: "tasks";
	readonly machine: Machine;
	readonly fileSystem: string;
	readonly rounds: number;
	readonly rows: readonly Row[];
	readonly sizes: readonly Size[];
	readonly kept: readonly Kept[];
	readonly goals: readonly Goal[];
}

export async function benchTasks({ writes, tasks, kept: counts, rounds, json }: TasksOptions): Promise<void> {
	await inScratch(async (directory, fileSystem) => {
		const times: Times[] = [];
		// The first round is for the disk, and for what Node makes of the code.
		for (let round = -1; round < rounds; round++) {
			const found = await timesOf(join(directory, String(round)), writes);
			if (round >= 0) times.push(found);
		}
		const rows = kinds.map((name) => ({
			name,
			perSecond: 1000 / median(times.map((each) => each[name])),
			ofBare: median(times.map((each) => each[name] / each["bare insert"])),
		}));
		const sizes: Size[] = [];
		for (const count of tasks) sizes.push(await sizeOf(join(directory, `of ${count}`), count, writes));
		const kept: Kept[] = [];
		for (const count of counts) kept.push(await keptOf(join(directory, `kept ${count}`), count));
		const [few, many] = [sizes[0] as Size, sizes.at(-1) as Size];
		const goals = [
			atMost("a task is made, × bare insert", rows[1]?.ofBare ?? 0, 2),
			atMost(`a look for one change among ${many.tasks} tasks, × among ${few.tasks}`, many.lookUs / few.lookUs, 1.5),
			atMost(`a write among ${many.tasks} tasks, × among ${few.tasks}`, many.writeUs / few.writeUs, 1.5),
		];
		const report: Report = { bench: "tasks", machine: machine(), fileSystem, rounds, rows, sizes, kept, goals };
		console.log(json ? JSON.stringify(report, null, "\t") : textOf(report));
	});
}

/** Milliseconds a write. */
async function timesOf(path: string, writes: number): Promise<Times> {
	const bare = new Database(`${path} bare.db`);
	bare.pragma("journal_mode = WAL");
	bare.pragma("synchronous = FULL");
	bare.exec("CREATE TABLE task (n INTEGER PRIMARY KEY, title TEXT NOT NULL)");
	const insert = bare.prepare("INSERT INTO task (title) VALUES (?)");
	const tasks = sqliteTasks({ path: `${path} tasks.db` });
	const ids: string[] = [];
	const found: Times = {
		"bare insert": await each(writes, async (n) => insert.run(`task ${n}`)),
		create: await each(writes, async (n) => ids.push((await tasks.create({ title: `task ${n}` }, `made ${n}`)).id)),
		setStatus: await each(writes, (n) => tasks.setStatus(ids[n] as string, "ready", `ready ${n}`)),
		comment: await each(writes, (n) => tasks.comment(ids[n] as string, `comment ${n}`, `said ${n}`)),
	};
	bare.close();
	await tasks.close();
	return found;
}

async function sizeOf(path: string, count: number, writes: number): Promise<Size> {
	const tasks = sqliteTasks({ path });
	fill(path, count);
	const looks: number[] = [];
	const times: number[] = [];
	let { cursor } = await tasks.changedSince();
	for (let n = 0; n < writes; n++) {
		const id = `t${1 + ((n * 7919) % count)}`;
		times.push(await each(1, () => tasks.setStatus(id, n % 2 === 0 ? "done" : "ready", `set ${n}`, `${n}`)));
		looks.push(
			await each(1, async () => {
				const changes = await tasks.changedSince(cursor);
				if (changes.tasks.length !== 1) throw new Error(`one task was changed, and ${changes.tasks.length} are told`);
				cursor = changes.cursor;
			}),
		);
	}
	await tasks.close();
	return { tasks: count, lookUs: median(looks) * 1000, writeUs: median(times) * 1000 };
}

/** How many acts are measured. */
const ACTS = 30;

async function keptOf(at: string, count: number): Promise<Kept> {
	const path = join(at, "tasks.db");
	let tip = 0;
	const tasks = await rewindableSqliteTasks({
		path,
		directory: join(at, "generations"),
		log: {
			id: "bench",
			first: 1,
			get durableTip() {
				return tip;
			},
			async *read({ through: seq = tip } = {}) {
				yield { seq, ts: 0, kind: "said", scope: {}, data: {}, crc: `of ${seq}` };
			},
		},
	});
	fill(path, count);
	const acts: (readonly [write: number, keep: number, copy: number])[] = [];
	for (let n = -1; n < ACTS; n++) {
		const write = await each(1, () => tasks.setStatus("t1", n % 2 === 0 ? "done" : "ready", `set ${n}`));
		tip++;
		const keep = await each(1, () => tasks.capture(tip));
		const copy = await each(1, async () => copied(path, join(at, "copy.db")));
		// The first one is for the disk, and for what Node makes of the code.
		if (n >= 0) acts.push([write, keep, copy]);
	}
	await tasks.close();
	const [writeMs, keepMs, copyMs] = ([0, 1, 2] as const).map((which) => median(acts.map((act) => act[which])));
	return {
		...{ tasks: count, mebibytes: statSync(path).size / 2 ** 20 },
		...{ writeMs: writeMs as number, keepMs: keepMs as number, copyMs: copyMs as number },
		ofCopy: median(acts.map(([, keep, copy]) => keep / copy)),
	};
}

function copied(from: string, to: string): void {
	copyFileSync(from, to);
	const file = openSync(to, "r+");
	fsyncSync(file);
	closeSync(file);
}

/** At once: one write a task would take hours, and is measured elsewhere. */
function fill(path: string, count: number): void {
	const database = new Database(path);
	const insert = database.prepare(
		"INSERT INTO reyn_task (id, title, description, status, created, changed, change) VALUES (?, ?, '', 'ready', 0, 0, ?)",
	);
	database.transaction(() => {
		for (let n = 1; n <= count; n++) insert.run(`t${n}`, `task ${n}`, n);
	})();
	database.close();
}

async function each(times: number, run: (n: number) => Promise<unknown>): Promise<number> {
	const from = performance.now();
	for (let n = 0; n < times; n++) await run(n);
	return (performance.now() - from) / times;
}

function textOf({ machine: on, fileSystem, rounds, rows, sizes, kept, goals }: Report): string {
	return [
		`tasks in SQLite, each write synced; medians of ${rounds} rounds, ratios are taken within a round`,
		`${machineLine(on)}, ${fileSystem}`,
		"",
		table(
			["write", "a second", "× bare insert"],
			rows.map(({ name, perSecond, ofBare }) => [name, short(perSecond), short(ofBare)]),
		),
		"",
		table(
			["tasks", "a look for one change, µs", "a write, µs"],
			sizes.map(({ tasks, lookUs, writeUs }) => [String(tasks), short(lookUs), short(writeUs)]),
		),
		"",
		table(
			["tasks that go back", "MiB", "a write, ms", "kept, ms", "a synced copy, ms", "× copy"],
			kept.map(({ tasks, ...each }) => [
				String(tasks),
				...[each.mebibytes, each.writeMs, each.keepMs, each.copyMs, each.ofCopy].map(short),
			]),
		),
		"",
		goalTable(goals),
	].join("\n");
}
