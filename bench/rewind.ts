/** What it costs to look ahead and to go back in a long history, and to bring files back with it. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { median, quantile } from "./figures.ts";
import { atMost, type Goal, goalTable } from "./goals.ts";
import { type Machine, machine, machineLine } from "./machine.ts";
import type { Request } from "./rewind/contend.ts";
import type { History } from "./rewind/history.ts";
import type { FoundOf, JobName, Moves, Reach, Restored } from "./rewind/jobs.ts";
import { Rival } from "./rival.ts";
import { inScratch } from "./scratch.ts";
import { short, table } from "./table.ts";

export interface RewindOptions {
	/** Of each history. */
	readonly records: readonly number[];
	readonly files: number;
	/** Moves in a round. */
	readonly times: number;
	readonly rounds: number;
	readonly json: boolean;
}

interface Row extends History {
	readonly near: readonly Moves[];
	readonly far: readonly Moves[];
	/** In ms a file, and as many times the raw limit of the same round. */
	readonly restored: readonly (Restored & { readonly raw: number })[];
}

interface Report {
	readonly bench: "rewind";
	readonly machine: Machine;
	readonly fileSystem: string;
	readonly rounds: number;
	readonly files: number;
	readonly rows: readonly Row[];
	readonly goals: readonly Goal[];
}

export async function benchRewind({ records, files, times, rounds, json }: RewindOptions): Promise<void> {
	await inScratch(async (directory, fileSystem) => {
		const rows: Row[] = [];
		for (const count of records) {
			const at = join(directory, String(count));
			await mkdir(at);
			const ask = asking(at, { records: count, files, times });
			console.error(`writing ${count} records`);
			const history = await ask("history");
			await ask("settle");
			const [near, far, restored]: [Moves[], Moves[], Row["restored"][number][]] = [[], [], []];
			for (let round = 0; round < rounds; round++) {
				console.error(`round ${round + 1} of ${rounds}`);
				near.push(await ask("moves", "near"));
				far.push(await ask("moves", "far"));
			}
			for (let round = 0; round < rounds; round++) restored.push({ raw: await ask("raw"), ...(await ask("restore")) });
			rows.push({ ...history, near, far, restored });
		}
		const goals = judge(rows);
		const report: Report = { bench: "rewind", machine: machine(), fileSystem, rounds, files, rows, goals };
		console.log(json ? JSON.stringify(report, null, "\t") : textOf(report));
	});
}

/** Each job in a process of its own. */
const asking =
	(at: string, order: Request["order"]) =>
	async <Name extends JobName>(job: Name, reach: Reach = "near"): Promise<FoundOf<Name>> => {
		const rival = await Rival.start(job, join(import.meta.dirname, "rewind/contend.ts"), at);
		if (!(rival instanceof Rival)) throw new Error(rival.skipped);
		try {
			return (await rival.ask<{ found: FoundOf<Name> }>({ job, order: { ...order, reach } } satisfies Request)).found;
		} finally {
			await rival.end();
		}
	};

const moves = { previewMs: "preview", applyMs: "rewind", undoMs: "undo", filesMs: "preview of files" } as const;
const restores = { previewMs: "preview", backMs: "rewind", undoMs: "undo", redoMs: "redo" } as const;

const entriesOf = <Of extends object>(of: Of) => Object.entries(of) as [keyof Of, Of[keyof Of]][];

const p = (share: number, rounds: readonly Moves[], of: keyof typeof moves): number =>
	quantile(
		rounds.flatMap((round) => round[of]),
		share,
	);
const middleOf = (rounds: readonly Moves[], of: "openMiB" | "moreMiB"): number =>
	median(rounds.map((round) => round[of]));
const aFile = (row: Row, of: keyof typeof restores): number => median(row.restored.map((round) => round[of]));
const ofRaw = (row: Row, of: keyof typeof restores): number =>
	median(row.restored.map((round) => round[of] / round.raw));

/** Flat: after a hundred times the history it is at most half as much again. */
function judge(rows: readonly Row[]): Goal[] {
	const [few, many] = [rows[0], rows.at(-1)];
	if (!few || !many) return [];
	const of = `in ${many.records} records`;
	return [
		atMost(`preview p99 ${of}, ms`, p(0.99, many.near, "previewMs"), 10),
		atMost(`rewind p99 ${of}, ms`, p(0.99, many.near, "applyMs"), 20),
		...entriesOf(moves).map(([each, name]) =>
			atMost(`${name} p50 ${of}, × in ${few.records}`, p(0.5, many.near, each) / p(0.5, few.near, each), 1.5),
		),
		atMost(`${of}: what moves leave in memory, MiB`, middleOf(many.near, "moreMiB"), 64),
		...(["backMs", "undoMs", "redoMs"] as const).flatMap((each) => [
			atMost(`${restores[each]} with files ${of}, ms a file`, aFile(many, each), 3),
			atMost(`${restores[each]} with files ${of}, × raw`, ofRaw(many, each), 4),
		]),
	];
}

function textOf({ machine: on, fileSystem, rounds, files, rows, goals }: Report): string {
	return [
		`going back and forth over all of a history, and with ${files} files; ${rounds} rounds`,
		`${machineLine(on)}, ${fileSystem}`,
		"",
		table(
			[
				...["records", "resets", "writes of files", "back"],
				...entriesOf(moves).map(([, name]) => `${name} p50 / p99, ms`),
				...["open, MiB", "more after, MiB"],
			],
			rows.flatMap((row) =>
				(["near", "far"] as const).map((reach) => [
					...[row.records, row.resets, row.writes, reach].map(String),
					...entriesOf(moves).map(
						([each]) => `${short(p(0.5, row[reach], each))} / ${short(p(0.99, row[reach], each))}`,
					),
					...[middleOf(row[reach], "openMiB"), middleOf(row[reach], "moreMiB")].map(short),
				]),
			),
		),
		"",
		table(
			["records", ...entriesOf(restores).flatMap(([, name]) => [`${name}, ms a file`, "× raw"]), "raw, ms a file"],
			rows.map((row) => [
				String(row.records),
				...entriesOf(restores).flatMap(([each]) => [short(aFile(row, each)), short(ofRaw(row, each))]),
				short(median(row.restored.map(({ raw }) => raw))),
			]),
		),
		"",
		goalTable(goals),
	].join("\n");
}
