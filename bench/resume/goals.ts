/** What our own is held to (G13, G14), at the longest work. */
import { atMost, type Goal } from "../goals.ts";
import { DBOS, EFFECTS, EFFECTS_WITH_OUTCOMES, LANGGRAPH, MODEL_CALLS } from "./contenders.ts";
import type { Row } from "./report.ts";

export function judge(rows: readonly Row[]): Goal[] {
	const longest = Math.max(...rows.map(({ steps }) => steps));
	const row = (name: string): Row | undefined => rows.find((each) => each.name === name && each.steps === longest);
	/** None for one that was skipped. */
	const of = (name: string, goalsOf: (its: Row) => readonly Goal[]): readonly Goal[] => {
		const its = row(name);
		return its ? goalsOf(its) : [];
	};
	return [
		...of(MODEL_CALLS, ({ name, calls, resumeMs, ofParse }) => [
			atMost(`G14 ${name}: calls when ${longest} steps are resumed`, calls, 0),
			atMost(`G14 ${name}: resume of ${longest} steps, ms`, resumeMs.median, 150),
			...(ofParse ? [atMost(`G14 ${name}: resume of ${longest} steps, × parsing the log`, ofParse.median, 3)] : []),
		]),
		...[MODEL_CALLS, EFFECTS, EFFECTS_WITH_OUTCOMES].flatMap((name) =>
			of(name, ({ ofRaw, growth }) => [
				atMost(`G13 ${name}: a step, × raw`, ofRaw.median, 3),
				atMost(`G13 ${name}: last 50 of ${longest} steps, × first 50`, growth.median, 1.2),
			]),
		),
		...of(EFFECTS, ({ name, stepMs }) =>
			Object.entries({ [DBOS]: 0.33, [LANGGRAPH]: 0.125 }).flatMap(([peer, limit]) =>
				of(peer, (theirs) => [atMost(`G13 ${name}: a step, × ${peer}`, stepMs.median / theirs.stepMs.median, limit)]),
			),
		),
	];
}
