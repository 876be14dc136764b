/** What was found, as one document and as tables. */
import { median, quantile } from "../figures.ts";
import { type Goal, goalTable } from "../goals.ts";
import { type Machine, machineLine } from "../machine.ts";
import { short, table } from "../table.ts";
import { contenders } from "./contenders.ts";
import { figuresOf, type Round } from "./rounds.ts";
import type { Workload } from "./workloads.ts";

/** Medians over the rounds; a ratio is taken within its round. */
interface AwaitedRow {
	readonly appenders: number;
	readonly name: string;
	readonly perSecond: number;
	/** To the raw loop; `low` and `high` are the quartiles. */
	readonly ratio: number;
	readonly low: number;
	readonly high: number;
	readonly p50Ms: number;
	readonly p99Ms: number;
}

interface UnawaitedRow {
	readonly name: string;
	readonly p50Us: number;
	readonly p99Us: number;
	/** To `JSON.stringify` of the same record. */
	readonly p50Ratio: number;
	readonly p99Ratio: number;
	readonly perSecond: number;
	/** To the raw loop. */
	readonly ratio: number;
}

interface PacedRow {
	readonly name: string;
	readonly idleP99Ms: number;
	readonly p99Ms: number;
	readonly aboveIdleMs: number;
	readonly heldUs: number;
	readonly loopUs: number;
}

interface Rows {
	readonly awaited: readonly AwaitedRow[];
	readonly unawaited: readonly UnawaitedRow[];
	readonly paced: readonly PacedRow[];
}

export interface Report extends Rows {
	readonly bench: "append";
	readonly machine: Machine;
	readonly fileSystem: string;
	readonly rounds: number;
	readonly ms: number;
	readonly skipped: readonly { readonly name: string; readonly why: string }[];
	readonly goals: readonly Goal[];
}

export function rowsOf(rounds: readonly Round[]): Rows {
	const measured = (workload: Workload): string[] =>
		contenders.map(({ name }) => name).filter((name) => rounds[0]?.[workload].found.has(name));
	return {
		awaited: (["one", "64", "256"] as const).flatMap((workload) =>
			measured(workload).map((name) => {
				const over = (figure: Parameters<typeof figuresOf<typeof workload>>[3]): readonly number[] =>
					figuresOf(rounds, workload, name, figure);
				const ratios = over(({ perSecond }, { raw }) => perSecond / raw.perSecond);
				return {
					appenders: workload === "one" ? 1 : Number(workload),
					name,
					perSecond: median(over(({ perSecond }) => perSecond)),
					ratio: median(ratios),
					low: quantile(ratios, 0.25),
					high: quantile(ratios, 0.75),
					p50Ms: median(over(({ p50Ms }) => p50Ms)),
					p99Ms: median(over(({ p99Ms }) => p99Ms)),
				};
			}),
		),
		unawaited: measured("unawaited").map((name) => {
			const over = (figure: Parameters<typeof figuresOf<"unawaited">>[3]): number =>
				median(figuresOf(rounds, "unawaited", name, figure));
			return {
				name,
				p50Us: over(({ p50Us }) => p50Us),
				p99Us: over(({ p99Us }) => p99Us),
				p50Ratio: over(({ p50Us, stringifyP50Us }) => p50Us / stringifyP50Us),
				p99Ratio: over(({ p99Us, stringifyP99Us }) => p99Us / stringifyP99Us),
				perSecond: over(({ perSecond }) => perSecond),
				ratio: over(({ perSecond }, { raw }) => perSecond / raw.perSecond),
			};
		}),
		paced: measured("paced").map((name) => {
			const over = (figure: Parameters<typeof figuresOf<"paced">>[3]): number =>
				median(figuresOf(rounds, "paced", name, figure));
			return {
				name,
				idleP99Ms: over(({ idleP99Ms }) => idleP99Ms),
				p99Ms: over(({ p99Ms }) => p99Ms),
				aboveIdleMs: over(({ p99Ms, idleP99Ms }) => p99Ms - idleP99Ms),
				heldUs: over(({ heldUs }) => heldUs),
				loopUs: over(({ loopUs }) => loopUs),
			};
		}),
	};
}

export function textOf({ machine, fileSystem, rounds, ms, skipped, awaited, unawaited, paced, goals }: Report): string {
	return [
		`appends: medians of ${rounds} rounds, ${ms} ms for each contender at each workload; ratios are taken within a round`,
		`${machineLine(machine)}, ${fileSystem}`,
		...skipped.map(({ name, why }) => `skipped: ${name} (${why})`),
		"",
		table(
			["appenders", "awaited", "per second", "× raw", "quartiles", "p50, ms", "p99, ms"],
			awaited.map(({ appenders, name, perSecond, ratio, low, high, p50Ms, p99Ms }) => [
				String(appenders),
				name,
				perSecond.toFixed(0),
				short(ratio),
				`${short(low)} to ${short(high)}`,
				short(p50Ms),
				short(p99Ms),
			]),
		),
		"",
		table(
			["not awaited", "append() p50, µs", "× JSON.stringify", "p99, µs", "× JSON.stringify", "per second", "× raw"],
			unawaited.map(({ name, p50Us, p50Ratio, p99Us, p99Ratio, perSecond, ratio }) => [
				name,
				...[p50Us, p50Ratio, p99Us, p99Ratio].map(short),
				perSecond.toFixed(0),
				short(ratio),
			]),
		),
		"",
		table(
			[
				"2000 appends a second",
				"timer p99 when idle, ms",
				"timer p99, ms",
				"above idle, ms",
				"turn held per append, µs",
				"event loop busier per append, µs",
			],
			paced.map(({ name, idleP99Ms, p99Ms, aboveIdleMs, heldUs, loopUs }) => [
				name,
				...[idleP99Ms, p99Ms, aboveIdleMs, heldUs, loopUs].map(short),
			]),
		),
		"",
		goalTable(goals),
	].join("\n");
}
