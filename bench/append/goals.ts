/** What our own engines are held to (G1 to G5). Ratios are to the raw loop of the same round, medians over the rounds. */
import { median } from "../figures.ts";
import { atLeast, atMost, type Goal } from "../goals.ts";
import { figuresOf, type Round } from "./rounds.ts";
import type { Figures, Workload } from "./workloads.ts";

type AwaitedWorkload = "one" | "64" | "256";

export function judge(rounds: readonly Round[], name: string): Goal[] {
	const over = <W extends Workload>(workload: W, figure: Parameters<typeof figuresOf<W>>[3]): number =>
		median(figuresOf(rounds, workload, name, figure));
	const rate = (workload: AwaitedWorkload): number =>
		over(workload, ({ perSecond }, { raw }) => perSecond / raw.perSecond);
	/** None beside a peer that was skipped. */
	const beside = (goal: string, workload: AwaitedWorkload, peer: string, limit: number): Goal[] => {
		const ratio = over(workload, ({ perSecond }, { found }) => {
			const theirs = found.get(peer);
			return theirs && perSecond / theirs.perSecond;
		});
		return Number.isNaN(ratio) ? [] : [atLeast(`${goal}, × ${peer}`, ratio, limit)];
	};
	const latency = (figure: "p50Ms" | "p99Ms", workload: AwaitedWorkload, limit: number): Goal =>
		atMost(
			`G3 ${name}: ${figure.slice(0, 3)}, ${appenders[workload]}, × raw`,
			over(workload, (its, { raw }) => its[figure] / raw[figure]),
			limit,
		);
	const unawaited = (figure: (its: NonNullable<Figures["unawaited"]>) => number): number => over("unawaited", figure);
	return [
		atLeast(`G1 ${name}: 1 appender, × raw`, rate("one"), 0.9),
		...["classic-level", "lmdb"].flatMap((peer) => beside(`G1 ${name}: 1 appender`, "one", peer, 1)),
		atLeast(`G2 ${name}: 64 appenders, × raw`, rate("64"), 22),
		atLeast(`G2 ${name}: 256 appenders, × raw`, rate("256"), 40),
		...(["64", "256"] as const).flatMap((workload) =>
			Object.entries({ "better-sqlite3": 0.9, "classic-level": 2, lmdb: 1.4 }).flatMap(([peer, limit]) =>
				beside(`G2 ${name}: ${workload} appenders`, workload, peer, limit),
			),
		),
		latency("p50Ms", "one", 1.3),
		latency("p50Ms", "64", 4),
		latency("p50Ms", "256", 8),
		latency("p99Ms", "one", 2),
		latency("p99Ms", "64", 6),
		latency("p99Ms", "256", 12),
		atMost(
			`G4 ${name}: append() p50, × JSON.stringify`,
			unawaited((its) => its.p50Us / its.stringifyP50Us),
			3,
		),
		atMost(
			`G4 ${name}: append() p99, µs`,
			unawaited((its) => its.p99Us),
			10,
		),
		atLeast(
			`G4 ${name}: unawaited, × raw`,
			over("unawaited", (its, { raw }) => its.perSecond / raw.perSecond),
			60,
		),
		atMost(
			`G5 ${name}: timer p99 above idle, ms`,
			over("paced", (its) => its.p99Ms - its.idleP99Ms),
			0.75,
		),
		atMost(
			`G5 ${name}: event loop per append, µs`,
			over("paced", (its) => its.loopUs),
			5,
		),
	];
}

const appenders = { one: "1 appender", "64": "64 appenders", "256": "256 appenders" };
