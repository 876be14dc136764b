/** How long a log takes to recover, as a ratio to the least that a reader of its lines can do, measured in the same round. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { writeEntries } from "./entries.ts";
import { median } from "./figures.ts";
import { atMost, type Goal, goalTable } from "./goals.ts";
import { type Machine, machine, machineLine } from "./machine.ts";
import type { Measured } from "./recovery/contend.ts";
import { type ContenderName, contenderNames } from "./recovery/contenders.ts";
import { strippedContend } from "./recovery/stripped.ts";
import { inScratch } from "./scratch.ts";
import { table } from "./table.ts";

const MIB = 1024 * 1024;

/** Ratios are to the floor; memory is the peak of a reader that keeps nothing, the whole process. */
const goals = { fullRatio: 1.5, readMiB: 128, openRatio: 0.05 };

export interface RecoveryOptions {
	readonly records: number;
	readonly rounds: number;
	readonly json: boolean;
}

interface Row {
	readonly name: ContenderName;
	/** Medians over the rounds; a ratio is taken within its round. */
	readonly ms: number;
	readonly ratio: number;
	readonly startMiB: number;
	readonly peakMiB: number;
	readonly stateMiB: number;
}

interface Report {
	readonly bench: "recovery";
	readonly machine: Machine;
	readonly log: {
		readonly records: number;
		readonly bytes: number;
		readonly sealed: number;
		readonly activeBytes: number;
	};
	readonly rounds: number;
	readonly rows: readonly Row[];
	readonly goals: readonly Goal[];
}

export async function benchRecovery({ records, rounds, json }: RecoveryOptions): Promise<void> {
	await inScratch(async (directory) => {
		const state = join(directory, "state");
		const contend = await strippedContend(join(directory, "code"));
		await writeEntries(state, records);
		const log = { records, ...(await sizeOf(state)) };
		const found = Object.fromEntries(contenderNames.map((name) => [name, [] as Measured[]])) as Record<
			ContenderName,
			Measured[]
		>;
		for (let round = 0; round < rounds; round++)
			for (const name of contenderNames) found[name].push(await measure(contend, name, state));
		const rows = contenderNames.map((name) => rowOf(name, found[name], found.floor));
		const report: Report = { bench: "recovery", machine: machine(), log, rounds, rows, goals: judge(rows) };
		console.log(json ? JSON.stringify(report, null, "\t") : textOf(report));
	});
}

async function sizeOf(directory: string): Promise<{ bytes: number; sealed: number; activeBytes: number }> {
	const names = (await readdir(directory)).filter((name) => name.endsWith(".jsonl"));
	const sizes = await Promise.all(names.map(async (name) => (await stat(join(directory, name))).size));
	return {
		bytes: sizes.reduce((sum, size) => sum + size, 0),
		sealed: names.length - 1,
		activeBytes: sizes[names.indexOf("wal.jsonl")] ?? 0,
	};
}

/** Runs a contender in a process of its own, so that its peak of memory is its own. */
async function measure(contend: string, name: ContenderName, directory: string): Promise<Measured> {
	// With a flag of V8 a process, and each of its threads, starts without the code that Node comes with; only an open is short enough for that to count.
	const child = fork(contend, [name, directory], { execArgv: name === "open" ? [] : ["--expose-gc"] });
	let measured: Measured | undefined;
	child.on("message", (message) => {
		measured = message as Measured;
	});
	const [code] = await once(child, "close");
	if (code !== 0 || !measured) throw new Error(`"${name}" ended with code ${code} and no figures`);
	return measured;
}

function rowOf(name: ContenderName, runs: readonly Measured[], floor: readonly Measured[]): Row {
	return {
		name,
		ms: median(runs.map(({ ms }) => ms)),
		ratio: median(runs.map(({ ms }, round) => ms / (floor[round]?.ms ?? ms))),
		startMiB: median(runs.map(({ startBytes }) => startBytes)) / MIB,
		peakMiB: median(runs.map(({ peakBytes }) => peakBytes)) / MIB,
		stateMiB: median(runs.map(({ stateBytes }) => stateBytes)) / MIB,
	};
}

function judge(rows: readonly Row[]): Goal[] {
	const row = (name: ContenderName): Row => rows.find((each) => each.name === name) as Row;
	return [
		atMost("full recovery, × floor", row("full").ratio, goals.fullRatio),
		atMost("peak memory of the reader, MiB", row("read").peakMiB, goals.readMiB),
		atMost("open with sealed segments, × floor", row("open").ratio, goals.openRatio),
	];
}

function textOf({ machine: on, log, rounds, rows, goals: judged }: Report): string {
	const megabytes = (bytes: number): string => (bytes / MIB).toFixed(1);
	return [
		`recovery of ${log.records} records: ${megabytes(log.bytes)} MiB, ${log.sealed} sealed segments, ${megabytes(log.activeBytes)} MiB active; medians of ${rounds} rounds`,
		machineLine(on),
		"",
		table(
			["reader", "ms", "× floor", "memory at start, MiB", "peak, MiB", "live state, MiB"],
			rows.map(({ name, ms, ratio, startMiB, peakMiB, stateMiB }) => [
				name,
				ms.toFixed(0),
				ratio.toFixed(3),
				startMiB.toFixed(0),
				peakMiB.toFixed(0),
				stateMiB.toFixed(1),
			]),
		),
		"",
		goalTable(judged),
	].join("\n");
}
