/** What it takes to open a timeline, from what is stored of its index and from the log alone, measured in the same round. */
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { TURN_RECORDS } from "./checkout/log.ts";
import { median } from "./figures.ts";
import { atMost, type Goal, goalTable } from "./goals.ts";
import { type Machine, machine, machineLine } from "./machine.ts";
import type { ContenderName, Opened } from "./open/contend.ts";
import { Rival } from "./rival.ts";
import { inScratch } from "./scratch.ts";
import { short, table } from "./table.ts";

/** Of the longest log. */
const goals = { storedMs: 150, ratio: 0.15, bytesPerRecord: 5 };

export interface OpenOptions {
	/** Of each log. */
	readonly records: readonly number[];
	/** So many that take turns; each log is measured with one too. */
	readonly sessions: number;
	readonly rounds: number;
	readonly json: boolean;
}

interface Row {
	readonly records: number;
	readonly sessions: number;
	/** Medians; the ratio is taken within its round. */
	readonly storedMs: number;
	readonly readMs: number;
	readonly ratio: number;
	readonly parts: number;
	readonly bytesPerRecord: number;
}

interface Report {
	readonly bench: "open";
	readonly machine: Machine;
	readonly fileSystem: string;
	readonly rounds: number;
	readonly rows: readonly Row[];
	readonly goals: readonly Goal[];
}

export async function benchOpen({ records, sessions, rounds, json }: OpenOptions): Promise<void> {
	await inScratch(async (directory, fileSystem) => {
		const rows: Row[] = [];
		for (const count of records)
			for (const among of [1, sessions])
				rows.push(await measure(join(directory, `${count}-${among}`), { records: count, sessions: among, rounds }));
		const report: Report = { bench: "open", machine: machine(), fileSystem, rounds, rows, goals: judge(rows) };
		console.log(json ? JSON.stringify(report, null, "\t") : textOf(report));
	});
}

async function measure(
	directory: string,
	{ records, sessions, rounds }: { readonly records: number; readonly sessions: number; readonly rounds: number },
): Promise<Row> {
	const turns = Math.ceil(records / TURN_RECORDS / sessions);
	await asked("write.ts", "write", directory, String(sessions), String(turns));
	const index = join(directory, "snapshots/index");
	const names = await readdir(index).catch(() => []);
	const sizes = await Promise.all(names.map(async (name) => (await stat(join(index, name))).size));
	const stored: number[] = [];
	const read: number[] = [];
	for (let round = 0; round < rounds; round++) {
		const [a, b] = [await opened("stored", directory), await opened("read", directory)];
		if (a.checkpoints !== b.checkpoints)
			throw new Error(`the index has ${a.checkpoints} checkpoints, and the log ${b.checkpoints}`);
		stored.push(a.ms);
		read.push(b.ms);
	}
	return {
		records,
		sessions,
		storedMs: median(stored),
		readMs: median(read),
		ratio: median(stored.map((ms, round) => ms / (read[round] as number))),
		parts: names.length,
		bytesPerRecord: sizes.reduce((sum, size) => sum + size, 0) / records,
	};
}

const opened = (name: ContenderName, directory: string) => asked<Opened>("contend.ts", name, directory);

/** Each in a process of its own that has done nothing before: what somebody waits for who starts. */
async function asked<T>(program: string, name: string, ...args: string[]): Promise<T> {
	const rival = await Rival.start(name, join(import.meta.dirname, "open", program), ...args);
	if (!(rival instanceof Rival)) throw new Error(rival.skipped);
	try {
		return (await rival.ask<{ found: T }>({})).found;
	} finally {
		await rival.end();
	}
}

function judge(rows: readonly Row[]): Goal[] {
	const longest = Math.max(...rows.map(({ records }) => records));
	return rows
		.filter(({ records }) => records === longest)
		.flatMap(({ records, sessions, storedMs, ratio, bytesPerRecord }) => {
			const what = `${records} records, ${sessions === 1 ? "one session" : `${sessions} sessions`}`;
			return [
				atMost(`opened, ${what}, ms`, storedMs, goals.storedMs),
				atMost(`opened, ${what}, × reading the log`, ratio, goals.ratio),
				atMost(`the index, ${what}, bytes a record`, bytesPerRecord, goals.bytesPerRecord),
			];
		});
}

function textOf({ machine: on, fileSystem, rounds, rows, goals: judged }: Report): string {
	return [
		`opening a timeline; medians of ${rounds} rounds, on ${fileSystem}`,
		machineLine(on),
		"",
		table(
			["records", "sessions", "from its index, ms", "from the log, ms", "×", "parts", "bytes a record"],
			rows.map(({ records, sessions, storedMs, readMs, ratio, parts, bytesPerRecord }) => [
				String(records),
				String(sessions),
				short(storedMs),
				short(readMs),
				ratio.toFixed(3),
				String(parts),
				bytesPerRecord.toFixed(2),
			]),
		),
		"",
		goalTable(judged),
	].join("\n");
}
