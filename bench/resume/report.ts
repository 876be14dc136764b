/** What was found, as one document and as tables. */
import { median } from "../figures.ts";
import { type Goal, goalTable } from "../goals.ts";
import { type Machine, machineLine } from "../machine.ts";
import { short, table } from "../table.ts";
import { contenders, RAW } from "./contenders.ts";
import type { Figures, Measured, Round, Skipped } from "./rounds.ts";

/** Over all rounds. */
export interface Spread {
	readonly median: number;
	readonly min: number;
	readonly max: number;
}

/** A contender at one length of the work. Ratios are taken within a round. */
export interface Row {
	readonly name: string;
	readonly steps: number;
	/** The median step. */
	readonly stepMs: Spread;
	/** To the step of the raw loop. */
	readonly ofRaw: Spread;
	/** The last 50 steps, to the first 50. */
	readonly growth: Spread;
	/** From the opening until the last step is there again. */
	readonly resumeMs: Spread;
	/** Of these, until the work begins. */
	readonly openMs: Spread;
	/** To reading and parsing the same log; for ours. */
	readonly ofParse?: Spread;
	/** The most calls in any round that were made a second time. */
	readonly calls: number;
}

export interface Report {
	readonly bench: "resume";
	readonly machine: Machine;
	readonly fileSystem: string;
	readonly rounds: number;
	readonly skipped: readonly Skipped[];
	readonly rows: readonly Row[];
	readonly goals: readonly Goal[];
}

export const rowsOf = ({ steps, rounds }: Measured): Row[] =>
	contenders
		.filter(({ name }) => rounds[0]?.has(name))
		.map(({ name }) => {
			const over = (figure: (its: Figures, round: Round) => number | undefined): readonly number[] =>
				rounds.flatMap((round) => {
					const its = round.get(name);
					return (its && figure(its, round)) ?? [];
				});
			const ofParse = over(({ resumed, parseMs }) => parseMs && resumed.ms / parseMs);
			return {
				name,
				steps,
				stepMs: spreadOf(over(({ started }) => started.stepMs)),
				ofRaw: spreadOf(over(({ started }, round) => started.stepMs / (round.get(RAW)?.started.stepMs ?? Number.NaN))),
				growth: spreadOf(over(({ started }) => started.growth)),
				resumeMs: spreadOf(over(({ resumed }) => resumed.ms)),
				openMs: spreadOf(over(({ resumed }) => resumed.openMs)),
				...(ofParse.length > 0 && { ofParse: spreadOf(ofParse) }),
				calls: Math.max(...over(({ resumed }) => resumed.calls)),
			};
		});

const spreadOf = (values: readonly number[]): Spread => ({
	median: median(values),
	min: Math.min(...values),
	max: Math.max(...values),
});

export function textOf({ machine, fileSystem, rounds, skipped, rows, goals }: Report): string {
	const range = ({ min, max }: Spread): string => `${short(min)} to ${short(max)}`;
	return [
		`steps that are recorded one by one, and the same work in a new process; medians of ${rounds} rounds, ratios are taken within a round`,
		`${machineLine(machine)}, ${fileSystem}`,
		...skipped.map(({ name, why }) => `skipped: ${name} (${why})`),
		"",
		table(
			["steps", "contender", "ms a step", "from … to", "× raw", "from … to", "last 50 / first 50", "from … to"],
			rows.map(({ steps, name, stepMs, ofRaw, growth }) => [
				String(steps),
				name,
				...[stepMs, ofRaw, growth].flatMap((each) => [short(each.median), range(each)]),
			]),
		),
		"",
		table(
			[
				"steps",
				"contender",
				"resume, ms",
				"from … to",
				"opening, of these",
				"× parsing the log",
				"from … to",
				"calls made again",
			],
			rows.map(({ steps, name, resumeMs, openMs, ofParse, calls }) => [
				String(steps),
				name,
				short(resumeMs.median),
				range(resumeMs),
				short(openMs.median),
				...(ofParse ? [short(ofParse.median), range(ofParse)] : ["", ""]),
				String(calls),
			]),
		),
		"",
		goalTable(goals),
	].join("\n");
}
