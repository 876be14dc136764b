/** What our own is held to (G9, G11, G12), at the sizes that were measured. */
import { atMost, type Goal } from "../goals.ts";
import { LANGGRAPH, LANGGRAPH_DELTA } from "./contenders.ts";
import type { LoopRow, Row } from "./report.ts";

/** The history beside which the longest is held. */
const SHORT_HISTORY = 100;

export function judge(rows: readonly Row[], loops: readonly LoopRow[], name: string): Goal[] {
	const ours = rows.filter((row) => row.name === name).sort((a, b) => a.steps - b.steps);
	const [first, last] = [ours[0], ours.at(-1)];
	if (!first || !last) return [];
	/** None beside a peer that was skipped. */
	const beside = (peer: string, row: Row, goalsOf: (theirs: Row) => readonly Goal[]): readonly Goal[] =>
		rows.filter((each) => each.name === peer && each.steps === row.steps).flatMap(goalsOf);
	/** @param opened of a process that has just opened, beside one that runs */
	const past = (peer: string, limit: number, opened = limit): readonly Goal[] =>
		beside(peer, last, (theirs) => [
			atMost(
				`G9 ${name}: state in the middle of ${last.steps} steps, of a running agent, × ${peer}`,
				last.liveMs / theirs.liveMs,
				limit,
			),
			atMost(
				`G9 ${name}: state in the middle of ${last.steps} steps, × ${peer}`,
				last.middleMs / theirs.middleMs,
				opened,
			),
			atMost(`G9 ${name}: state near the end of ${last.steps} steps, × ${peer}`, last.lateMs / theirs.lateMs, opened),
		]);
	return [
		...past(LANGGRAPH, 0.7, 1),
		...past(LANGGRAPH_DELTA, 0.2),
		...beside(LANGGRAPH, last, ({ forkMs }) => [
			atMost(`G9 ${name}: fork in the middle of ${last.steps} steps, × ${LANGGRAPH}`, last.forkMs / forkMs, 0.4),
		]),
		atMost(`G11 ${name}: bytes a step at ${last.steps}, × at ${first.steps}`, last.stepBytes / first.stepBytes, 1.1),
		...ours.map((row) => atMost(`G11 ${name}: whole disk at ${row.steps} steps, × messages`, row.ofMessages, 2)),
		...ours
			.slice(1)
			.flatMap((row) =>
				beside(LANGGRAPH, row, ({ disk }) => [
					atMost(`G12 ${name}: disk at ${row.steps} steps, × ${LANGGRAPH}`, row.disk / disk, 0.01),
				]),
			),
		...flat(loops, name),
	];
}

function flat(loops: readonly LoopRow[], name: string): Goal[] {
	const ours = loops.filter((row) => row.name === name);
	const brief = ours.find(({ history }) => history === SHORT_HISTORY);
	const long = ours.at(-1);
	if (!brief || !long || long === brief) return [];
	return [
		atMost(
			`${name}: event loop per checkpoint after ${long.history} messages, × after ${SHORT_HISTORY}`,
			long.meanMs / brief.meanMs,
			1.5,
		),
	];
}
