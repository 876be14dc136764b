/** What was found, as one document and as tables. */
import { median, quantile } from "../figures.ts";
import { type Goal, goalTable } from "../goals.ts";
import { type Machine, machineLine } from "../machine.ts";
import { short, table } from "../table.ts";
import type { Targets } from "./active.ts";
import type { Layout } from "./log.ts";
import type { ActiveFigures, AfterResets, OfSession, Rounds } from "./rounds.ts";

/** Over all rounds, in ms. */
export interface Spread {
	readonly p50: number;
	readonly p99: number;
}

export interface ResetsRow {
	/** When the rounds began. */
	readonly resets: number;
	readonly openMs: number;
	readonly sync: Spread;
	readonly rewind: Spread;
	readonly past: Spread;
}

export interface SessionRow {
	readonly name: "shared" | "alone";
	readonly rewind: Spread;
	readonly past: Spread;
	/** To the median of the log of its own, in the same round. */
	readonly rewindRatio: number;
	readonly pastRatio: number;
}

/** Medians over rounds. */
export interface ActiveRow {
	readonly targets: Targets;
	readonly resets: number;
	readonly ranges: number;
	readonly ns: number;
	readonly scanNs?: number;
	readonly withMs: number;
	readonly firstMs: number;
}

export interface Report {
	readonly bench: "checkout";
	readonly machine: Machine;
	readonly fileSystem: string;
	readonly rounds: number;
	readonly long: Layout;
	readonly shared: Layout;
	readonly resets: readonly ResetsRow[];
	readonly sessions: readonly SessionRow[];
	readonly active: readonly ActiveRow[];
	readonly goals: readonly Goal[];
}

export const resetsRowOf = ({ resets, open, sync, rewind, past }: AfterResets): ResetsRow => ({
	resets,
	openMs: median(open),
	sync: spreadOf(sync),
	rewind: spreadOf(rewind),
	past: spreadOf(past),
});

export function sessionRowsOf({ shared, alone }: OfSession): SessionRow[] {
	return Object.entries({ shared, alone }).map(([name, { rewind, past }]) => ({
		name: name as SessionRow["name"],
		rewind: spreadOf(rewind),
		past: spreadOf(past),
		rewindRatio: ratioOf(rewind, alone.rewind),
		pastRatio: ratioOf(past, alone.past),
	}));
}

export function activeRowOf({ targets, resets, asked }: ActiveFigures): ActiveRow {
	const scans = asked.flatMap(({ scanNs }) => scanNs ?? []);
	return {
		targets,
		resets,
		ranges: median(asked.map(({ ranges }) => ranges)),
		ns: median(asked.map(({ ns }) => ns)),
		...(scans.length > 0 && { scanNs: median(scans) }),
		withMs: median(asked.map(({ withMs }) => withMs)),
		firstMs: median(asked.map(({ firstMs }) => firstMs)),
	};
}

const spreadOf = (rounds: Rounds): Spread => ({
	p50: quantile(rounds.flat(), 0.5),
	p99: quantile(rounds.flat(), 0.99),
});

const ratioOf = (rounds: Rounds, to: Rounds): number =>
	median(rounds.map((times, round) => median(times) / median(to[round] ?? [])));

export function textOf({ machine, fileSystem, rounds, long, shared, resets, sessions, active, goals }: Report): string {
	const spread = ({ p50, p99 }: Spread): string[] => [short(p50), short(p99)];
	return [
		`rewinds and past states at random records of the log, a checkpoint after every ninth; ${rounds} rounds`,
		`${machineLine(machine)}, ${fileSystem}`,
		"",
		`one session of ${long.turns} turns`,
		"",
		table(
			[
				"resets before",
				"rewind p50, ms",
				"p99, ms",
				"past state p50, ms",
				"p99, ms",
				"raw sync p50, ms",
				"p99, ms",
				"opening the timeline, ms",
			],
			resets.map((row) => [
				String(row.resets),
				...spread(row.rewind),
				...spread(row.past),
				...spread(row.sync),
				short(row.openMs),
			]),
		),
		"",
		`one session of ${shared.turns} turns, among ${shared.sessions} by turns and alone in a log`,
		"",
		table(
			["the session", "rewind p50, ms", "p99, ms", "× alone", "past state p50, ms", "p99, ms", "× alone"],
			sessions.map(({ name, rewind, past, rewindRatio, pastRatio }) => [
				name === "alone" ? name : `one of ${shared.sessions}`,
				...spread(rewind),
				short(rewindRatio),
				...spread(past),
				short(pastRatio),
			]),
		),
		"",
		table(
			[
				"resets",
				"their targets",
				"ranges of the current line",
				"isActive, ns",
				"a scan, ns",
				"one more reset, ms",
				"the first question then, ms",
			],
			active.map(({ resets: count, targets, ranges, ns, scanNs, withMs, firstMs }) => [
				String(count),
				targets,
				String(ranges),
				ns.toFixed(0),
				scanNs === undefined ? "" : scanNs.toFixed(0),
				short(withMs),
				short(firstMs),
			]),
		),
		"",
		goalTable(goals),
	].join("\n");
}
