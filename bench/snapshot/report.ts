/** What was found, as one document and as tables. */
import { median } from "../figures.ts";
import { type Goal, goalTable } from "../goals.ts";
import { type Machine, machineLine } from "../machine.ts";
import { short, table } from "../table.ts";
import type { Loop, Past, Run } from "./jobs.ts";
import { MESSAGE_BYTES } from "./messages.ts";

/** A contender after so many steps. Times are medians, in ms. */
export interface Row {
	readonly name: string;
	readonly steps: number;
	readonly stepMs: number;
	/** What a step adds to the files, and to the blocks on disk. */
	readonly stepBytes: number;
	readonly stepAllocated: number;
	/** All that lies on disk, in blocks; and as often as the text of the messages. */
	readonly disk: number;
	readonly ofMessages: number;
	/** The state after half of the steps, and near the end. */
	readonly middleMs: number;
	readonly lateMs: number;
	/** States in the middle, one after the other, in a process that has the last one in memory. */
	readonly liveMs: number;
	/** Back to the middle, and one more message. */
	readonly forkMs: number;
	/** A fork has the messages up to its place, and one more. */
	readonly forkIsRight: boolean;
	/** Opening the store, which is in none of them. */
	readonly openMs: number;
}

/** Medians over rounds, after so many messages. */
export interface LoopRow extends Loop {
	readonly name: string;
	readonly history: number;
}

export interface Report {
	readonly bench: "snapshot";
	readonly machine: Machine;
	readonly fileSystem: string;
	/** What zstd of level 3 leaves of the messages, of the documents that their words are from, and of random ones. */
	readonly packed: { readonly prose: number; readonly documents: number; readonly random: number };
	readonly rounds: number;
	readonly skipped: readonly { readonly name: string; readonly why: string }[];
	readonly rows: readonly Row[];
	readonly loops: readonly LoopRow[];
	readonly goals: readonly Goal[];
}

/** What was read of a past state, each round. */
export interface Readings {
	readonly middle: readonly Past[];
	readonly late: readonly Past[];
	readonly live: readonly Past[];
	readonly fork: readonly Past[];
}

export function rowOf(
	name: string,
	steps: number,
	{ ms, empty, disk }: Run,
	{ middle, late, live, fork }: Readings,
): Row {
	if (![...middle, ...late, ...live].every(({ right }) => right))
		throw new Error(`${name}: a past state is not what it was`);
	const time = (past: readonly Past[]): number => median(past.map((each) => each.ms));
	return {
		name,
		steps,
		stepMs: ms,
		stepBytes: (disk.bytes - empty.bytes) / steps,
		stepAllocated: (disk.allocated - empty.allocated) / steps,
		disk: disk.allocated,
		ofMessages: disk.allocated / (steps * MESSAGE_BYTES),
		middleMs: time(middle),
		lateMs: time(late),
		liveMs: time(live),
		forkMs: time(fork),
		forkIsRight: fork.every(({ right }) => right),
		openMs: median([...middle, ...late, ...fork].map(({ openMs }) => openMs)),
	};
}

export const loopRowOf = (name: string, history: number, found: readonly Loop[]): LoopRow => ({
	name,
	history,
	meanMs: median(found.map(({ meanMs }) => meanMs)),
	longestMs: median(found.map(({ longestMs }) => longestMs)),
});

export function textOf({ machine, fileSystem, packed, rounds, skipped, rows, loops, goals }: Report): string {
	return [
		`one message of ${MESSAGE_BYTES} bytes a step, on disk before the next; medians of all steps, and of ${rounds} rounds of reading`,
		`zstd leaves ${packed.prose.toFixed(3)} of the messages, ${packed.documents.toFixed(3)} of the documents they are drawn from, and ${packed.random.toFixed(3)} of the random ones`,
		`${machineLine(machine)}, ${fileSystem}`,
		...skipped.map(({ name, why }) => `skipped: ${name} (${why})`),
		"",
		table(
			["steps", "contender", "ms a step", "bytes a step", "in blocks", "whole disk, MB", "× messages"],
			rows.map(({ steps, name, stepMs, stepBytes, stepAllocated, disk, ofMessages }) => [
				String(steps),
				name,
				short(stepMs),
				stepBytes.toFixed(0),
				stepAllocated.toFixed(0),
				short(disk / 1e6),
				short(ofMessages),
			]),
		),
		"",
		table(
			[
				"steps",
				"contender",
				"state in the middle, ms",
				"near the end, ms",
				"in the middle, of a running agent, ms",
				"fork, ms",
				"opening before, ms",
			],
			rows.map(({ steps, name, middleMs, lateMs, liveMs, forkMs, forkIsRight, openMs }) => [
				String(steps),
				name,
				short(middleMs),
				short(lateMs),
				short(liveMs),
				`${short(forkMs)}${forkIsRight ? "" : ", wrong state"}`,
				short(openMs),
			]),
		),
		"",
		table(
			["messages before", "contender", "event loop per checkpoint, ms", "the longest, ms"],
			loops.map(({ history, name, meanMs, longestMs }) => [String(history), name, short(meanMs), short(longestMs)]),
		),
		"",
		goalTable(goals),
	].join("\n");
}
