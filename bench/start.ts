/** What somebody waits for who types a command: beside Node doing nothing, in the same round. */
import { spawnSync } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { median, quantile } from "./figures.ts";
import { atMost, type Goal, goalTable } from "./goals.ts";
import { type Machine, machine, machineLine } from "./machine.ts";
import { inScratch } from "./scratch.ts";
import { short, table } from "./table.ts";

const program = join(import.meta.dirname, "../apps/cli/dist/bin.js");

/** Of each command: how many times as long as Node takes to do nothing. */
const commands: Readonly<Record<string, { readonly args: readonly string[]; readonly goal: number }>> = {
	"--version": { args: ["--version"], goal: 1.5 },
	"--help": { args: ["--help"], goal: 1.5 },
	log: { args: ["log"], goal: 4 },
	branches: { args: ["branches"], goal: 4 },
};

export interface StartOptions {
	readonly rounds: number;
	readonly json: boolean;
}

interface Row {
	readonly name: string;
	/** Medians; the ratio is taken within its round. */
	readonly ms: number;
	readonly ratio: number;
	readonly quartiles: readonly [number, number];
}

interface Report {
	readonly bench: "start";
	readonly machine: Machine;
	readonly rounds: number;
	readonly nodeMs: number;
	readonly rows: readonly Row[];
	readonly goals: readonly Goal[];
}

export async function benchStart({ rounds, json }: StartOptions): Promise<void> {
	await inScratch(async (directory) => {
		const cwd = join(directory, "notes");
		await mkdir(cwd);
		await writeFile(join(cwd, "foxes.md"), "# Foxes\n\nA fox sleeps by day.\n");
		timeOf([program, "run", "-p", "where does a fox sleep?"], cwd);
		const [bare, times] = measure(rounds, cwd);
		const rows = Object.keys(commands).map((name): Row => {
			const all = times.get(name) as readonly number[];
			const ratios = all.map((ms, round) => ms / (bare[round] as number));
			const quartiles = [quantile(ratios, 0.25), quantile(ratios, 0.75)] as const;
			return { name, ms: median(all), ratio: median(ratios), quartiles };
		});
		const goals = rows.map(({ name, ratio }) => atMost(`reyn ${name}, × node`, ratio, commands[name]?.goal ?? 0));
		const report: Report = { bench: "start", machine: machine(), rounds, nodeMs: median(bare), rows, goals };
		console.log(json ? JSON.stringify(report, null, "\t") : textOf(report));
	});
}

/** The first round is for the disk, and for what Node keeps of what it has compiled. */
function measure(rounds: number, cwd: string): readonly [readonly number[], ReadonlyMap<string, readonly number[]>] {
	const bare: number[] = [];
	const times = new Map<string, number[]>(Object.keys(commands).map((name) => [name, []]));
	for (let round = -1; round < rounds; round++) {
		const node = timeOf(["-e", "0"], cwd);
		if (round >= 0) bare.push(node);
		for (const [name, { args }] of Object.entries(commands)) {
			const ms = timeOf([program, ...args], cwd);
			if (round >= 0) times.get(name)?.push(ms);
		}
	}
	return [bare, times];
}

/** In milliseconds, from its start to its end. What it keeps for its user lies beside the directory that it works on. */
function timeOf(args: readonly string[], cwd: string): number {
	const env = { ...process.env, XDG_CACHE_HOME: join(cwd, "../cache"), XDG_STATE_HOME: join(cwd, "../user") };
	const from = performance.now();
	const { status, stderr } = spawnSync(process.execPath, args, { cwd, env, encoding: "utf8" });
	if (status !== 0) throw new Error(`${args.join(" ")} ended with ${status}: ${stderr}`);
	return performance.now() - from;
}

function textOf({ machine: on, rounds, nodeMs, rows, goals }: Report): string {
	return [
		`starting a command; medians of ${rounds} rounds, Node doing nothing takes ${short(nodeMs)} ms`,
		machineLine(on),
		"",
		table(
			["reyn", "ms", "× node", "quartiles"],
			rows.map(({ name, ms, ratio, quartiles }) => [
				name,
				short(ms),
				ratio.toFixed(2),
				quartiles.map((each) => each.toFixed(2)).join(" to "),
			]),
		),
		"",
		goalTable(goals),
	].join("\n");
}
